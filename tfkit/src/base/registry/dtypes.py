"""Names of dtypes, which the public interface uses (`"float32"`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.names import did_you_mean

_PYTHON_TYPES = {bool: "bool", int: "int64", str: "string"}
FLOAT_DTYPES = frozenset(("bfloat16", "float16", "float32", "float64"))
INTEGER_DTYPES = frozenset(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
)
NUMBER_DTYPES = FLOAT_DTYPES | INTEGER_DTYPES | {"bool", "complex64", "complex128"}
_NAMES = (*NUMBER_DTYPES, "string")


def standardize_dtype(dtype: Any) -> str:
    """Returns the name of a dtype.

    Args:
        dtype: a name, a Python type, a NumPy or a TensorFlow dtype. `None` and `float` mean
            the default float dtype, `int` for int64.

    Returns:
        A string such as `"float32"`.

    Raises:
        ValueError: when `dtype` names no dtype.

    Example:
        >>> standardize_dtype(tf.int64), standardize_dtype(np.float16), standardize_dtype(None)
        ('int64', 'float16', 'float32')
    """
    if dtype is None or dtype is float:
        return settings.floatx()
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    if isinstance(dtype, str):  # To TensorFlow, `tf.float32 == "float"`.
        dtype = {"int": "int64", "float": settings.floatx()}.get(dtype, dtype)
    try:
        # TensorFlow has a number for each dtype.
        if not isinstance(dtype, int) and not _has_other_dtype(dtype):
            return tf.as_dtype(getattr(dtype, "base_dtype", dtype)).name
    except TypeError:
        pass
    try:
        if _has_other_dtype(dtype):
            raise TypeError
        return tf.as_dtype(np.dtype(dtype)).name
    except TypeError:
        raise ValueError(
            f'Invalid dtype. Expected a name such as "float32" or "int64". Received: {dtype!r}.'
            + did_you_mean(dtype, _NAMES)
        ) from None


def _has_other_dtype(dtype: Any) -> bool:
    """Whether an object has a `dtype` but is not one, as layers and arrays, or is a code such as `"a"`.

    NumPy would accept both.
    """
    if isinstance(dtype, str):
        return len(dtype) < 2 or dtype != dtype.lower()
    return hasattr(dtype, "get_config") or (hasattr(dtype, "dtype") and not isinstance(dtype, type))


def is_float(dtype: Any) -> bool:
    """Whether `dtype` is a floating-point type.

    Args:
        dtype: its name, or TensorFlow's or NumPy's own dtype.

    Example:
        >>> tfkit.backend.is_float_dtype("bfloat16"), tfkit.backend.is_float_dtype(tf.int32)
        (True, False)
    """
    return standardize_dtype(dtype) in FLOAT_DTYPES


def is_int(dtype: Any) -> bool:
    """Whether `dtype` is an integer type, signed or not.

    Args:
        dtype: its name, or TensorFlow's or NumPy's own dtype.

    Example:
        >>> tfkit.backend.is_int_dtype("uint8"), tfkit.backend.is_int_dtype("bool")
        (True, False)
    """
    return standardize_dtype(dtype) in INTEGER_DTYPES
