"""Variables that an update replaces by their gradients, such as the scales of 8-bit numbers.

Scaling, clipping, averaging and weight decay do not apply to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.optimizers import distribution


def is_overwritten(variable: tf.Variable) -> bool:
    """Whether an update replaces the variable by its gradient: `variable.overwrite_with_gradient`."""
    return bool(getattr(distribution.whole_variable(variable), "overwrite_with_gradient", False))


def overwrite(
    assign: Callable[..., None], gradients: Sequence[Any], variables: Sequence[tf.Variable]
) -> tuple[list[Any], list[tf.Variable]]:
    """Replaces such variables by their gradients; returns the other gradients and variables."""
    rest = []
    for gradient, variable in zip(gradients, variables, strict=True):
        if is_overwritten(variable):
            distribution.update(variable, assign, gradient)
        else:
            rest.append((gradient, variable))
    return [gradient for gradient, _ in rest], [variable for _, variable in rest]


def unless_overwriting(
    function: Callable[[list[Any]], Sequence[Any]],
    gradients: Sequence[Any],
    variables: Sequence[tf.Variable],
) -> list[Any]:
    """Returns `function` of the gradients that do not overwrite; the others are not changed."""
    kept = [g for g, v in zip(gradients, variables, strict=True) if not is_overwritten(v)]
    changed = iter(function(kept) if kept else ())
    return [
        g if is_overwritten(v) else next(changed) for g, v in zip(gradients, variables, strict=True)
    ]
