"""Promotes mixed operands to the dtype in which an operation computes.

The dtypes form a lattice: each dtype points to the next wider ones, and operands meet at the
least dtype above all of them. Python numbers are weak: `int` and `float` are near the bottom, so
that `x + 1.0` keeps the dtype of a `float16` tensor. Unlike Keras, `uint64` and `complex128` are
not narrowed to their 32-bit halves: that would lose values silently.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings

_WIDER = {
    "bool": ("int",),
    "int": ("uint8", "int8", "complex64"),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float",),
    "float": ("bfloat16", "float16"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex64": ("complex128",),
    "complex128": (),
}


@functools.cache
def _above(name: str) -> frozenset[str]:
    """Returns `name` and every type above it in the lattice."""
    return frozenset({name}).union(*map(_above, _WIDER[name]))


@functools.cache
def _common(kinds: tuple[Any, ...], floatx: str) -> tf.DType:
    # `is`, since TensorFlow's dtypes compare equal to Python types.
    names = {k.__name__ if k is int or k is float else tf.as_dtype(k).name for k in kinds}
    if len(names) > 1:
        if not names <= _WIDER.keys():
            raise ValueError(
                "These dtypes have no common dtype that is safe to convert to; cast the operands. "
                f"Received: {sorted(names)}"
            )
        # The lowest of all types that can hold every operand: it has the most types above it.
        candidates = frozenset.intersection(*map(_above, names))
        name = max(candidates, key=lambda candidate: len(_above(candidate)))
    else:
        name = names.pop()
    if name == "float":
        name = floatx
    elif name == "int":
        name = f"int{floatx[-2:]}"
    return tf.as_dtype(name)


def common_dtype(*kinds: Any) -> tf.DType:
    """Returns the common dtype of operands of these dtypes; `int` and `float` are weak."""
    return _common(kinds, settings.floatx())


def result_type(*dtypes: Any) -> str:
    """Returns the name of the dtype that an operation on operands of given dtypes returns.

    Dtypes form a lattice, in which operands meet at the least dtype above all of them.

    Args:
        *dtypes: names, TensorFlow dtypes, `None` for the default float dtype, or the Python types
            `int` and `float`, which are weak: they do not widen a float dtype.

    Returns:
        A string; without arguments the default float dtype.

    Raises:
        ValueError: for dtypes without a common dtype, such as `"string"` and `"int32"`.

    Example:
        >>> result_type("int32", "float16"), result_type("bfloat16", float)
        ('float16', 'bfloat16')
    """
    given = (settings.floatx() if dtype is None else dtype for dtype in dtypes or (float,))
    return common_dtype(*given).name


def as_tensor(x: Any) -> Any:
    """Returns `x` as a tensor; sparse and ragged tensors are not converted."""
    if isinstance(x, (tf.Tensor, tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices)):
        return x
    return tf.convert_to_tensor(x)


def cast(x: Any, dtype: Any) -> Any:
    """Returns `x` in a different dtype; a sparse tensor keeps its static shape, which `tf.cast` loses."""
    result = tf.cast(x, dtype)
    if isinstance(x, tf.SparseTensor):
        result.set_shape(x.shape)
    return result


def to_dtype(x: Any, dtype: tf.DType) -> Any:
    """Returns `x` as a tensor of `dtype`; Python floats directly, without float32 in between."""
    if dtype.is_floating and not tf.is_tensor(x):
        return tf.convert_to_tensor(x, dtype)
    return cast(as_tensor(x), dtype)


def promote(*operands: Any) -> Any:
    """Returns the operands as tensors of their common dtype; Python numbers among them are weak."""
    first = operands[0]
    # The usual case costs no lookup.
    if isinstance(first, tf.Tensor) and all(
        isinstance(x, tf.Tensor) and x.dtype is first.dtype for x in operands
    ):
        return operands
    # By exact type: a `bool` is also an `int`, and NumPy's scalars have dtypes that count.
    operands = tuple(x if type(x) in (int, float) else as_tensor(x) for x in operands)
    dtype = common_dtype(*(getattr(x, "dtype", type(x)) for x in operands))
    return tuple(to_dtype(x, dtype) for x in operands)


def promote_tensors(*operands: Any) -> Any:
    """Returns the operands as tensors of their common dtype; Python numbers count as tensors."""
    return promote(*map(as_tensor, operands))


def to_float(x: Any) -> Any:
    """Returns `x` as a tensor of a float (or complex) dtype; other dtypes become the default float."""
    x = as_tensor(x)
    if x.dtype.is_floating or x.dtype.is_complex:
        return x
    if x.dtype == tf.string:
        raise ValueError(f"Expected numbers. Received: strings, in a tensor of shape {x.shape}")
    return cast(x, settings.floatx())


def to_wide_float(x: Any) -> Any:
    """Returns `x` as floats; int64 becomes float64 and not the default float, as in Keras."""
    x = as_tensor(x)
    return tf.cast(x, tf.float64) if x.dtype == tf.int64 else to_float(x)


def to_float32(x: Any) -> Any:
    """Returns `x` as a tensor of at least float32 precision, for sums of half precision."""
    x = as_tensor(x)
    return cast(x, common_dtype(x.dtype, tf.float32))


def without_bool(x: Any) -> Any:
    """Returns `x` as a tensor of numbers: bools become int32."""
    x = as_tensor(x)
    return cast(x, tf.int32) if x.dtype == tf.bool else x


_SUM_DTYPES = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.uint32,
    tf.uint16: tf.uint32,
}


def widen_for_sum(x: Any) -> Any:
    """Returns `x` as a tensor in which many elements can be summed: small integers become 32 bits."""
    x = as_tensor(x)
    return cast(x, _SUM_DTYPES.get(x.dtype, x.dtype))
