"""Activations computed a second time instead of kept, where memory is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, whose intermediate results are not kept for the gradient but computed again for it.

    Args:
        f: a layer or a function of tensors. Its variables must exist before the first call.

    Returns:
        A function with the same results and gradients.

    Reference:
        Chen, Xu, Zhang, Guestrin (2016), "Training deep nets with sublinear memory cost",
        https://arxiv.org/abs/1604.06174.

    Example:
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = remat(lambda x: tf.square(x) + x)(x)
        >>> float(tape.gradient(y, x))
        7.0
    """
    return tf.recompute_grad(f)
