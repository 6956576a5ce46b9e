"""The notebooks of the examples, and the pictures of the documentation."""
