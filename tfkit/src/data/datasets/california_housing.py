"""California housing: 20,640 block groups of the census of 1990.

Reference: Pace, Barry (1997), "Sparse spatial autoregressions".
"""

from __future__ import annotations

import os

import numpy as np

from tfkit.src.data.datasets.folders import PUBLISHED, find
from tfkit.src.data.datasets.npz import read_npz
from tfkit.src.data.datasets.splits import Pair, shuffled, split

URL = f"{PUBLISHED}/california_housing.npz"
SHA256 = "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"
_SMALL = 600  # rows


def load_data(
    version: str = "large",
    path: str | os.PathLike[str] = "california_housing.npz",
    test_split: float = 0.2,
    seed: int = 113,
) -> tuple[Pair, Pair]:
    """Loads the table.

    Where the file is looked for: see `tfkit.datasets.mnist.load_data`.

    Args:
        version: `"large"` for all rows, `"small"` for the first 600.
        path: an `.npz` file with the arrays `x` and `y`, or the name of one in the folders of data.
        test_split: share of the rows that are for tests. Default: `0.2`.
        seed: of the order of the rows. Default: `113`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: features of shape `(rows, 8)`, and median values of houses in
        dollars of shape `(rows,)`, all float32; 16,512 and 4,128 rows by default.

    Raises:
        FileNotFoundError: when the file is nowhere and cannot be downloaded.
        ValueError: when the file has unexpected contents, for another `version`, or where `test_split` is
            not in [0, 1).
    """
    if version not in ("small", "large"):
        raise ValueError(f'`version` must be "small" or "large". Received: version={version!r}')
    x, y = read_npz(find(path, URL, SHA256), ("x", "y"))
    if version == "small":
        x, y = x[:_SMALL], y[:_SMALL]
    return split(*shuffled(x, y, np.random.RandomState(seed)), test_split)
