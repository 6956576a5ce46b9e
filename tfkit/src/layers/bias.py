"""The bias of layers: a weight that is added to each of their outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import tensorflow as tf


class Biased(Protocol):
    """A layer with the usual arguments of a bias."""

    use_bias: bool
    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any

    @property
    def add_weight(self) -> Callable[..., Any]:
        """Makes a weight of the layer."""


def add_bias(layer: Biased, shape: tuple[int, ...], initializer: Any = None) -> tf.Variable | None:
    """Returns the new weight `bias` of a layer, or `None` for `use_bias=False`.

    Args:
        layer: the layer, while it is built.
        shape: shape of the bias.
        initializer: initial value; `None` for `layer.bias_initializer`.
    """
    if not layer.use_bias:
        return None
    return layer.add_weight(
        name="bias",
        shape=shape,
        initializer=layer.bias_initializer if initializer is None else initializer,
        regularizer=layer.bias_regularizer,
        constraint=layer.bias_constraint,
    )
