"""Labels that are NaN or infinite where nothing is learned from them: of weight 0, or masked."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.losses.reduction import mask_along
from tfkit.src.losses.tensors import as_tensor, weights_along


def without_missing_labels(y_true: Any, sample_weight: Any, mask: Any) -> Any:
    """Returns targets in which missing values of samples that do not count are 0.

    A weight of 0 says that a sample does not count, and a missing label is the most common reason for it. But
    0 times NaN is NaN, in the loss and in its gradient; the gradient is finite only if the loss is computed
    from a finite label. Missing labels that count stay as they are, and so do predictions: a model whose
    output is NaN has a gradient of NaN, which a finite loss would hide.

    Args:
        y_true: targets. Those that are not an array or tensor of floats have no missing values.
        sample_weight: weights of the samples, or `None`.
        mask: true where an entry counts, or `None`.
    """
    if sample_weight is None and mask is None:
        return y_true
    # Integers cannot be missing, and nests of targets belong to a user's losses.
    if not isinstance(y_true, (np.ndarray, tf.Tensor)) or not tf.as_dtype(y_true.dtype).is_floating:
        return y_true
    y_true = tf.convert_to_tensor(y_true)
    if not y_true.shape.rank:
        return y_true
    excluded = tf.zeros([], "bool")
    try:
        if sample_weight is not None:
            weights = as_tensor(sample_weight, y_true.dtype, "`sample_weight`")
            excluded = weights_along(weights, y_true) == 0
        if mask is not None:
            excluded |= ~mask_along(mask, y_true)
    except ValueError:
        return y_true  # Weights that do not fit the losses are refused when these are known.
    # Before the loss: NaN times a weight of 0 is NaN, and so is its gradient.
    return tf.where(excluded & ~tf.math.is_finite(y_true), tf.zeros([], y_true.dtype), y_true)
