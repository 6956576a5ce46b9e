"""The version of tfkit."""

__version__ = "0.1.0"


def version() -> str:
    """Returns the version of tfkit, as `tfkit.__version__`."""
    return __version__
