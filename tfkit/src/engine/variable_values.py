"""Values of variables that programs of XLA must not take for constants."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.engine import dataset_functions

# More numbers than these are no places of a slice.
_MOST = 8


def not_constant(value: tf.Tensor) -> tf.Tensor:
    """Returns a few integers that come from a variable, so that XLA compiles once for all their values.

    TensorFlow looks for the origin of arguments that XLA prefers to know, as the begin of a slice or an
    index `x[i]`. Where it is a variable, as the state of a `SeedGenerator`, the program is compiled again for
    each of its values, in up to a second. The search does not enter a loop, and XLA removes one that runs
    once.

    Args:
        value: a tensor. In eager mode, in `tf.data`, and with many elements it is returned as it is.
    """
    is_small = value.shape.is_fully_defined() and value.shape.num_elements() <= _MOST
    if tf.executing_eagerly() or not is_small or dataset_functions.is_traced():
        return value
    _, result = tf.while_loop(
        lambda done, _: tf.logical_not(done),
        lambda done, _: (tf.constant(True), tf.identity(value)),
        # The search goes on at the first value, which must not depend on the variable, even by its shape.
        (tf.constant(False), tf.zeros(value.shape, value.dtype)),
    )
    return result
