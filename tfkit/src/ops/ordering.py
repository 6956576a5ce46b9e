"""Integers in the order of floats, because each kernel compares NaN and signed zeros in its own way."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def ordered_keys(x: Any, nan_first: bool = False) -> Any:
    """Returns integers that are in the order of the elements of `x`.

    Infinities are at the ends, -0.0 is less than 0.0, and NaN is greater than everything, as NumPy sorts it.

    Args:
        x: a real tensor or bools. Those that are not floats are returned as integers.
        nan_first: whether NaN is less than everything instead.
    """
    if x.dtype == tf.bool:
        return tf.cast(x, tf.uint8)
    if not x.dtype.is_floating:
        return x
    # As an integer, a positive float ascends with its value (IEEE 754).
    wide = x if x.dtype == tf.float64 else tf.cast(x, tf.float32)
    integers = tf.int64 if x.dtype == tf.float64 else tf.int32
    bits = tf.bitcast(wide, integers)
    # The bits of negative numbers ascend with their size. All of them but the sign are inverted.
    keys = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, integers.max), bits)
    end = tf.constant(integers.min if nan_first else integers.max, integers)
    return tf.where(tf.math.is_nan(x), end, keys)
