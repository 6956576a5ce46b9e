"""The modules and functions of a framework that formulas for both, JAX and PyTorch, use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Formula = Callable[..., Any]


class Kit(NamedTuple):
    """Modules of a framework, and functions that the frameworks call differently.

    Args:
        np: the module with the functions of NumPy: `jax.numpy` or `torch`.
        nn: the module with activation functions.
        special: the module with Bessel's and other special functions.
        array: returns an array for one of NumPy, on the device of another array.
        arange: returns the integers below a number, on the device of an array.
        zeros: returns zeros of a shape, with the dtype and device of an array.
        cast: returns an array in a dtype, which may be a name.
        pad: returns an array with zeros around it, as many as a pair for each axis says.
        rsqrt: of each element.
        with_diagonal: returns matrices with other values on the diagonal of a number.
        stop: returns an array without its gradient.
        has_slope: whether a gradient of an array may be asked for.
        pull: returns the gradients of a function for its arguments, from the gradient of its result.
        philox: the module that draws TensorFlow's random numbers.
    """

    np: Any
    nn: Any
    special: Any
    array: Formula
    arange: Formula
    zeros: Formula
    cast: Formula
    pad: Formula
    rsqrt: Formula
    with_diagonal: Formula
    stop: Formula
    has_slope: Formula
    pull: Callable[..., tuple[Any, ...]]
    philox: Any
