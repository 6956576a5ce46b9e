"""Converts the arrays that users pass to tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.memory import aligned, of_mapped_file

_LARGE = 2**20


def as_tensor(value: Any) -> Any:
    """Returns an array as a tensor; Python floats and float64 arrays in the default float type, as in Keras.

    An array of objects, or a pandas frame, that contains only numbers becomes a numeric tensor. A pandas
    series becomes a column, and a SciPy sparse matrix a `tf.SparseTensor`.
    """
    if isinstance(value, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
        return value
    # Other libraries' arrays are recognized by a method that only they have: checking their classes would
    # import SciPy, PyTorch and pandas into every program.
    if hasattr(value, "tocoo"):
        return _from_scipy(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if hasattr(value, "isna"):
        _check_columns(value)
    array = np.asarray(value)
    if array.dtype == object:
        array = _from_objects(array, value)
    _check_is_no_time(array.dtype, array.shape)
    # A property of the value, because the array has lost it: NumPy's vectors stay vectors.
    if hasattr(value, "iloc") and array.ndim == 1:
        array = array[:, None]
    dtype = array.dtype
    if dtype == np.float64:
        dtype = np.dtype(tf.as_dtype(settings.floatx()).as_numpy_dtype)
    # A file that is mapped into memory may be larger than the memory: it is not copied.
    if array.nbytes >= _LARGE and dtype.kind in "fiu" and dtype.isnative and array.dtype == dtype:
        mapped = of_mapped_file(array)
        if mapped is not None:
            return tensor_in(mapped)
    if array.dtype.kind != "f":
        dtype = array.dtype
    # The same as `tf.constant` in half of the time. DLPack has only numbers, in the machine's byte order, and
    # in a trace values become constants.
    is_shared = dtype.kind in "fiu" and dtype.isnative and array.size and tf.executing_eagerly()
    return (
        tensor_in(aligned(array, dtype))
        if is_shared
        else tf.constant(array.astype(dtype, copy=False))
    )


def _check_is_no_time(dtype: Any, shape: tuple[int, ...]) -> None:
    if dtype.kind in "Mm":
        raise ValueError(
            f"Convert dates and times to numbers first. Received: an array of dtype {dtype} and shape "
            f"{shape}. The days since the first one: `(x - x.min()) / np.timedelta64(1, 'D')`."
        )


def _check_columns(columns: Any) -> None:
    """Raises an error for missing values and times in a pandas frame or series.

    NaN is a value of a float column. Columns of pandas's own dtypes hold missing values besides, which would
    become NaN in some dtypes and strings in others. Among columns of other dtypes times would become numbers.
    """
    is_frame = columns.ndim == 2
    names = list(columns.columns) if is_frame else [getattr(columns, "name", None)]
    for index, name in enumerate(names):
        column = columns.iloc[:, index] if is_frame else columns
        _check_is_no_time(column.dtype, column.shape)
        num_missing = 0 if isinstance(column.dtype, np.dtype) else int(column.isna().sum())
        if num_missing:
            which = "a column" if name is None else f"column {name!r}"
            raise _missing(f"{which} of dtype {column.dtype} with {num_missing}")


def _missing(received: str) -> ValueError:
    return ValueError(
        f"Missing values must be filled in or left out first. Received: {received} missing. Call `fillna()` "
        "or `dropna()` of pandas."
    )


def _from_objects(array: np.ndarray, given: Any) -> np.ndarray:
    """Returns Python objects, or pandas columns of several dtypes, as numbers if possible, else as strings.

    Raises:
        ValueError: if values are missing.
    """
    # `tolist` turns NumPy's scalars into Python objects, so that the check below need not know their types.
    objects = array.ravel().tolist()
    has_strings = any(isinstance(item, (str, bytes)) for item in objects)
    num_missing = sum(_is_missing(item, has_strings) for item in objects)
    if num_missing:
        raise _missing(f"an array of Python objects of shape {array.shape} with {num_missing}")
    if has_strings:
        return array.astype(str)
    try:
        # NumPy chooses one dtype for all objects: integers stay integers, and among floats they become
        # floats.
        numbers = np.array(objects)
        if numbers.dtype.kind in "biuf":
            return numbers.reshape(array.shape)
        if hasattr(given, "to_numpy"):
            return np.asarray(given.to_numpy(dtype="float64", na_value=np.nan))
        return array.astype("float64")
    except (TypeError, ValueError):
        return array.astype(str)


def _is_missing(item: Any, among_strings: bool) -> bool:
    """Whether a Python object means a missing value: `None`, pandas's `NA`, and among strings NaN."""
    is_nan = among_strings and isinstance(item, float) and math.isnan(item)
    return item is None or is_nan or type(item).__name__ == "NAType"


def tensor_in(array: np.ndarray) -> tf.Tensor:
    """Returns a tensor of integers or floats in the memory of an `aligned_empty` array."""
    # The capsule holds a reference to the array: its memory is not freed before the tensor is.
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def _from_scipy(matrix: Any) -> tf.SparseTensor:
    entries = matrix.tocoo()
    # TensorFlow's operations on sparse tensors need the entries in order of rows. `tf.sparse.reorder` would
    # lose the static shape. The last key of `lexsort` is the first that it compares.
    order = np.lexsort((entries.col, entries.row))
    indices = np.stack([entries.row[order], entries.col[order]], axis=1).astype("int64")
    values = entries.data[order]
    if values.dtype == np.float64:
        values = values.astype(settings.floatx())
    return tf.SparseTensor(indices, values, matrix.shape)
