"""Tensors, shapes, loops and branches of PyTorch, for the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch._guards import detect_fake_mode
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils._python_dispatch import _disable_current_modes  # Private, seen in PyTorch 2.13.

from tfkit.src.export.convert import host
from tfkit.src.export.convert.interpreter import Body, Gradient, Values
from tfkit.src.export.convert.pytorch.dtypes import fresh, tensor_of
from tfkit.src.export.convert.pytorch.table import FORMULAS


class Pytorch:
    """PyTorch, for the interpreter.

    Args:
        device: the device of constants.
    """

    name = "PyTorch"
    formulas: Mapping[str, Callable[..., Any]] = FORMULAS

    def __init__(self, device: Any) -> None:
        self._device = device
        self._constants: dict[Any, torch.Tensor] = {}

    def array(self, value: np.ndarray) -> torch.Tensor:
        """Returns a known value as a tensor, the same one each time."""
        if value.dtype == object:
            return tensor_of(value, self._device)
        if detect_fake_mode() is not None:
            # In a trace by PyTorch, a constant is an operation of it.
            return fresh(value, self._device)
        # A small one by content, since it may result from others; a large one stays in the graph.
        content = value.tobytes() if host.is_small(value) else id(value)
        key = content, value.shape, value.dtype.name
        if key not in self._constants:
            with _disable_current_modes():  # Made before the graph that uses it, and not by it.
                self._constants[key] = tensor_of(value, self._device)
        return self._constants[key]

    def shape(self, value: torch.Tensor) -> Sequence[Any]:
        """Returns the sizes of a tensor."""
        return value.shape

    def numbers(self, value: torch.Tensor) -> Any:
        """Returns the content of a tensor; while a graph is made, this fails."""
        return value.tolist()

    def extreme(self, kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the larger or the smaller of sizes, some of which are symbols."""
        choose = torch.sym_max if kind == "Maximum" else torch.sym_min
        return np.asarray(np.frompyfunc(choose, 2, 1)(x, y), object)

    def assigned(self, old: torch.Tensor, new: torch.Tensor, trained: bool) -> torch.Tensor:
        """Returns what is read after an assignment: `new`, with the gradient of `old`."""
        new = new.detach()
        return new + (old - old.detach()) if old.requires_grad else new

    def with_gradient(self, values: Values, kept: Values, gradient: Gradient) -> Values:
        """Returns the values, with a written-out gradient."""
        if torch.compiler.is_exporting() or not torch.is_grad_enabled():
            return values
        if get_proxy_mode() is not None and not torch.compiler.is_compiling():
            # A graph that is recorded below autograd has no place for it.
            raise RuntimeError("a gradient is a function of its own")
        results = _Same.apply(gradient, len(values), *values, *kept)
        return list(results)

    def loop(self, test: Body, body: Body, values: Values, steps: int | None) -> Values:
        """Returns the values after a loop; a loop of known length is unrolled in a graph."""
        while bool(test(values)[0]):
            values = body(values)
        return values

    def branch(self, index: torch.Tensor, branches: list[Body], values: Values) -> Values:
        """Returns the results of one of several functions."""
        place = int(index)
        return branches[place if 0 <= place < len(branches) else -1](values)


class _Same(torch.autograd.Function):
    """Values, with a gradient that is a function."""

    @staticmethod
    def forward(context: Any, gradient: Gradient, count: int, *tensors: Any) -> Any:
        """Returns the values; keeps what the gradient needs."""
        context.gradient, context.count = gradient, count
        context.save_for_backward(*tensors)
        return tuple(it.view_as(it) for it in tensors[:count])

    @staticmethod
    def backward(context: Any, *upstream: Any) -> Any:
        """Returns a gradient for each argument, or `None`."""
        tensors, count = context.saved_tensors, context.count
        given = [
            torch.zeros_like(it) if g is None else g
            for it, g in zip(tensors[:count], upstream, strict=True)
        ]
        found = context.gradient(list(tensors[count:]), given)
        found = [
            it if x.is_floating_point() else None for it, x in zip(found, tensors, strict=False)
        ]
        return (None, None, *found, *[None] * (len(tensors) - count))
