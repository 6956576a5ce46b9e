"""Makes floats of Philox's integers: the same ones in a graph, inside XLA and in TensorFlow's kernels.

TensorFlow draws different floats inside XLA than outside, while its 32-bit integers are equal everywhere. The
formulas below are the CPU kernels' (uniform: equal bit for bit; normal: to rounding), so that a program draws
the same floats however it is compiled, and as fast.

Outside of functions, and in predictions, the kernels themselves are used: one call instead of ten.

Reference: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3"; Box, Muller (1958), "A note on
the generation of random normal deviates".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.engine import replicas
from tfkit.src.engine.machine import predicts_only
from tfkit.src.engine.row_kinds import ROWS
from tfkit.src.engine.shared_programs import differing_in_xla
from tfkit.src.engine.sizes import as_sizes

_PHILOX = 1  # The algorithm's number in TensorFlow's kernels.
# The number of low bits of an integer that form a float's fraction.
_FRACTION_BITS = {"float16": 10, "bfloat16": 7, "float32": 23}


def bits(count: Any, seed: tf.Tensor) -> tf.Tensor:
    """Returns `count` integers of 32 random bits, for a seed of two int32 that are not negative.

    From negative seeds XLA makes a different key than the kernels.
    """
    return _bits_function()(tf.convert_to_tensor(count, "int32"), seed)


@functools.cache
def _bits_function() -> Any:
    """Returns the function behind `bits`; programs that XLA compiles replace it by the rounds of Philox."""

    def drawn(count: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        key, counter = _kernel_key_and_counter(seed)
        shape = tf.expand_dims(count, 0)
        return tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=shape, key=key, counter=counter, alg=_PHILOX, dtype=tf.uint32
        )

    return differing_in_xla(
        drawn, _rolled, [tf.TensorSpec([], "int32"), tf.TensorSpec([2], "int32")]
    )


def uniform(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns floats in `[0, 1)`."""
    return _drawn(lambda shape: _uniform(shape, seed, dtype), shape)


def _uniform(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    if tf.executing_eagerly() or predicts_only():
        return _of_kernel(tf.raw_ops.StatelessRandomUniformV2, shape, seed, dtype)
    return tf.reshape(_unit(_size(shape), seed, dtype), shape)


def normal(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns floats with mean 0 and deviation 1."""
    return _drawn(lambda shape: _normal(shape, seed, dtype), shape)


def _normal(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    if tf.executing_eagerly() or predicts_only():
        return _of_kernel(tf.raw_ops.StatelessRandomNormalV2, shape, seed, dtype)
    drawn_dtype = "float64" if dtype == "float64" else "float32"
    count = _size(shape)
    # Box and Muller's method gives two normals for two uniforms, so their number is rounded up to even.
    pairs = tf.reshape(_unit((count + 1) // 2 * 2, seed, drawn_dtype), [-1, 2])
    # 1e-7 is the bound of TensorFlow's kernels too: the logarithm of 0 would be infinite.
    radius = tf.sqrt(-2.0 * tf.math.log(tf.maximum(pairs[:, :1], 1e-7)))
    # One product: if there were two, XLA would compute the radius for each.
    both = radius * tf.stack(_circle_function(drawn_dtype)(pairs[:, 1]), axis=1)
    return tf.cast(tf.reshape(tf.reshape(both, [-1])[:count], shape), dtype)


def truncated_normal(shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns floats with mean 0 and deviation 1, those outside of [-2, 2] drawn again.

    They differ inside XLA.
    """
    kernel = tf.raw_ops.StatelessTruncatedNormalV2
    return _drawn(lambda shape: _of_kernel(kernel, shape, seed, dtype), shape)


def integers(shape: Any, seed: tf.Tensor, minval: Any, maxval: Any, dtype: str) -> tf.Tensor:
    """Returns integers in `[minval, maxval)`, of 32 or 64 bits."""
    return _drawn(lambda shape: _integers(shape, seed, minval, maxval, dtype), shape)


def _integers(shape: Any, seed: tf.Tensor, minval: Any, maxval: Any, dtype: str) -> tf.Tensor:
    key, counter = _kernel_key_and_counter(seed)
    return tf.raw_ops.StatelessRandomUniformIntV2(
        shape=tf.convert_to_tensor(shape, "int32"),
        key=key,
        counter=counter,
        alg=_PHILOX,
        minval=tf.convert_to_tensor(minval, dtype),
        maxval=tf.convert_to_tensor(maxval, dtype),
    )


def _of_kernel(kernel: Any, shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns the floats that one of TensorFlow's kernels draws."""
    key, counter = _kernel_key_and_counter(seed)
    shape = tf.convert_to_tensor(shape, "int32")
    return kernel(shape=shape, key=key, counter=counter, alg=_PHILOX, dtype=dtype)


def _kernel_key_and_counter(seed: tf.Tensor) -> Any:
    """Returns the key and the counter that the kernels accept instead of a seed.

    It is one operation: `alg="philox"` of TensorFlow's own functions computes the same in forty.
    """
    return tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)


def at_least(threshold: float, shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns `uniform(shape, seed, dtype) >= threshold`, without computing the floats."""
    return _drawn(lambda shape: _at_least(threshold, shape, seed, dtype), shape)


def _at_least(threshold: float, shape: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    count = _size(shape)
    if dtype == "float64":
        return tf.reshape(_unit(count, seed, dtype), shape) >= threshold
    steps = 2 ** _FRACTION_BITS[dtype]
    # A float is its bits times a power of two, so that `float >= threshold` is `bits >= threshold * steps`,
    # rounded up. The threshold is rounded to the dtype first, as the comparison of floats would do.
    least = math.ceil(float(tf.as_dtype(dtype).as_numpy_dtype(threshold)) * steps)
    low = tf.bitwise.bitwise_and(bits(count, seed), _word(steps - 1))
    # As signed integers, which CPUs compare and convert faster.
    return tf.reshape(tf.cast(low, tf.int32) >= least, shape)


# --- The rounds of Philox, for XLA --------------------------------------------------------------------
#
# Each value of the counter gives four integers. XLA's version of TensorFlow's operation runs all rounds once
# for each of the four. A loop computes them together: 2.3 ms instead of 6.8 for 640,000 integers.


def _rolled(count: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Returns the same integers as `bits`."""
    num_counters = (count + 3) // 4
    key, (low, high) = _key_and_counter(seed)
    zeros = tf.zeros([num_counters], tf.uint32)
    # The low half of the 128-bit counter counts, the high half is made from the seed. The second word would
    # count beyond 2**32, which the number of integers, an int32, does not reach.
    low_words = tf.cast(tf.range(num_counters), tf.uint32)
    words = _ten_rounds(key, tf.stack([low_words, zeros, zeros + low, zeros + high]))
    return tf.reshape(tf.transpose(words), [-1])[:count]


def _key_and_counter(seed: tf.Tensor) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Returns the key and the counter's high words for a seed, as TensorFlow computes them: by Philox too."""
    wide = tf.cast(tf.cast(seed, tf.int64), tf.uint64)
    # The constants of TensorFlow's `GenerateKey`: a different key would give a different stream.
    key = (_word(0x3EC8F720), _word(0x02461E29))
    words = tf.unstack(_ten_rounds(key, tf.stack([*_halves(wide[0]), *_halves(wide[1])])))
    return tuple(words[:2]), tuple(words[2:])


def _ten_rounds(key: tuple[Any, Any], words: tf.Tensor) -> tf.Tensor:
    """Returns the result of Philox's ten rounds, on a key of two words and counters of four, `[4, ...]`.

    XLA computes each of the four words separately, with all of the rounds before it in the body of the loop.
    Two rounds are the best compromise between that and writing to memory after each round; ten in a row take
    twice as long to compile. Four words in one tensor start one kernel instead of eight.
    """

    def body(index: tf.Tensor, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        first = 2 * index
        return index + 1, _round(key, first + 1, _round(key, first, words))

    start = (tf.constant(0, tf.uint32), words)
    return tf.while_loop(lambda index, _: index < 5, body, start)[1]


def _round(key: tuple[Any, Any], index: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
    """Returns the result of one of Philox's ten rounds, numbered from 0."""
    # The constants are from the paper: Weyl increments of the key, and the multipliers of Philox4x32.
    # Additions overflow on purpose.
    key_0 = key[0] + index * _word(0x9E3779B9)
    key_1 = key[1] + index * _word(0xBB67AE85)
    word_0, word_1, word_2, word_3 = tf.unstack(words)
    low_0, high_0 = _product(word_0, 0xD2511F53)
    low_1, high_1 = _product(word_2, 0xCD9E8D57)
    return tf.stack([high_1 ^ word_1 ^ key_0, low_1, high_0 ^ word_3 ^ key_1, low_0])


def _product(word: tf.Tensor, factor: int) -> tuple[tf.Tensor, tf.Tensor]:
    return _halves(tf.cast(word, tf.uint64) * tf.constant(factor, tf.uint64))


def _halves(wide: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the low and the high 32 bits of 64."""
    high = tf.bitwise.right_shift(wide, tf.constant(32, tf.uint64))
    return tf.cast(wide, tf.uint32), tf.cast(high, tf.uint32)


def _word(value: int) -> tf.Tensor:
    return tf.constant(value, tf.uint32)


# --- Sine and cosine, for XLA --------------------------------------------------------------------------
#
# XLA calls the C library for each element: 64,000 normals take 0.65 ms with it, 0.35 with the series.


@functools.cache
def _circle_function(dtype: str) -> Any:
    """Returns a function of turns in `[0, 1)` that returns the sine and the cosine of their angles."""

    def plain(turns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        angle = 2.0 * math.pi * turns
        return tf.sin(angle), tf.cos(angle)

    in_xla = _circle if dtype == "float32" else plain
    return differing_in_xla(plain, in_xla, [tf.TensorSpec([None], dtype)])


def _circle(turns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns sine and cosine by their Taylor series, exact to rounding up to an eighth of a turn."""
    # The nearest quarter turn is taken off, so that at most an eighth is left. A quarter swaps sine and
    # cosine and changes signs.
    quarters = tf.floor(4.0 * turns + 0.5)
    angle = (turns - 0.25 * quarters) * (2.0 * math.pi)
    square = angle * angle
    sine = angle * _polynomial(square, [1, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880])
    cosine = _polynomial(square, [1, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800])
    is_odd = (quarters == 1) | (quarters == 3)
    sine, cosine = tf.where(is_odd, cosine, sine), tf.where(is_odd, sine, cosine)
    sine = tf.where((quarters == 2) | (quarters == 3), -sine, sine)
    return sine, tf.where((quarters == 1) | (quarters == 2), -cosine, cosine)


def _polynomial(x: tf.Tensor, coefficients: list[float]) -> tf.Tensor:
    """Returns the sum of `coefficients[i] * x**i`, by Horner's rule."""
    result = tf.fill(tf.shape(x), tf.constant(coefficients[-1], x.dtype))
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


def _size(shape: Any) -> Any:
    """Returns the number of elements, as an integer if it is known."""
    static = tf.get_static_value(tf.convert_to_tensor(shape, "int32"))
    return int(static.prod()) if static is not None else tf.reduce_prod(shape)


def _unit(count: Any, seed: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns `count` floats in `[0, 1)`."""
    # The kernels put these bits into the fraction of a float in [1, 2) and subtract 1: equal bit for bit.
    if dtype == "float64":
        words = tf.reshape(bits(2 * count, seed), [-1, 2])
        high = tf.cast(tf.bitwise.bitwise_and(words[:, 0], _word(2**20 - 1)), dtype)
        return (high * 2.0**32 + tf.cast(words[:, 1], dtype)) * 2.0**-52
    digits = _FRACTION_BITS[dtype]
    low = tf.bitwise.bitwise_and(bits(count, seed), _word(2**digits - 1))
    # By way of signed integers, which CPUs convert to floats in one instruction.
    return tf.cast(tf.cast(low, tf.int32), dtype) * 2.0**-digits


# --- Replicas -----------------------------------------------------------------------------------------
#
# Random values for the rows of a batch are drawn for the whole batch, and each replica uses the values for
# its rows, as one device would.


def _drawn(draw: Callable[[Any], tf.Tensor], shape: Any) -> tf.Tensor:
    """Returns `draw(shape)`; under a strategy, the replica's rows of the draw for the whole batch.

    A shape belongs to the rows of the batch if its first size is known only when the program runs. It may be
    a multiple of the number of rows.
    """
    shape = as_sizes(shape)
    own = replicas.rows()
    if own is None:
        return draw(shape)
    shape = tf.convert_to_tensor(shape, "int32")
    # TensorFlow infers which sizes of the shape are known where the values are only partly known; the
    # `Fill` itself is never run.
    known = tf.fill(shape, False).shape
    if not known.rank or known[0] is not None:
        return draw(shape)
    # A draw may have several rows for each row of the batch, as where steps of time were joined to it.
    each = shape[0] // tf.maximum(own.count, 1)
    whole = draw(tf.concat([[each * own.total], shape[1:]], 0))
    values = whole[each * own.first : each * (own.first + own.count)]
    values = tf.ensure_shape(values, known)
    own.kinds.note(values, ROWS)
    return values
