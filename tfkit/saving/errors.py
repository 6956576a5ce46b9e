"""What goes wrong with a model file."""


class LoadError(ValueError):
    """A model file cannot be loaded: it is damaged, not of this format, or does not fit the model."""
