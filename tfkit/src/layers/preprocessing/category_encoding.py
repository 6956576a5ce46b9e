"""A layer that encodes integers as vectors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.layers.checks import is_integer
from tfkit.src.layers.preprocessing.encoding import IndexEncoding

_MODES = ("multi_hot", "one_hot", "count")


class CategoryEncoding(IndexEncoding):
    """Vectors with a 1 (or a count) at the index of each integer; integers out of range are left out.

    Args:
        num_tokens: positive integer, the size of a vector: the largest integer plus one.
        output_mode: `"one_hot"` for a vector for each integer; `"multi_hot"` for a vector for each sample,
            with a 1 for each integer that occurs; `"count"` for one with the number of times.
            Default: `"multi_hot"`.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        **kwargs: arguments of every layer, with their defaults: `name`, a string; `trainable`,
            whether training changes the weights (`True`); `dtype`, a dtype or a dtype policy, which is that
            of the outputs (`None`, the global policy); `autocast`, which has no effect here, as integers in
            16-bit floats would become others; `activity_regularizer`, a penalty on the outputs (`None`).

    Call arguments:
        inputs: integers.
        count_weights: with `"count"`, the weight of each integer, in the form of `inputs`; `None` for 1.

    Input shape: `(batch, n)` or any, of integers; dense, ragged or sparse.

    Output shape: `(batch, num_tokens)`; `(..., num_tokens)` for `"one_hot"`, without a last axis of size 1.

    Raises:
        ValueError: if `num_tokens` is not a positive integer, `output_mode` is none of these, or
            `count_weights` is passed in a mode other than `"count"`.

    Example:
        >>> layer = CategoryEncoding(4, output_mode="count")
        >>> layer(tf.constant([[0, 1, 1]])).numpy().tolist()
        [[1.0, 2.0, 0.0, 0.0]]
    """

    _tfkit_omitted_from_config = {"sparse": False, "activity_regularizer": None, "autocast": True}

    def __init__(
        self,
        num_tokens: int | None = None,
        output_mode: str = "multi_hot",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # The old name of the mode, in files of Keras 2.
        if output_mode == "binary":
            output_mode = "multi_hot"
        self._take_mode(output_mode, sparse, _MODES)
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known beforehand, "
                "use the `IntegerLookup` layer instead."
            )
        if num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")
        self.num_tokens = int(num_tokens) if is_integer(num_tokens) else num_tokens
        self.autocast = False

    def call(self, inputs: Any, count_weights: Any = None) -> Any:
        """Returns the vectors of `inputs`."""
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                "`count_weights` is not used when `output_mode` is not `'count'`. Received: "
                f"count_weights={count_weights} and output_mode={self.output_mode}"
            )
        if count_weights is not None and not inputs.shape.is_compatible_with(count_weights.shape):
            raise ValueError(
                "`count_weights` must have one weight for each integer. Received: count_weights of shape "
                f"{count_weights.shape} for inputs of shape {inputs.shape}"
            )
        if inputs.dtype == tf.string:
            raise ValueError(
                f"Layer {self._tfkit.title} expects integers. Received: a tensor of dtype string. Use "
                "`StringLookup`."
            )
        return self._encoded(inputs, count_weights)

    def _depth(self) -> int:
        return self.num_tokens

    def compute_output_spec(self, inputs: Any, count_weights: Any = None) -> Any:
        """Returns the outputs for symbolic inputs."""
        return super().compute_output_spec(inputs)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        return config if self.sparse else {k: v for k, v in config.items() if k != "sparse"}
