"""What goes wrong with a model file."""

from pathlib import Path

from tfkit import limits
from tfkit.quoting import cut_lines


class LoadError(ValueError):
    """A model file cannot be loaded: it is damaged, not of this format, or does not fit the model.

    What the message quotes of the file is cut, and control characters in it are escaped.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(cut_lines(arg) if isinstance(arg, str) else arg for arg in args))


class DamagedFileError(LoadError, OSError):
    """A model file is truncated, or no HDF5 file at all. Also an `OSError`, which it is in Keras."""


class MissingFileError(LoadError, FileNotFoundError):
    """There is no model file. Keras raises a `ValueError` for a model, a `FileNotFoundError` for weights."""


def check_exists(path: Path) -> None:
    """Refuses a path at which there is no file.

    Raises:
        MissingFileError: that says so.
    """
    if not path.is_file():
        raise MissingFileError(f"There is no model file at {path}.")


def check_whole(path: Path, file: int) -> None:
    """Refuses a file that consists of holes, which is of any size for nothing.

    Args:
        path: its path, for the message.
        file: the number of the open file.

    Raises:
        DamagedFileError: that says so.
    """
    if why := limits.holes(file):
        raise DamagedFileError(f"File {path} {why}.")


class ConfigurationError(LoadError, TypeError):
    """A model file's configuration cannot be used. Also a `TypeError`, which it is in Keras."""
