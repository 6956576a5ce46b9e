"""TensorFlow's random integers in JAX, equal bit for bit, with 32-bit integers only.

Reference: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any

# The number of low bits of an integer that form a float's fraction.
_FRACTION_BITS = {"float16": 10, "bfloat16": 7, "float32": 23}


def key_and_counter(seed: Array) -> tuple[Array, Array]:
    """Returns a key and a counter, each of two words of 32 bits, for a seed of two integers."""
    low = seed.astype(jnp.uint32)
    # The upper words of the integers as 64 bits: with the sign.
    if seed.dtype.itemsize == 8:
        high = (seed >> 32).astype(jnp.uint32)
    else:
        high = jnp.where(seed < 0, jnp.uint32(0xFFFFFFFF), jnp.uint32(0))
    key = jnp.array([0x3EC8F720, 0x02461E29], jnp.uint32)
    _, _, *words = _ten_rounds(key[0], key[1], low[0], high[0], low[1], high[1])
    return jnp.stack(words[:2]), jnp.stack(words[2:])


def bits(count: Any, key: Array, counter: Array) -> Array:
    """Returns `count` integers of 32 random bits."""
    num_counters = (count + 3) // 4
    numbers = jnp.arange(num_counters, dtype=jnp.uint32)
    zeros = jnp.zeros_like(numbers)
    _, _, *words = _ten_rounds(
        key[0], key[1], numbers, zeros, zeros + counter[0], zeros + counter[1]
    )
    return jnp.stack(words, axis=1).reshape(-1)[:count]


def integers(shape: list[Any], key: Array, counter: Array, low: Array, high: Array) -> Array:
    """Returns integers from `low` to `high - 1`, of 32 bits or, where JAX has none, of 64."""
    count = math.prod(shape)
    span = (high - low).astype(jnp.uint32)
    drawn = bits(count, key, counter) % span
    return (low + drawn.astype(low.dtype)).reshape(shape)


def wide_integers(shape: list[Any], key: Array, counter: Array, low: Array, high: Array) -> Array:
    """Returns integers of 64 bits from `low` to `high - 1`, which must differ by less than 2**31."""
    count = math.prod(shape)
    span = (high - low).astype(jnp.uint32)
    words = bits(2 * count, key, counter).reshape(-1, 2)

    def next_bit(place: Any, rest: Array) -> Array:
        word = jnp.where(place < 32, words[:, 1], words[:, 0])
        bit = (word >> (31 - place % 32).astype(jnp.uint32)) & jnp.uint32(1)
        return (rest * 2 + bit) % span

    rest = lax.fori_loop(0, 64, next_bit, jnp.zeros_like(words[:, 0]))
    return (low + rest.astype(low.dtype)).reshape(shape)


def unit(count: Any, key: Array, counter: Array, dtype: str) -> Array:
    """Returns floats in `[0, 1)`."""
    if dtype == "float64":
        words = bits(2 * count, key, counter).reshape(-1, 2)
        high = (words[:, 0] & jnp.uint32(2**20 - 1)).astype(dtype)
        return (high * 2.0**32 + words[:, 1].astype(dtype)) * 2.0**-52
    digits = _FRACTION_BITS[dtype]
    low = bits(count, key, counter) & jnp.uint32(2**digits - 1)
    return low.astype(jnp.int32).astype(dtype) * np.array(2.0**-digits, dtype)


def _ten_rounds(*state: Array) -> tuple[Array, ...]:
    """Returns key and words after Philox's ten rounds, two in each step of a loop (`engine/philox.py`)."""
    state = lax.fori_loop(0, 5, lambda _, words: _round(*_round(*words)), tuple(state))
    return tuple(state)


def _round(*state: Array) -> tuple[Array, ...]:
    key_0, key_1, word_0, word_1, word_2, word_3 = state
    low_0, high_0 = _product(word_0, 0xD2511F53)
    low_1, high_1 = _product(word_2, 0xCD9E8D57)
    words = (high_1 ^ word_1 ^ key_0, low_1, high_0 ^ word_3 ^ key_1, low_0)
    return (key_0 + jnp.uint32(0x9E3779B9), key_1 + jnp.uint32(0xBB67AE85), *words)


def _product(word: Array, factor: int) -> tuple[Array, Array]:
    """Returns the low and the high 32 bits of a product, from products of 16 bits."""
    low, high = word & jnp.uint32(0xFFFF), word >> jnp.uint32(16)
    factor_low, factor_high = jnp.uint32(factor & 0xFFFF), jnp.uint32(factor >> 16)
    first = low * factor_low
    middle = high * factor_low + (first >> jnp.uint32(16))
    crossed = low * factor_high + (middle & jnp.uint32(0xFFFF))
    top = high * factor_high + (middle >> jnp.uint32(16)) + (crossed >> jnp.uint32(16))
    return word * jnp.uint32(factor), top
