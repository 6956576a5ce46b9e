"""Checks of the arguments that all optimizers take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.names import advice_on, words
from tfkit.src.base.nests import brief


def check_unknown(owner: str, arguments: dict[str, Any], known: Iterable[str]) -> None:
    """Raises an error for unknown arguments; warns of `decay`, which Keras ignores."""
    if "decay" in arguments:
        warn(
            f"Argument `decay` of {owner} has no effect any more. Received: decay={arguments['decay']!r}. "
            "Pass `optimizers.schedules.InverseTimeDecay(...)` as `learning_rate` to let it fall."
        )
    unknown = {name: value for name, value in arguments.items() if name != "decay"}
    if unknown:
        advice = advice_on(next(iter(unknown)), known)
        raise ValueError(f"Argument(s) not recognized by {owner}: {brief(unknown)}.{advice}")


def check_clipping(
    clipnorm: float | None, clipvalue: float | None, global_clipnorm: float | None
) -> None:
    """Raises an error for more than one way of clipping."""
    if sum(option is not None for option in (clipnorm, clipvalue, global_clipnorm)) > 1:
        raise ValueError(
            "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
            f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
        )


def check_accumulation(gradient_accumulation_steps: int | None) -> None:
    """Raises an error for accumulation over fewer than two steps."""
    if gradient_accumulation_steps and gradient_accumulation_steps < 2:
        raise ValueError(
            "`gradient_accumulation_steps` must be an integer >= 2, or None. "
            f"Received: gradient_accumulation_steps={gradient_accumulation_steps}"
        )


def check_share(**arguments: float) -> None:
    """Raises an error for arguments outside [0, 1]."""
    for name, value in arguments.items():
        if not 0 <= value <= 1:
            raise ValueError(f"`{name}` must be in the range [0, 1]. Received: {name}={value!r}")


def check_ema(momentum: float, overwrite_frequency: int | None) -> None:
    """Raises an error for a momentum outside [0, 1] and a frequency that is not a positive integer."""
    if not 0 <= momentum <= 1:
        raise ValueError(
            f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}"
        )
    if overwrite_frequency and (
        not isinstance(overwrite_frequency, int) or overwrite_frequency < 1
    ):
        raise ValueError(
            "`ema_overwrite_frequency` must be an integer >= 1, or None. "
            f"Received: ema_overwrite_frequency={overwrite_frequency}"
        )


def check_variables(variables: Any) -> None:
    """Raises an error unless the argument is a collection of variables."""
    listed = variables if isinstance(variables, Iterable) else [variables]
    others = [one for one in listed if not hasattr(one, "assign")]
    if others:
        raise TypeError(f"Expected a list of variables. Received: {brief(variables)}")


def checked_pairs(pairs: Any) -> list[Any]:
    """Returns pairs of a gradient and a variable in a list; raises an error for anything else."""
    listed = list(pairs) if isinstance(pairs, Iterable) else [pairs]
    others = [one for one in listed if not isinstance(one, (tuple, list)) or len(one) != 2]
    if others:
        raise TypeError(
            "Expected pairs of a gradient and a variable, as `zip(gradients, variables)` gives them. "
            f"Received: {brief(others[0])}"
        )
    return listed


def check_gradients(
    gradients: Sequence[Any], variables: Sequence[tf.Variable], names: Sequence[str]
) -> None:
    """Raises an error unless there is a gradient for each variable, of its shape, or `None` for some.

    Raises:
        TypeError: for something else in place of the lists.
        ValueError: for numbers, shapes and dtypes that do not fit.
    """
    if len(gradients) != len(variables):
        raise ValueError(
            "There must be one gradient for each variable. "
            f"Received: {len(gradients)} gradients for {len(variables)} variables."
        )
    for gradient, variable, name in zip(gradients, variables, names, strict=True):
        if gradient is None:
            continue
        shape = getattr(gradient, "shape", None)  # Slices may not know it.
        if shape is not None and not variable.shape.is_compatible_with(shape):
            raise ValueError(
                f"The gradient of variable '{name}' must have the variable's "
                f"shape, {variable.shape}. Received: a gradient of shape {shape}"
            )
        # A gradient of a convolution may lack its static shape.
        if isinstance(gradient, tf.Tensor):
            gradient.set_shape(variable.shape)
        if isinstance(gradient, str) or getattr(gradient, "dtype", None) == tf.string:
            raise ValueError(
                f"The gradient of variable '{name}' must hold numbers. Received: {brief(gradient)}"
            )


_FROM_ZERO = words("learning_rate epsilon weight_decay clipnorm clipvalue global_clipnorm")
_BELOW_ONE = words("beta_1 beta_2")


def check_value(name: str, value: Any) -> None:
    """Raises an error for a number that an optimizer cannot work with, by the name of its attribute.

    Anything that is not a number of Python's or NumPy's, such as a tensor, is not checked.

    Raises:
        ValueError: that states the range.
    """
    if not isinstance(value, (int, float, np.number)) or name not in _FROM_ZERO | _BELOW_ONE:
        return
    if name in _BELOW_ONE and not 0 <= value < 1:
        raise ValueError(f"`{name}` must be from 0 to below 1. Received: {name}={value!r}")
    if not value >= 0:  # NaN as well.
        ascent = " To increase a value, minimize its negative." if name == "learning_rate" else ""
        raise ValueError(f"`{name}` must be 0 or above. Received: {name}={value!r}.{ascent}")
