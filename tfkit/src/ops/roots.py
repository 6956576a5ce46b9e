"""Square roots whose gradient at 0 is 0, for lengths and deviations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def root_of_sum(squares: Any) -> tf.Tensor:
    """Returns the square roots of sums of squares.

    A length has a kink at 0, where the slope of the root is infinite and the slopes of the squares are 0.
    Their product is NaN, even for an upstream gradient of 0. The gradient here is 0, which is between the
    slopes of all directions.
    """
    # The slope of the root is infinite at 0, and infinity times the slope of a square, 0, is NaN. A `where`
    # only behind the root would not help: its gradient multiplies by 0, too.
    is_zero = tf.equal(squares, 0)
    roots = tf.sqrt(tf.where(is_zero, tf.ones_like(squares), squares))
    return tf.where(is_zero, tf.zeros_like(squares), roots)
