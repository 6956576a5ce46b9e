"""Converts the arrays that users pass to tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings

# TensorFlow copies 188 MB into a tensor in 143 ms, NumPy into new memory in 27. TensorFlow can use NumPy's
# memory if it begins at a multiple of 64 bytes.
_ALIGNMENT = 64
_LARGE = 2**20


def as_tensor(value: Any) -> Any:
    """Returns an array as a tensor; Python floats and float64 arrays in the default float type, as in Keras.

    An array of objects, or a pandas frame, that holds nothing but numbers is one of numbers. A pandas series
    is a column, and a SciPy sparse matrix a `tf.SparseTensor`.
    """
    if isinstance(value, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
        return value
    if hasattr(value, "tocoo"):
        return _from_scipy(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype == object:
        array = _from_objects(array, value)
    if array.dtype.kind in "Mm":
        raise ValueError(
            f"Dates and times must become numbers first. Received: an array of dtype {array.dtype} and shape "
            f"{array.shape}. The days since the first one: `(x - x.min()) / np.timedelta64(1, 'D')`."
        )
    if hasattr(value, "iloc") and array.ndim == 1:
        array = array[:, None]
    dtype = array.dtype
    if dtype == np.float64:
        dtype = np.dtype(tf.as_dtype(settings.floatx()).as_numpy_dtype)
    if array.nbytes >= _LARGE and dtype.kind in "fiu" and dtype.isnative:
        return _copied(array, dtype)
    return tf.convert_to_tensor(
        array.astype(dtype, copy=False) if array.dtype.kind == "f" else array
    )


def _from_objects(array: np.ndarray, given: Any) -> np.ndarray:
    """Returns Python objects, or pandas columns of several dtypes, as numbers if possible, else as strings.

    Missing numbers are NaN, as in pandas.
    """
    objects = array.ravel().tolist()
    if any(isinstance(item, (str, bytes)) for item in objects):
        return array.astype(str)
    try:
        numbers = np.array(objects)
        if numbers.dtype.kind in "biuf":
            return numbers.reshape(array.shape)
        if hasattr(given, "to_numpy"):
            return np.asarray(given.to_numpy(dtype="float64", na_value=np.nan))
        return array.astype("float64")
    except (TypeError, ValueError):
        return array.astype(str)


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Returns new memory that a tensor can share, by `tensor_in`."""
    dtype = np.dtype(dtype)
    num_bytes = math.prod(shape) * dtype.itemsize
    memory = np.empty(num_bytes + _ALIGNMENT, "uint8")
    first = -memory.ctypes.data % _ALIGNMENT
    return memory[first : first + num_bytes].view(dtype).reshape(shape)


def tensor_in(array: np.ndarray) -> tf.Tensor:
    """Returns a tensor of integers or floats in the memory of an `aligned_empty` array."""
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def _copied(array: np.ndarray, dtype: np.dtype) -> tf.Tensor:
    """Returns a tensor in memory that NumPy has allocated."""
    aligned = aligned_empty(array.shape, dtype)
    aligned[...] = array
    return tensor_in(aligned)


def _from_scipy(matrix: Any) -> tf.SparseTensor:
    entries = matrix.tocoo()
    order = np.lexsort(
        (entries.col, entries.row)
    )  # `tf.sparse.reorder` would lose the static shape.
    indices = np.stack([entries.row[order], entries.col[order]], axis=1).astype("int64")
    values = entries.data[order]
    if values.dtype == np.float64:
        values = values.astype(settings.floatx())
    return tf.SparseTensor(indices, values, matrix.shape)
