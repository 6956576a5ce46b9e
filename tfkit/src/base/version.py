"""The version of tfkit, and the file of an export that carries it."""

__version__ = "0.2.0.dev0"
# TensorFlow and TF Serving copy this folder, and never read it.
PROVENANCE = "assets.extra/tfkit_provenance.json"


def version() -> str:
    """Returns the version of tfkit, as `tfkit.__version__`."""
    return __version__
