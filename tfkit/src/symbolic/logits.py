"""The logits of probabilities: `sigmoid` and `softmax` note them on their results, for crossentropies."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def note(probabilities: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Returns the probabilities, which from now on know the logits that they were made of."""
    # The attribute has Keras's name, since layers of users may set it as well.
    probabilities._keras_logits = logits
    return probabilities


def find(probabilities: Any, op_type: str) -> tf.Tensor | None:
    """Returns the logits that probabilities were made of; `None` if they are not known.

    Args:
        probabilities: a tensor.
        op_type: the operation that makes probabilities here: `"Softmax"` or `"Sigmoid"`.
    """
    logits = getattr(probabilities, "_keras_logits", None)
    # In a graph the operation that made a tensor is known.
    if logits is None and tf.is_symbolic_tensor(probabilities):
        operation = probabilities.op
        logits = operation.inputs[0] if operation.type == op_type else None
    return logits
