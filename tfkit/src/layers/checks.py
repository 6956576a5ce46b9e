"""Checks of constructor arguments of layers, with uniform messages."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.nests import brief
from tfkit.src.core.layer import Layer


def check(
    layer: Layer,
    holds: bool,
    argument: str,
    expected: str,
    received: Any,
    error: type[Exception] = ValueError,
) -> None:
    """Raises an error about an argument of a layer's constructor unless `holds`.

    Raises:
        ValueError: or `error`, with the layer's class, the argument, and the expected and passed values.
    """
    if not holds:
        raise error(
            f"Invalid value for argument `{argument}` of layer {type(layer).__name__}. "
            f"Expected {expected}. Received: {argument}={brief(received)}"
        )


def check_type(
    layer: Layer,
    holds: bool,
    argument: str,
    expected: str,
    received: Any,
    error: type[Exception] = TypeError,
) -> None:
    """Raises an error, which names the type of the argument, unless `holds`.

    Raises:
        TypeError: or `error`, as `check`.
    """
    if not holds:
        raise error(
            f"Invalid value for argument `{argument}` of layer {type(layer).__name__}. Expected {expected}. "
            f"Received: {argument}={received!r} (of type {type(received).__name__})"
        )


def check_positive_integer(layer: Layer, **arguments: Any) -> None:
    """Raises an error unless all arguments are integers above 0."""
    for name, value in arguments.items():
        check(layer, is_integer(value) and value > 0, name, "a positive integer", value)


def check_rate(layer: Layer, **arguments: Any) -> None:
    """Raises an error unless all arguments are numbers from 0 to 1."""
    for name, value in arguments.items():
        is_number = isinstance(value, (int, float, np.integer, np.floating))
        check(layer, is_number and 0 <= float(value) <= 1, name, "a number from 0 to 1", value)


def check_absent(layer: Layer, **arguments: Any) -> None:
    """Raises an error unless arguments of Keras that tfkit does not have are `None`."""
    for name, value in arguments.items():
        check(layer, value is None, name, "None: tfkit does not have this option", value)


def is_integer(value: Any) -> bool:
    """Whether `value` is one integer, in an array or a tensor too, but not a boolean."""
    try:
        operator.index(value)
    except (AttributeError, TypeError):  # The former for a tensor of floats.
        return False
    return not isinstance(value, bool)


def standardize_pair(layer: Layer, argument: str, value: Any, minimum: int = 1) -> tuple[int, int]:
    """Returns two integers, from one or from two.

    Args:
        layer: the layer, for the message.
        argument: name of the argument.
        value: an integer, which is used for both, or a sequence of two.
        minimum: the smallest that is accepted.
    """
    pair = (value, value) if is_integer(value) else value
    holds = (
        isinstance(pair, (list, tuple))
        and len(pair) == 2
        and all(is_integer(item) and item >= minimum for item in pair)
    )
    check(layer, holds, argument, f"an integer or two, each at least {minimum}", value)
    return (pair[0], pair[1])


def check_axes(layer: Layer, axes: Sequence[int], input_shape: Any) -> None:
    """Raises an error for axes that inputs of this shape do not have.

    Raises:
        AxisError: NumPy's, which is both an `IndexError`, as in Keras, and a `ValueError`.
    """
    rank = len(input_shape)
    for axis in axes:
        if not -rank <= axis < rank:
            raise np.exceptions.AxisError(
                f"Layer {layer._tfkit.title} works along axis={axis}, which its input does not have. "
                f"Expected an input of more axes, or an axis from {-rank} to {rank - 1}. Received: an input "
                f"of shape {tuple(input_shape)}"
            )


def as_floats(layer: Layer, inputs: Any) -> Any:
    """Returns `inputs`, with integers and booleans cast to the layer's compute dtype.

    Raises:
        ValueError: for strings.
    """
    if inputs.dtype.is_floating or inputs.dtype.is_complex:
        return inputs
    if inputs.dtype == tf.string:
        raise ValueError(
            f"Layer {layer._tfkit.title} computes with numbers. Expected a float tensor. Received: a string "
            f"tensor of shape {tuple(inputs.shape)}. Turn strings into numbers first."
        )
    return tf.cast(inputs, layer.compute_dtype)


def check_floats(layer: Layer, inputs: Any) -> None:
    """Raises an error for inputs that are not floats, for layers that scale them or add noise.

    Raises:
        ValueError: that names the layer and the dtype.
    """
    if not inputs.dtype.is_floating:
        raise ValueError(
            f"Layer {layer._tfkit.title} draws floats while it trains. Expected inputs of a float dtype. "
            f"Received: {inputs.dtype.name}. Cast them: `ops.cast(x, 'float32')`."
        )
