"""A layer that maps strings and integers to indices, by a hash."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import is_integer
from tfkit.src.layers.preprocessing.encoding import IndexEncoding, on_entries

_MODES = ("int", "one_hot", "multi_hot", "count")


class Hashing(IndexEncoding):
    """Computes `hash(inputs) % num_bins`: an index for each string or integer, without a vocabulary.

    The hash is FarmHash-64, and with a salt SipHash-64, of strings, and of integers as decimal strings. Equal
    inputs have equal indices on every machine; different inputs may have equal indices, too.

    Args:
        num_bins: positive integer, the number of indices, including the index of masked inputs.
        mask_value: input with the index 0, which no other input then has; `None` for none.
        salt: integer, or two, the key of SipHash; `None` for FarmHash.
        output_mode: `"int"` for the index; `"one_hot"` for a vector for each input; `"multi_hot"` for a
            vector for each sample, with a 1 for each index that occurs; `"count"` for one with the number
            of times. Default: `"int"`.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        **kwargs: arguments of every layer, with their defaults: `name`, a string; `trainable`,
            whether training changes the weights (`True`); `dtype`, the dtype of the outputs (`None`:
            `int64` for `"int"`, else the global policy); `autocast`, which has no effect here;
            `activity_regularizer`, a penalty on the outputs (`None`).

    Input shape: Any, of strings, of integers, or of floats, which are cast; dense, ragged or sparse.

    Output shape: The input shape for `"int"`; `(..., num_bins)` for `"one_hot"`; without the axis after
        the batch, and with `num_bins` at the end, for the others.

    Raises:
        ValueError: if an argument has any other value.

    Reference: Appleby and Pike (2014), FarmHash; Aumasson and Bernstein (2012), "SipHash: a fast
        short-input PRF".

    Example:
        >>> Hashing(3)(["A", "B", "C", "D", "E"]).numpy().tolist()
        [1, 0, 1, 1, 2]
        >>> Hashing(3, mask_value="")(["A", ""]).numpy().tolist()
        [1, 0]
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: Any = None,
        salt: Any = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs["dtype"] = output_dtype(self, output_mode, kwargs.get("dtype"))
        super().__init__(**kwargs)
        if num_bins is None or num_bins <= 0:
            raise ValueError(
                "The `num_bins` for `Hashing` cannot be `None` or non-positive values. "
                f"Received: num_bins={num_bins}."
            )
        self._take_mode(output_mode, sparse, _MODES)
        self.num_bins = num_bins
        self.mask_value = mask_value
        self.salt = salt_of(salt, "Hashing")
        self.autocast = False

    def call(self, inputs: Any) -> Any:
        """Returns the indices of `inputs`."""
        indices = on_entries(inputs, self._indices)
        if self.output_mode == "int":
            return tf.cast(indices, self.compute_dtype)
        return self._encoded(indices)

    def _depth(self) -> int:
        return self.num_bins

    def _indices(self, values: tf.Tensor) -> tf.Tensor:
        if self.mask_value is None:
            return hashed(values, self.num_bins, self.salt)
        # Bin 0 is only for masked values, so one bin less is left for the others.
        masked = tf.equal(values, tf.cast(tf.constant(self.mask_value), values.dtype))
        if self.num_bins == 1:
            return tf.zeros_like(values, tf.int64)
        return tf.where(
            masked, tf.constant(0, tf.int64), hashed(values, self.num_bins - 1, self.salt) + 1
        )


def output_dtype(layer: Layer, mode: str, dtype: Any) -> Any:
    """Returns the dtype of a layer's outputs: `int64` for indices unless another dtype is given.

    Raises:
        ValueError: for indices in a dtype that is not an integer type.
    """
    if mode != "int":
        return dtype or settings.floatx()
    if dtype is None:
        return "int64"
    name = getattr(dtype, "name", dtype)
    if isinstance(dtype, dict):
        name = dtype.get("config", {}).get("name")
    if "int" not in str(name):
        raise ValueError(
            'When `output_mode="int"`, `dtype` should be an integer type, '
            f"'int32' or 'int64'. Received: dtype={dtype}"
        )
    return dtype


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


def salt_of(salt: Any, owner: str) -> list[int] | None:
    """Returns a salt as two integers; a single one is used twice.

    Raises:
        ValueError: for anything else.
    """
    if salt is None:
        return None
    if is_integer(salt):
        return [int(salt), int(salt)]
    pair = isinstance(salt, (tuple, list)) and len(salt) == 2 and all(map(is_integer, salt))
    if not pair:
        raise ValueError(
            f"The `salt` argument for `{owner}` can only be a tuple of 2 integers, or a single integer. "
            f"Received: salt={salt}."
        )
    return [int(salt[0]), int(salt[1])]
