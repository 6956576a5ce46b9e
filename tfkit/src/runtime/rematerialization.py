"""Computes activations twice instead of keeping them, to save memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.calls import calls
from tfkit.src.base.recomputation import Recomputation, add_loss


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `f` with intermediate results that are computed again for the gradient instead of kept.

    Args:
        f: a layer or a function of tensors. Its variables must exist before the first call.

    Returns:
        A function with the same results and gradients: the second computation has the mode and the random
        numbers of the first, and updates nothing.

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

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        frame, recomputation = calls.frame, Recomputation()
        forms: list[Any] = []  # The results of the first computation.

        def compute(*args: Any, **kwargs: Any) -> list[Any]:
            if forms:
                # The gradient may be computed after the call that contains it.
                before, calls.frame = calls.frame, frame
                try:
                    with recomputation.second():
                        results = f(*args, **kwargs)
                finally:
                    calls.frame = before
            else:
                with recomputation.first():
                    results = f(*args, **kwargs)
                forms.append(results)
            return [*tf.nest.flatten(results), *(loss for _, loss in recomputation.losses)]

        flat = tf.recompute_grad(compute)(*args, **kwargs)
        owners = [owner for owner, _ in recomputation.losses]
        num_results = len(flat) - len(owners)
        for owner, loss in zip(owners, flat[num_results:], strict=True):
            add_loss(owner, loss)
        return tf.nest.pack_sequence_as(forms[0], flat[:num_results])

    return rematerialized
