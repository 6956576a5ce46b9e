"""Hashes of strings and integers: FarmHash, or SipHash with a key, as in Keras."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.layers.checks import is_integer


def hashed(values: tf.Tensor, num_bins: int, salt: list[int] | None = None) -> tf.Tensor:
    """Returns integers from 0 to `num_bins - 1`, the same for equal values on every machine.

    Args:
        values: strings, or numbers, which are hashed as the decimal digits of their integer parts.
        num_bins: positive integer.
        salt: two integers, the key of SipHash-64; `None` for FarmHash-64.
    """
    if values.dtype.is_floating:
        values = tf.cast(values, tf.int64)
    # Integers are hashed as their decimal digits, as in Keras: files keep their meaning.
    texts = values if values.dtype == tf.string else tf.strings.as_string(values)
    if salt is None:
        return tf.strings.to_hash_bucket_fast(texts, num_bins)
    return tf.strings.to_hash_bucket_strong(texts, num_bins, salt)  # SipHash


def salt_of(salt: Any, message: str) -> list[int] | None:
    """Returns a salt as two integers; a single one is used twice.

    Raises:
        ValueError: with `message`, for anything else.
    """
    if salt is None:
        return None
    if is_integer(salt):
        return [int(salt), int(salt)]
    pair = isinstance(salt, (tuple, list)) and len(salt) == 2 and all(map(is_integer, salt))
    if not pair:
        raise ValueError(f"{message} Received: salt={salt}.")
    return [int(salt[0]), int(salt[1])]
