"""Keeps XLA from treating the values of variables as constants."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.engine import dataset_functions

# A tensor with more elements is not considered the start of a slice.
_MOST_ELEMENTS = 8


def not_constant(value: tf.Tensor) -> tf.Tensor:
    """Returns a few integers that come from a variable, so that XLA compiles once for all their values.

    TensorFlow looks for the origin of arguments that XLA prefers to know, such as the start of a slice or
    an index `x[i]`. If it is a variable, as with the state of a `SeedGenerator`, the program is compiled
    again for each of its values, in up to a second. The search does not enter loops, and XLA removes a loop
    that runs once.

    Args:
        value: a tensor. In eager mode, in `tf.data` and if it has many elements, it is returned unchanged.
    """
    is_small = value.shape.is_fully_defined() and value.shape.num_elements() <= _MOST_ELEMENTS
    if tf.executing_eagerly() or not is_small or dataset_functions.is_traced():
        return value
    _, result = tf.while_loop(
        lambda done, _: tf.logical_not(done),
        lambda done, _: (tf.constant(True), tf.identity(value)),
        # The search continues at the first value of a loop variable: it must not depend on the variable, not
        # even by its shape.
        (tf.constant(False), tf.zeros(value.shape, value.dtype)),
    )
    return result
