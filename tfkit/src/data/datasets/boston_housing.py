"""Boston housing: 506 census tracts of the Boston area, in the 1970s.

Reference: Harrison, Rubinfeld (1978), "Hedonic housing prices and the demand for clean air". One of the
features weighs the share of Black residents by an assumption about prices; the data are kept to compare
results.
"""

from __future__ import annotations

import os

import numpy as np

from tfkit.src.data.datasets.folders import PUBLISHED, find
from tfkit.src.data.datasets.npz import read_npz
from tfkit.src.data.datasets.splits import Pair, shuffled, split

URL = f"{PUBLISHED}/boston_housing.npz"
SHA256 = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(
    path: str | os.PathLike[str] = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> tuple[Pair, Pair]:
    """Loads the table.

    Where the file is looked for: see `tfkit.datasets.mnist.load_data`.

    Args:
        path: an `.npz` file with the arrays `x` and `y`, or the name of one in the folders of data.
        test_split: share of the rows that are for tests. Default: `0.2`.
        seed: of the order of the rows. Default: `113`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: features of shape `(rows, 13)`, and median prices of
        houses in 1,000 dollars of shape `(rows,)`, all float64; 404 and 102 rows by default.

    Raises:
        FileNotFoundError: when the file is nowhere and cannot be downloaded.
        ValueError: when the file has unexpected contents, or `test_split` is not in [0, 1).
    """
    x, y = read_npz(find(path, URL, SHA256), ("x", "y"))
    return split(*shuffled(x, y, np.random.RandomState(seed)), test_split)
