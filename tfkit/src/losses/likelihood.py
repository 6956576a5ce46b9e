"""Common parts of the crossentropies: logits, clipped probabilities, smoothed labels."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.symbolic.logits import find


def find_logits(y_pred: tf.Tensor, from_logits: bool, op_type: str) -> tuple[tf.Tensor, bool]:
    """Returns `y_pred`, or the logits that it was made from if they are known, and whether it is logits.

    Log-likelihoods of logits neither overflow nor need clipping.

    Args:
        y_pred: probabilities or logits.
        from_logits: whether the caller declares `y_pred` as logits.
        op_type: the operation that makes probabilities here: `"Softmax"` or `"Sigmoid"`.
    """
    logits = find(y_pred, op_type)
    if logits is None:
        return y_pred, from_logits
    if from_logits:
        warn(
            f"A loss got `from_logits=True` and the output of a {op_type}, which are not logits. "
            f"Remove the {op_type} from the model, or pass `from_logits=False`."
        )
    return logits, True


def normalized(probabilities: tf.Tensor, axis: int) -> tf.Tensor:
    """Returns probabilities divided by their sum over `axis`; zeros where all of them are 0.

    A model gives such zeros for masked steps, and 0 divided by 0 would make the loss of the others NaN, too.
    """
    return tf.math.divide_no_nan(probabilities, tf.reduce_sum(probabilities, axis, keepdims=True))


def smooth_labels(
    y_true: tf.Tensor, label_smoothing: float, num_classes: int | None = None, axis: int = -1
) -> tf.Tensor:
    """Returns labels moved by `label_smoothing` (0 to 1) of the way towards uniform ones.

    Args:
        y_true: labels, of any float dtype.
        label_smoothing: 0 for the labels as they are.
        num_classes: number of classes, the size of `axis` unless given.
        axis: the axis of the classes.
    """
    if not tf.is_tensor(label_smoothing) and not 0 <= label_smoothing <= 1:
        raise ValueError(
            f"`label_smoothing` must be from 0 to 1. Received: label_smoothing={label_smoothing!r}"
        )
    if not tf.is_tensor(label_smoothing) and not label_smoothing:
        return y_true
    if num_classes is None:
        num_classes = tf.shape(y_true)[axis]
    # Szegedy et al. (2016): the smoothed labels still add up to 1.
    return y_true * (1.0 - label_smoothing) + label_smoothing / tf.cast(num_classes, y_true.dtype)
