"""Reads arrays of `.npz` files without running anything that a file specifies.

Numbers are read by NumPy. Arrays of objects are pickles; in the published data sets they hold lists of
integers. They are read by an unpickler that knows arrays as lists, and refuses every other name.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.quoting import quoted

_LARGEST = 1 << 32  # bytes of an array


class _Array:
    """A placeholder for an array of objects while its pickle is read: the list of its elements."""

    def __setstate__(self, state: Any) -> None:
        self.items = state[4]


class _Ignored:
    """A placeholder for a dtype, because an array of objects has only one."""

    def __setstate__(self, state: Any) -> None:
        pass


class _Unpickler(pickle.Unpickler):
    """Replaces the names in pickles of arrays by placeholders that compute nothing."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return lambda *_: _Array()
        if module == "numpy" and name in ("ndarray", "dtype"):
            return lambda *_: _Ignored()
        raise pickle.UnpicklingError(
            f"an array of objects names {quoted(f'{module}.{name}')}; only numbers and texts are read"
        )


def read_npz(path: Path, names: Sequence[str], objects: bool = False) -> list[np.ndarray]:
    """Reads arrays from a file.

    Args:
        path: an `.npz` file.
        names: of the arrays.
        objects: whether arrays of lists of numbers are read too.

    Raises:
        ValueError: if the file is none, lacks an array, or has one of another kind.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            if missing := [name for name in names if name not in members]:
                raise ValueError(f"{path} lacks the arrays {missing}. It has: {list(members)}")
            return [_read(archive, members[name], objects) for name in names]
    except zipfile.BadZipFile as error:
        raise ValueError(
            f"{path} is not an .npz file, or was cut off. Delete it or name another."
        ) from error
    except (pickle.UnpicklingError, EOFError, OSError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _read(archive: zipfile.ZipFile, member: str, objects: bool) -> np.ndarray:
    size = archive.getinfo(member).file_size
    if size > _LARGEST:
        raise ValueError(f"{archive.filename}: {member} says that it has {size} bytes.")
    content = io.BytesIO(archive.read(member))
    version = np.lib.format.read_magic(content)
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    dtype = read_header(content)[2]
    if dtype.hasobject and objects:
        items = getattr(_Unpickler(content).load(), "items", None)
        if not isinstance(items, list):
            raise pickle.UnpicklingError(f"{member} is not an array")
        array = np.empty(len(items), object)
        array[:] = items
        return array
    content.seek(0)
    return np.load(content, allow_pickle=False)
