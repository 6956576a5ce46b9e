"""What goes wrong with a model file."""

from pathlib import Path


class LoadError(ValueError):
    """A model file cannot be loaded: it is damaged, not of this format, or does not fit the model."""


class DamagedFileError(LoadError, OSError):
    """A model file is truncated, or no HDF5 file at all. Also an `OSError`, which it is in Keras."""


class MissingFileError(LoadError, FileNotFoundError):
    """There is no model file. Keras raises a `ValueError` for a model, a `FileNotFoundError` for weights."""


def check_exists(path: Path) -> None:
    """Refuses a path at which there is no file.

    Raises:
        MissingFileError: that says so.
    """
    if path.is_dir():
        saved = (path / "saved_model.pb").is_file()
        raise MissingFileError(
            f"{path} is a folder, and not a model file."
            + (
                " It holds a SavedModel: `tf.saved_model.load(path)` gives its functions."
                if saved
                else ""
            )
        )
    if not path.is_file():
        raise MissingFileError(f"There is no model file at {path}.")


class ConfigurationError(LoadError, TypeError):
    """A model file's configuration cannot be used. Also a `TypeError`, which it is in Keras."""
