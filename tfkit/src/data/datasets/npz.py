"""Reads arrays from `.npz` files without running anything that a file specifies.

Numbers are read by NumPy. Arrays of objects are pickles; in the published data sets they hold lists of
integers. They are read by an unpickler that knows arrays as lists, and refuses every other name; before it
sees one, each operation of the pickle is one of those that such lists need.
"""

from __future__ import annotations

import io
import lzma
import math
import pickle
import re
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.quoting import quoted, shown

# Bytes of all arrays read from a small file; from a larger one by this factor. MNIST's has 5.
_SMALL, _FACTOR = 200 << 20, 50
_NAMES = b"|".join(
    rb"\x8c\x%02x[ -~]{%d}|X\x%02x\0\0\0[ -~]{%d}|[CU]\x%02x.{%d}" % (*(size,) * 6,)
    for size in range(1, 33)
)
# The operations of a pickle that make arrays of lists of integers, as NumPy writes them in protocols 2 to 4.
# A number of 2**20 or more for an object is refused: a table of all below it would be made.
_OPERATIONS = re.compile(
    rb"(?:K.|M..|J.{4}|[](ae\x85-\x89R)tbN\x93\x94]|q.|r..[\x00-\x0f]\0|h.|j.{4}"
    rb"|\x80[\x02-\x05]|\x95.{5}\0\0\0|c[\w.]{1,60}\n[\w.]{1,60}\n|%s){1,10000}+" % _NAMES,
    re.DOTALL,
)


class _Array:
    """A placeholder for an array of objects while its pickle is read: the list of its elements."""

    def __setstate__(self, state: Any) -> None:
        self.items = state[4]


class _Ignored:
    """A placeholder for a dtype, because an array of objects has only one, and for a text."""

    def __setstate__(self, state: Any) -> None:
        pass


class _Unpickler(pickle.Unpickler):
    """Replaces the names in pickles of arrays with placeholders that compute nothing."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return lambda *_: _Array()
        if f"{module}.{name}" in ("numpy.ndarray", "numpy.dtype", "_codecs.encode"):
            return lambda *_: _Ignored()
        raise pickle.UnpicklingError(
            f"an array of objects names {quoted(f'{module}.{name}')}; only lists of integers are read"
        )


def read_npz(path: Path, names: Sequence[str], objects: bool = False) -> list[np.ndarray]:
    """Reads arrays from a file.

    Args:
        path: an `.npz` file.
        names: of the arrays.
        objects: whether arrays of lists of numbers are also read.

    Raises:
        ValueError: if the file is not an `.npz` file, lacks an array, or has one of a different kind.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            if missing := [name for name in names if name not in members]:
                raise ValueError(
                    f"{path} lacks the arrays {missing}. It has: {quoted(list(members))}"
                )
            wanted = [members[name] for name in names]
            size = sum(archive.getinfo(name).file_size for name in wanted)
            if size > max(_SMALL, _FACTOR * path.stat().st_size):
                raise ValueError(f"{path} says that its arrays have {size:,} bytes.")
            return [_read(archive.read(name), name, objects) for name in wanted]
    except zipfile.BadZipFile as error:
        raise ValueError(
            f"{path} is not an .npz file, or was cut off. Delete it or name a different file."
        ) from error
    except _DAMAGE as error:
        raise ValueError(f"{path} cannot be read: {shown(str(error))}") from error


# The errors that Python's modules raise for a damaged file.
_DAMAGE = (
    pickle.UnpicklingError,
    EOFError,
    OSError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,  # NotImplementedError and RecursionError are subclasses of it.
    tokenize.TokenError,
    zlib.error,
    lzma.LZMAError,
)


def _read(data: bytes, member: str, objects: bool) -> np.ndarray:
    content = io.BytesIO(data)
    version = np.lib.format.read_magic(content)
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read_header(content)
    begin = content.tell()
    if dtype.hasobject and objects:
        return _lists(data, begin, member)
    # NumPy would make room for an array of this shape first.
    if not dtype.hasobject and (
        dtype.kind not in "biufcSU" or math.prod(shape) * dtype.itemsize != len(data) - begin
    ):
        raise ValueError(
            f"{member} says that its shape is {quoted(shape)} of {quoted(str(dtype))}, and has other data."
        )
    content.seek(0)
    return np.load(content, allow_pickle=False)


def _lists(data: bytes, begin: int, member: str) -> np.ndarray:
    """Returns an array of lists of integers."""
    end = begin
    while found := _OPERATIONS.match(data, end):
        end = found.end()
    content = io.BytesIO(data)
    content.seek(begin)
    if data[end : end + 1] != b".":
        raise pickle.UnpicklingError(f"{member} is not an array of lists of integers")
    items = getattr(_Unpickler(content).load(), "items", None)
    if not isinstance(items, list) or not all(map(_is_list_of_integers, items)):
        raise pickle.UnpicklingError(f"{member} is not an array of lists of integers")
    if len(set(map(id, items))) != len(items):  # A small file could have a large list many times.
        raise pickle.UnpicklingError(f"{member} has a list twice")
    array = np.empty(len(items), object)
    for number, item in enumerate(items):  # Lists of one length must not become an axis.
        array[number] = item
    return array


def _is_list_of_integers(item: object) -> bool:
    return type(item) is list and set(map(type, item)) <= {int}
