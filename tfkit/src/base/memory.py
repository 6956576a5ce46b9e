"""NumPy's dtypes by TensorFlow's names, and memory for arrays that a tensor can share: without TensorFlow."""

from __future__ import annotations

import math
import mmap
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# TensorFlow copies 188 MB into a tensor in 143 ms, NumPy into new memory in 27. TensorFlow can use NumPy's
# memory if it starts at a multiple of 64 bytes.
_ALIGNMENT = 64


def dtype_named(name: str) -> np.dtype:
    """Returns the dtype of a name; NumPy itself does not know the name `bfloat16`."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Returns new memory that a tensor can share, by `tensor_in`."""
    dtype = np.dtype(dtype)
    num_bytes = math.prod(shape) * dtype.itemsize
    memory = np.empty(num_bytes + _ALIGNMENT, "uint8")
    # NumPy promises no such alignment. The slice keeps the whole array alive.
    first = -memory.ctypes.data % _ALIGNMENT
    return memory[first : first + num_bytes].view(dtype).reshape(shape)


def aligned(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Returns a copy of an array in such memory, cast to a dtype if one is given."""
    copy = aligned_empty(array.shape, dtype or array.dtype)
    copy[...] = array
    return copy


def of_mapped_file(array: np.ndarray) -> np.ndarray | None:
    """Returns an array as one that a tensor can share, if it is a part of a file that is mapped into memory.

    `None` for an array in other memory, and for one whose values have gaps or begin at an address that
    TensorFlow does not accept. The values in an `.npy` file begin at an accepted one.
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    is_aligned = array.flags.c_contiguous and array.ctypes.data % _ALIGNMENT == 0
    return np.asarray(_Shared(array)) if isinstance(base, mmap.mmap) and is_aligned else None


class _Shared:
    """Memory that may be read-only, as DLPack accepts it: TensorFlow does not write to its inputs."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array  # For as long as a tensor uses the memory.
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}
