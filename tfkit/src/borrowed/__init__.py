"""How TensorFlow is imported: without the Keras that it would load."""
