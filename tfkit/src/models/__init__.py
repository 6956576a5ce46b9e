"""Model, functional and sequential: a layer with training and files."""
