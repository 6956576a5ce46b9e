"""Formulas in PyTorch for several operations of TensorFlow at once (`export/convert/patterns.py`)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tfkit.src.export.convert.pytorch import lists


def linear(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """Returns `x @ kernel + bias`, for matrices in one operation."""
    if bias.ndim <= 2 and bias.dtype == x.dtype and _broadcasts(bias, x.shape[0], kernel.shape[1]):
        return torch.addmm(bias, x, kernel)
    return x @ kernel + bias


def _broadcasts(bias: Tensor, rows: Any, columns: Any) -> bool:
    """Whether a sum with a matrix has the form of that matrix."""
    sizes = (1, 1, *bias.shape)[-2:]
    return sizes[0] in (1, rows) and sizes[1] in (1, columns)


def reshaped_linear(x: Tensor, kernel: Tensor, shape: list[Any], bias: Tensor) -> Tensor:
    """Returns a product of matrices in a different shape, plus a bias along its last axis."""
    if bias.shape[0] == kernel.shape[1]:
        return torch.addmm(bias, x, kernel).reshape(shape)
    return (x @ kernel).reshape(shape) + bias


def gelu(x: Tensor, *, approximate: bool) -> Tensor:
    """Returns the Gaussian error linear unit."""
    return F.gelu(x, approximate="tanh" if approximate else "none")


def normalization(x: Tensor, axis: Any, *, epsilon: float) -> Tensor:
    """Returns `x` with mean 0 and variance 1 along axes."""
    axes = sorted(each % x.ndim for each in (axis if isinstance(axis, list) else [axis]))
    # `layer_norm` normalizes over the last axes.
    if axes == list(range(x.ndim - len(axes), x.ndim)):
        return F.layer_norm(x, x.shape[-len(axes) :], eps=epsilon)
    centered = x - x.mean(axes, keepdim=True)
    return centered * torch.rsqrt(centered.square().mean(axes, keepdim=True) + epsilon)


def scaled_normalization(
    x: Tensor, axis: Any, gamma: Tensor, beta: Tensor, *, epsilon: float
) -> Tensor:
    """Returns `x` with mean 0 and variance 1 along axes, scaled and shifted along the last one."""
    axes = axis if isinstance(axis, list) else [axis]
    if [each % x.ndim for each in axes] == [x.ndim - 1] and gamma.shape == x.shape[-1:]:
        return F.layer_norm(x, gamma.shape, gamma, beta, epsilon)
    return normalization(x, axis, epsilon=epsilon) * gamma + beta


def lstm(
    x: Tensor,
    kernel: Tensor,
    recurrent_kernel: Tensor,
    bias: Tensor,
    h: Tensor,
    c: Tensor,
    *,
    num_steps: int | None,
) -> list[Any]:
    """Returns the last output and memory of an LSTM, and the list of all outputs.

    PyTorch orders the gates like Keras, and adds two biases.

    Args:
        x: `(steps, batch, input_dim)`.
        kernel: `(input_dim, 4 * units)`.
        recurrent_kernel: `(units, 4 * units)`.
        bias: `(4 * units,)`.
        h: `(batch, units)`, the first output.
        c: `(batch, units)`, the first memory.
        num_steps: the number of steps; `None` if it varies.
    """
    if x.ndim != 3 or num_steps not in (None, x.shape[0]):
        raise ValueError(f"An LSTM of {num_steps} steps has inputs of shape {tuple(x.shape)}")
    # PyTorch has a bias for inputs and one for states; gates are in the same order as in Keras.
    weights = [kernel.T, recurrent_kernel.T, bias, torch.zeros_like(bias)]
    outputs, h, c = torch.lstm(
        x, (h[None], c[None]), weights, True, 1, 0.0, torch.is_grad_enabled(), False, False
    )
    return [h[0], c[0], lists.from_tensor(outputs, None)]
