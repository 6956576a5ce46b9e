"""Floats from Philox's integers: the same numbers in a graph, inside XLA and in TensorFlow's kernels.

TensorFlow's kernels for floats give other numbers inside XLA than outside, while its 32-bit integers are
equal everywhere. The formulas below are those of the CPU kernels (uniform: equal bit for bit; normal: to
rounding), so that a program draws the same numbers however it is compiled, and as fast.

Outside of functions the kernels themselves are used: one call instead of ten.

Reference: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3"; Box, Muller (1958), "A note on
the generation of random normal deviates".
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

# How many of the low bits of an integer make a float's fraction.
_FRACTION_BITS = {"float16": 10, "bfloat16": 7, "float32": 23}


def bits(count: Any, seed: tf.Tensor) -> tf.Tensor:
    """`count` integers of 32 random bits, for a seed of two int32."""
    return tf.random.stateless_uniform([count], seed, None, None, tf.uint32, alg="philox")


def uniform(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Floats in `[0, 1)`."""
    if tf.executing_eagerly():
        return tf.random.stateless_uniform(shape, seed, dtype=dtype, alg="philox")
    return tf.reshape(_unit(_size(shape), seed, dtype), shape)


def normal(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Floats of mean 0 and deviation 1."""
    if tf.executing_eagerly():
        return tf.random.stateless_normal(shape, seed, dtype=dtype, alg="philox")
    drawn_dtype = "float64" if dtype == "float64" else "float32"
    count = _size(shape)
    pairs = tf.reshape(_unit((count + 1) // 2 * 2, seed, drawn_dtype), [-1, 2])
    radius = tf.sqrt(-2.0 * tf.math.log(tf.maximum(pairs[:, 0], 1e-7)))
    angle = 2.0 * math.pi * pairs[:, 1]
    both = tf.stack([radius * tf.sin(angle), radius * tf.cos(angle)], axis=1)
    return tf.cast(tf.reshape(tf.reshape(both, [-1])[:count], shape), dtype)


def at_least(threshold: float, shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Where `uniform(shape, seed, dtype)` is at least `threshold`, without making the floats."""
    count = _size(shape)
    if dtype == "float64":
        return tf.reshape(_unit(count, seed, dtype), shape) >= threshold
    steps = 2 ** _FRACTION_BITS[dtype]
    rounded = float(tf.as_dtype(dtype).as_numpy_dtype(threshold))
    drawn = tf.bitwise.bitwise_and(bits(count, seed), tf.constant(steps - 1, tf.uint32))
    # Signed, which CPUs compare and convert faster.
    return tf.reshape(tf.cast(drawn, tf.int32) >= math.ceil(rounded * steps), shape)


def _size(shape: Any) -> Any:
    """Number of elements, as an integer where it is known."""
    static = tf.get_static_value(tf.convert_to_tensor(shape, "int32"))
    return int(static.prod()) if static is not None else tf.reduce_prod(shape)


def _unit(count: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """`count` floats in `[0, 1)`."""
    if dtype == "float64":
        words = tf.reshape(bits(2 * count, seed), [-1, 2])
        high = tf.cast(
            tf.bitwise.bitwise_and(words[:, 0], tf.constant(2**20 - 1, tf.uint32)), dtype
        )
        return (high * 2.0**32 + tf.cast(words[:, 1], dtype)) * 2.0**-52
    digits = _FRACTION_BITS[dtype]
    low = tf.bitwise.bitwise_and(bits(count, seed), tf.constant(2**digits - 1, tf.uint32))
    return tf.cast(tf.cast(low, tf.int32), dtype) * 2.0**-digits
