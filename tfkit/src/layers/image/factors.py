"""Arguments of layers of images that define the range of a random number, and layers with one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

import numpy as np

from tfkit.src.base.registry import constructors
from tfkit.src.core.layer import Layer
from tfkit.src.layers.image.base import BoxedOptions, RandomImageLayer


def is_number(value: Any) -> bool:
    """Whether `value` is an integer or a float, Python's or NumPy's."""
    # `True` is an integer to Python, and would pass for a factor of 1.
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_pair(value: Any) -> bool:
    """Whether `value` is a list or a tuple of two numbers."""
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_number, value))


def symmetric(layer: Layer, above: bool = False, **argument: Any) -> tuple[Any, Any]:
    """Returns the range of an argument between -1 and 1; a single number is used with both signs.

    Args:
        layer: the layer, for the message.
        above: whether what is passed must be above -1. Default: `False`.
        **argument: the argument, by its name.
    """
    ((name, value),) = argument.items()
    _check(layer, name, value, -1.0, 1.0, above)
    if is_number(value):
        return -abs(value), abs(value)
    return min(value), max(value)


def positive(
    layer: Layer, most: float = 1.0, least: float = 0.0, start: float = 0, **argument: Any
) -> tuple[Any, Any]:
    """Returns the range of an argument; a single number is the upper end of the range.

    Args:
        layer: the layer, for the message.
        most: the largest value that is allowed. Default: `1.0`.
        least: the smallest value that is allowed in a pair. Default: `0.0`.
        start: the lower end of the range for a single number. Default: `0`.
        **argument: the argument, by its name.
    """
    ((name, value),) = argument.items()
    _check(layer, name, value, max(least, start) if is_number(value) else least, most)
    if is_number(value):
        return start, value
    return min(value), max(value)


def _check(
    layer: Layer, name: str, value: Any, least: float, most: float, above: bool = False
) -> None:
    bounds = [value] if is_number(value) else value if is_pair(value) else []
    # NaN fails every comparison, so it is refused as well.
    holds = [least < bound <= most or (bound == least and not above) for bound in bounds]
    if not holds or not all(holds):
        start = "(" if above else "["
        raise ValueError(
            f"The `{name}` argument should be a number (or a list of two numbers) in the range "
            f"{start}{least:g}, {most:g}]. Received: {name}={value!r} for layer {type(layer).__name__}"
        )


def pair_of_values(layer: Layer, value: Any) -> tuple[Any, Any]:
    """Returns the smallest and the largest value of images."""
    if not is_pair(value):
        raise ValueError(
            "The `value_range` argument should be a list of two numbers. "
            f"Received: value_range={value!r} for layer {type(layer).__name__}"
        )
    return min(value), max(value)


def fills(layer: Layer, fill_mode: str, interpolation: str) -> None:
    """Raises an error for unknown fill modes and interpolations."""
    for name, value, known in (
        ("fill_mode", fill_mode, ("reflect", "wrap", "constant", "nearest")),
        ("interpolation", interpolation, ("nearest", "bilinear")),
    ):
        if value not in known:
            raise NotImplementedError(
                f"Unknown `{name}` {value!r} for layer {type(layer).__name__}. Expected one of {known}."
            )


class RandomFactorLayer(RandomImageLayer):
    """A layer that changes colours by a random factor."""

    # Checks the argument `factor`, and returns its smallest and its largest value.
    _range: ClassVar[Callable[..., tuple[Any, Any]]] = symmetric

    @constructors.named_after_class
    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        self.factor = type(self)._range(self, factor=factor)
        self.value_range = pair_of_values(self, value_range)
