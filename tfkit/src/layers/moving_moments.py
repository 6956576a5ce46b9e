"""Moving averages of the moments of batches, for layers that normalize with them."""

from __future__ import annotations

from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.layers.parameters import AddsWeights


class NormalizesBatches(AddsWeights, Protocol):
    """A layer with the arguments and weights of batch normalization."""

    moving_mean_initializer: Any
    moving_variance_initializer: Any
    momentum: float
    epsilon: float
    gamma: Any
    beta: Any
    moving_mean: Any
    moving_variance: Any
    # Only with renormalization:
    moving_stddev: Any
    renorm_clipping: Any
    renorm_momentum: float
    renorm_mean: Any
    renorm_stddev: Any


class MovingMoments:
    """The rule of batch normalization: the averages move toward each batch, which they do not correct."""

    is_plain = True

    def add_weights(self, layer: NormalizesBatches, channels: int) -> None:
        """Makes the averages, one entry for each channel."""
        layer.moving_mean = average(layer, "moving_mean", channels, layer.moving_mean_initializer)
        layer.moving_variance = average(
            layer, "moving_variance", channels, layer.moving_variance_initializer
        )

    def factors(
        self, layer: NormalizesBatches, mean: tf.Tensor, variance: tf.Tensor
    ) -> tuple[Any, Any]:
        """Returns `gamma` and `beta` for a batch with these moments; `None` for 1 and 0."""
        return layer.gamma, layer.beta

    def update(self, layer: NormalizesBatches, mean: tf.Tensor, variance: tf.Tensor) -> None:
        """Moves the averages toward the moments of a batch."""
        move(layer.moving_mean, mean, layer.momentum)
        move(layer.moving_variance, variance, layer.momentum)


def average(layer: NormalizesBatches, name: str, channels: int, initializer: Any) -> tf.Variable:
    """Returns a new moving average of one number for each channel."""
    return layer.add_weight(
        name=name,
        shape=(channels,),
        initializer=initializer,
        trainable=False,
        autocast=False,
        aggregation="mean",
    )


def move(moving: tf.Variable, value: tf.Tensor, momentum: float) -> tf.Tensor:
    """Moves an average toward `value`, and returns its new value."""
    moved = moving * momentum + tf.cast(value, moving.dtype) * (1.0 - momentum)
    moving.assign(moved)
    return moved
