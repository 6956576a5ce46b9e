"""Batch renormalization: training with the batch's moments, corrected toward moving ones.

Reference:
    Ioffe, "Batch renormalization: towards reducing minibatch dependence in batch-normalized models", 2017.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check
from tfkit.src.layers.moving_moments import MovingMoments, NormalizesBatches, average, move

_CLIPPING = ("rmax", "rmin", "dmax")


def checked_clipping(layer: Layer, renorm: bool, clipping: Any) -> dict[str, Any] | None:
    """Returns the bounds of the corrections as a dict; `None` without renormalization.

    Raises:
        ValueError: for a key other than `rmax`, `rmin` and `dmax`, a negative `dmax`, `rmax` below `rmin`.
    """
    if not renorm:
        return None
    clipping = dict(clipping or {})
    unknown = set(clipping) - set(_CLIPPING)
    if unknown:
        raise ValueError(
            f"Received invalid keys for `renorm_clipping` of layer {type(layer).__name__}: {clipping}. "
            f"Expected keys out of {list(_CLIPPING)}"
        )
    rmax, rmin, dmax = (clipping.get(name) for name in _CLIPPING)
    holds = (dmax is None or dmax >= 0) and (rmax is None or rmin is None or rmax >= rmin)
    check(layer, holds, "renorm_clipping", "rmax >= rmin and dmax >= 0", clipping)
    return clipping


class Renormalization(MovingMoments):
    """The rule of batch renormalization: `(normalized * r + d) * gamma + beta`.

    `r` and `d` correct the moments of a batch toward further averages, and have no gradient.
    """

    is_plain = False

    def add_weights(self, layer: NormalizesBatches, channels: int) -> None:
        """Makes the averages, one entry for each channel."""
        super().add_weights(layer, channels)

        def first_stddev(shape: Any, dtype: Any = None) -> tf.Tensor:
            return tf.sqrt(layer.moving_variance_initializer(shape, dtype=dtype))

        layer.moving_stddev = average(layer, "moving_stddev", channels, first_stddev)
        layer.renorm_mean = average(layer, "renorm_mean", channels, layer.moving_mean_initializer)
        layer.renorm_stddev = average(layer, "renorm_stddev", channels, first_stddev)

    def factors(
        self, layer: NormalizesBatches, mean: tf.Tensor, variance: tf.Tensor
    ) -> tuple[Any, Any]:
        """Returns `gamma` and `beta` with the corrections in them."""
        stddev = tf.sqrt(variance + layer.epsilon)
        kept = (layer.renorm_mean, layer.renorm_stddev)
        factor, offset = corrections(mean, stddev, kept, layer.renorm_clipping or {})
        if layer.gamma is not None:
            gamma = tf.cast(layer.gamma, mean.dtype)
            factor, offset = factor * gamma, offset * gamma
        if layer.beta is not None:
            offset += tf.cast(layer.beta, mean.dtype)
        return factor, offset

    def update(self, layer: NormalizesBatches, mean: tf.Tensor, variance: tf.Tensor) -> None:
        """Moves the averages toward the moments of a batch."""
        stddev = tf.sqrt(variance + layer.epsilon)
        move(layer.moving_mean, mean, layer.momentum)
        move(layer.renorm_mean, mean, layer.renorm_momentum)
        move(layer.renorm_stddev, stddev, layer.renorm_momentum)
        moved = move(layer.moving_stddev, stddev, layer.momentum)
        # The deviation includes epsilon; rounding may make the difference negative.
        layer.moving_variance.assign(tf.nn.relu(tf.square(moved) - layer.epsilon))


def corrections(
    mean: tf.Tensor, stddev: tf.Tensor, kept: tuple[Any, Any], clipping: dict[str, Any]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the factor `r` and the offset `d` of normalized values, which have no gradient.

    Args:
        mean: of each channel in the batch.
        stddev: the same.
        kept: moving averages of both.
        clipping: `r` stays within `rmin` and `rmax`, `d` within `-dmax` and `dmax`, if these are given.
    """
    kept_mean, kept_stddev = (tf.cast(value, mean.dtype) for value in kept)
    # Ioffe (2017): r = sigma_B / sigma, d = (mu_B - mu) / sigma.
    factor, offset = stddev / kept_stddev, (mean - kept_mean) / kept_stddev
    if clipping.get("rmax") is not None:
        factor = tf.minimum(factor, clipping["rmax"])
    if clipping.get("rmin") is not None:
        factor = tf.maximum(factor, clipping["rmin"])
    if clipping.get("dmax") is not None:
        offset = tf.clip_by_value(offset, -clipping["dmax"], clipping["dmax"])
    return tf.stop_gradient(factor), tf.stop_gradient(offset)
