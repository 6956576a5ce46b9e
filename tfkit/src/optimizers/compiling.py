"""Compiles the update of all variables with XLA, inside a graph that XLA does not compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.engine import xla

# Adam in a loop in a plain graph, microseconds a step on two CPU cores:
#   variables                      operations    TensorFlow's kernel    XLA
#   10 of 64 values                        91                     34     94
#   10 of 2048                            135                    400    310
#   a small CNN (35,000)                  175                    213    266
#   a VAE (811,000)                      4100                   1050   1350
# The kernel (`ResourceApplyAdam`) computes `1 - beta_2` in float32, which is off by 1.3e-5 of itself,
# so its steps differ from the formula. XLA's do not. Compiling takes 0.2 to 0.5 s.
MIN_NUMBERS = 300_000


def pays(gradients: Sequence[Any], variables: Sequence[tf.Variable]) -> bool:
    """Returns whether the update should be compiled: many values, in a graph, all shapes known."""
    return (
        tf.inside_function()
        and sum(variable.shape.num_elements() or 0 for variable in variables) >= MIN_NUMBERS
        # With an unknown size XLA would compile again for each size that comes.
        and all(_values(gradient).shape.is_fully_defined() for gradient in gradients)
    )


def update(
    update_one: Callable[[tf.Variable, Any, tf.Tensor], None],
    gradients: Sequence[Any],
    variables: Sequence[tf.Variable],
    learning_rate: tf.Tensor,
) -> None:
    """Calls `update_one(variable, gradient, learning_rate)` for all variables, in one XLA program.

    `fit` compiles it only for training runs of enough steps, see `training/compile_cost.py`.
    """

    def update_all(gradients: Sequence[Any]) -> None:
        for gradient, variable in zip(gradients, variables, strict=True):
            update_one(variable, gradient, learning_rate)

    # The name marks the function as one that must not be compiled again as a whole.
    update_all.__name__ = xla.PART
    tf.function(update_all, jit_compile=True, autograph=False)(gradients)


def _values(gradient: Any) -> tf.Tensor:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
