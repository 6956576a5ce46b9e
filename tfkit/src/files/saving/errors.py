"""The errors about model files."""

from pathlib import Path

from tfkit.src.base import limits
from tfkit.src.base.quoting import cut_lines

_SUFFIXES = (".h5", ".hdf5", ".keras", ".json")


class LoadError(ValueError):
    """A model file cannot be loaded: it is damaged, not of this format, or does not fit the model.

    Quotes of the file in the message are cut, and control characters in it are escaped.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".h5") as file:
        ...     try:
        ...         tfkit.models.load_model(file.name)
        ...     except LoadError as error:
        ...         print(type(error).__name__)
        DamagedFileError
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(cut_lines(arg) if isinstance(arg, str) else arg for arg in args))


class DamagedFileError(LoadError, OSError):
    """A model file is truncated, or not an HDF5 file. Also an `OSError`, as in Keras.

    Example:
        >>> issubclass(DamagedFileError, LoadError) and issubclass(DamagedFileError, OSError)
        True
    """


class MissingFileError(LoadError, FileNotFoundError):
    """There is no model file. Keras raises a `ValueError` for a model, a `FileNotFoundError` for weights."""


def check_exists(path: Path) -> None:
    """Raises an error unless there is a file at the path.

    Raises:
        MissingFileError: if there is none.
    """
    if path.is_file():
        return
    if path.is_dir():
        raise MissingFileError(
            f"File format not supported: {path} is a folder. A SavedModel that `model.export()` wrote is "
            "called with `tfkit.layers.TFSMLayer(path)`."
        )
    what = "File not found" if path.suffix in _SUFFIXES else "File format not supported"
    raise MissingFileError(
        f"{what}: there is no model file at {path}. Please ensure the file is an accessible `.h5` or "
        "`.keras` file."
    )


def check_whole(path: Path, file: int) -> None:
    """Raises an error for a file that consists of holes: it can have any size without using disk space.

    Args:
        path: its path, for the message.
        file: the descriptor of the open file.

    Raises:
        DamagedFileError: if it does.
    """
    if why := limits.holes(file):
        raise DamagedFileError(f"File {path} {why}.")


class ConfigurationError(LoadError, TypeError):
    """A model file's configuration cannot be used. Also a `TypeError`, as in Keras."""
