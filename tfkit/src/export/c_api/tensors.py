"""Converts between arrays and the tensors of TensorFlow's C library."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

import numpy as np

from .dtypes import NAMES, NUMBERS, STRING, numpy_dtype

_TSTRING_SIZE = 24  # sizeof(TF_TString) where pointers have 64 bits


@contextlib.contextmanager
def tensor_of(library: ctypes.CDLL, array: np.ndarray) -> Iterator[int]:
    """Context manager for a TF_Tensor with a copy of the array. An object array holds `bytes`."""
    is_string = array.dtype == object
    number = STRING if is_string else NUMBERS[array.dtype.name]
    size = array.size * _TSTRING_SIZE if is_string else array.nbytes
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = library.TF_AllocateTensor(number, shape, array.ndim, size)
    data = library.TF_TensorData(tensor)
    cells = []
    if is_string:
        cells = [data + _TSTRING_SIZE * index for index in range(array.size)]
        for cell, text in zip(cells, array.flat, strict=True):
            library.TF_StringInit(cell)
            library.TF_StringCopy(cell, text, len(text))
    elif size:
        ctypes.memmove(data, array.ctypes.data, size)
    try:
        yield tensor
    finally:
        for cell in cells:  # a tensor that we allocated does not free its strings automatically
            library.TF_StringDealloc(cell)
        library.TF_DeleteTensor(tensor)


def array_of(library: ctypes.CDLL, tensor: int) -> np.ndarray:
    """Returns a copy of a TF_Tensor."""
    number = library.TF_TensorType(tensor)
    dtype = numpy_dtype(NAMES.get(number, f"TF_DataType({number})"))
    shape = tuple(library.TF_Dim(tensor, axis) for axis in range(library.TF_NumDims(tensor)))
    array = np.empty(shape, dtype)
    if array.size == 0:
        return array
    data = library.TF_TensorData(tensor)
    if number == STRING:
        for index in range(array.size):
            cell = data + _TSTRING_SIZE * index
            text, size = library.TF_StringGetDataPointer(cell), library.TF_StringGetSize(cell)
            array.flat[index] = ctypes.string_at(text, size)
    else:
        ctypes.memmove(array.ctypes.data, data, array.nbytes)
    return array
