"""Batch renormalization: training with the batch's moments, corrected toward moving ones.

Reference:
    Ioffe, "Batch renormalization: towards reducing minibatch dependence in batch-normalized models", 2017.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check

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
    factor, offset = stddev / kept_stddev, (mean - kept_mean) / kept_stddev
    if clipping.get("rmax") is not None:
        factor = tf.minimum(factor, clipping["rmax"])
    if clipping.get("rmin") is not None:
        factor = tf.maximum(factor, clipping["rmin"])
    if clipping.get("dmax") is not None:
        offset = tf.clip_by_value(offset, -clipping["dmax"], clipping["dmax"])
    return tf.stop_gradient(factor), tf.stop_gradient(offset)
