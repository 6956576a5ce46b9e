"""The models that are compared with Keras's: one of each family, as small as it can be."""

# Name of the function, arguments that differ from their defaults. Images have 3 channels; `size` are rows
# and columns. Without `include_top=False` there is a classifier of 10 classes.
FAMILIES = {
    "vgg": ("VGG16", {"include_top": False, "pooling": "max"}, 32),
}
