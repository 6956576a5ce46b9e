"""Marks hand-written gradients that equal the derivative of what is computed, and are there for speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MARK = "is_derivative"
# TensorFlow's own gradients that are derivatives, by the start of their qualified names (seen in 2.21). They
# are local functions, so no object can be compared.
_OF_TENSORFLOW = ("swish.<locals>", "recompute_grad.<locals>", "ctc_loss_dense.<locals>")


def derivative(gradient: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the gradient of a `tf.custom_gradient` as the derivative of what the function computes.

    A conversion leaves such a gradient out, and differentiates what is computed. A gradient without the mark
    may be any other function, such as a straight-through gradient, and is converted itself or refused.
    """
    setattr(gradient, _MARK, True)
    return gradient


def is_derivative(gradient: Any) -> bool:
    """Whether a gradient is marked, or one of TensorFlow's that is known to be a derivative."""
    module = getattr(gradient, "__module__", None) or ""
    name = getattr(gradient, "__qualname__", "")
    known = module.startswith("tensorflow.python.ops.") and name.startswith(_OF_TENSORFLOW)
    return known or getattr(gradient, _MARK, False) is True
