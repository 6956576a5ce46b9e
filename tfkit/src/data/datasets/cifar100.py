"""CIFAR-100: 60,000 small color images of 100 kinds in 20 groups.

Reference: Krizhevsky (2009), "Learning multiple layers of features from tiny images".
"""

from __future__ import annotations

from tfkit.src.data.datasets.cifar import Published, read_batch
from tfkit.src.data.datasets.splits import Pair

_FILES = Published(
    folder="cifar-100-python",
    archive="cifar-100-python.tar.gz",
    sha256="85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
)


def load_data(label_mode: str = "fine") -> tuple[Pair, Pair]:
    """Loads the images.

    The folder `cifar-100-python` is searched for in the folders that the environment variable `TFKIT_DATA`
    lists, in the cache (`$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`) and in Keras's. When it is in none of
    them its archive, `cifar-100-python.tar.gz`, is read from there or downloaded, 169 MB, and unpacked into
    the cache. Nothing in the files is run.

    Args:
        label_mode: `"fine"` for the 100 kinds, `"coarse"` for their 20 groups. Default: `"fine"`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images of shape `(50000, 32, 32, 3)` and `(10000, 32, 32, 3)`,
        uint8 with values from 0 to 255, and labels of shape `(50000, 1)` and `(10000, 1)`, int64.

    Raises:
        FileNotFoundError: if the archive is not found and cannot be downloaded.
        ValueError: for any other `label_mode`, and when a file has unexpected contents.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'`label_mode` must be "fine" or "coarse". Received: {label_mode!r}')
    folder = _FILES.located()
    return tuple(read_batch(folder / part, f"{label_mode}_labels") for part in ("train", "test"))  # type: ignore[return-value]
