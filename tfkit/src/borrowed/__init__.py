"""What is borrowed from TensorFlow's private modules."""
