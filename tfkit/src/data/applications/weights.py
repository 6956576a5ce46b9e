"""Published weights: their addresses, hashes and names in the cache."""

from __future__ import annotations

from typing import NamedTuple

from tfkit.src.data.applications.options import Options
from tfkit.src.data.datasets.get_file import get_file

# The folders in which Keras publishes the weights of its models.
ADDRESS = "https://storage.googleapis.com/tensorflow/keras-applications"
EFFICIENTNETS = "https://storage.googleapis.com/keras-applications"
# The folder of the weights in the cache, Keras's or tfkit's.
_SUBDIR = "models"


class Published(NamedTuple):
    """A published file of weights.

    Args:
        path: of the file, below `folder`.
        hash: MD5 or SHA-256 of the file; `None` for a file whose hash Keras does not check either.
        name: of the file in the cache; `None` for the name in the address.
        folder: address of the folder; `None` for `ADDRESS`.
    """

    path: str
    hash: str | None = None
    name: str | None = None
    folder: str | None = None


def of_both(
    options: Options,
    path: str,
    hashes: tuple[str | None, str | None] = (None, None),
    notop: str = "_notop",
) -> Published:
    """Returns the file of the model with a classifier, or of the model without one.

    Args:
        options: the arguments of the model.
        path: of the file with the classifier, below `ADDRESS`, without the extension `.h5`.
        hashes: MD5 or SHA-256 of both files, with and without the classifier. Default: none.
        notop: what follows `path` in the name of the file without the classifier. Default: `"_notop"`.
    """
    with_top, without_top = hashes
    if options.include_top:
        return Published(f"{path}.h5", with_top)
    return Published(f"{path}{notop}.h5", without_top)


def weights_file(options: Options, published: Published) -> str | None:
    """Returns the path of the file of weights, downloaded if it is a published file.

    Args:
        options: the arguments of the model.
        published: the published file.

    Returns:
        The path; `None` for newly drawn weights.

    Raises:
        OSError: if the file cannot be fetched.
        ValueError: if the download has a different hash.
    """
    if not options.published:
        return None if options.weights is None else str(options.weights)
    name = published.name or published.path.rpartition("/")[2]
    address = f"{published.folder or ADDRESS}/{published.path}"
    return get_file(name, address, cache_subdir=_SUBDIR, file_hash=published.hash)
