"""Models, functional and sequential: layers with training and files."""
