"""Writes HDF5 files like Keras's."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from tfkit.src.base.memory import BFLOAT16
from tfkit.src.base.version import __version__


def write(target: Any, names: dict[str, str], values: dict[str, Any]) -> None:
    """Writes a file in Keras's format.

    Args:
        target: an open file.
        names: names of layers by the path of their group.
        values: variables and arrays by path.
    """
    with h5py.File(target, "w") as file:
        file.attrs["tfkit_version"] = __version__
        for group, name in names.items():
            file.create_group(f"{group}/vars".lstrip("/")).attrs["name"] = name
        for path, variable in values.items():
            value = np.asarray(variable, order="C")
            dataset = file.create_dataset(path, data=value)
            if value.dtype == BFLOAT16:
                dataset.attrs["dtype"] = "bfloat16"
