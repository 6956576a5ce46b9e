"""Equations and shapes of layers, which libraries compute with functions of Keras's sources."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.layers import attention_projection, multi_head_attention
from tfkit.src.layers.einsum_dense import EinsumDense
from tfkit.src.ops import convolution
from tfkit.src.symbolic.tensors import KerasTensor, trace


def _build_proj_equation(free_dims: int, bound_dims: int, output_dims: int) -> tuple[str, str, int]:
    """Returns the equation of a projection in an attention layer, the axes of its bias, and its rank.

    Args:
        free_dims: number of axes that stay, the batch among them.
        bound_dims: number of axes that are summed over.
        output_dims: number of axes that are made.
    """
    equation = attention_projection.projection_equation(free_dims, bound_dims, output_dims)
    outputs = equation.split("->")[1]
    return equation, outputs[free_dims:], len(outputs)


def _build_attention_equation(rank: int, attn_axes: Any) -> tuple[str, str, int]:
    """Returns the equations of scores and of means in an attention layer, and the rank of the scores.

    Args:
        rank: number of axes of the projected queries.
        attn_axes: the axes over which to attend.
    """
    scores, means = multi_head_attention.attention_equations(rank, tuple(attn_axes))
    return scores, means, len(scores.split("->")[1])


def _analyze_einsum_string(
    equation: str, bias_axes: str | None, input_shape: Any, output_shape: Any
) -> tuple[list[int], list[int] | None, list[int | None], list[int], list[int]]:
    """Returns the shapes of an `EinsumDense` layer: of its kernel, its bias and its outputs.

    Returns:
        Also the axes of the kernel that are summed over, and those that the outputs have.

    Raises:
        ValueError: if equation and shapes do not fit together.
    """
    layer = EinsumDense(equation, output_shape, bias_axes=bias_axes)
    sizes, kernel, outputs, num_after = layer._sizes(tuple(input_shape))
    bias = None
    if bias_axes is not None:
        first = min(outputs.index(letter) for letter in bias_axes)
        bias = [sizes[it] if it in bias_axes else 1 for it in outputs[first:]] + [1] * num_after
    summed = [axis for axis, letter in enumerate(kernel) if letter not in outputs]
    made = [axis for axis, letter in enumerate(kernel) if letter in outputs]
    full = list(layer.compute_output_shape(input_shape))
    return [sizes[letter] for letter in kernel], bias, full, summed, made


def _analyze_quantization_info(equation: str, input_shape: Any) -> tuple[Any, ...]:
    """Returns how scales of the inputs and the kernel of an `EinsumDense` layer apply to its outputs.

    A scale has size 1 along the axes that are summed over. It is transposed, gets axes of size 1, and loses
    others, after which it broadcasts with the outputs.

    Returns:
        The summed axes of inputs and kernel, the transpositions of inputs and kernel, the axes that are
        added to each, those that are removed from each, the equation of the gradient of the inputs, and the
        inverse of the transposition of the kernel.
    """
    inputs, rest = equation.split(",")
    kernel, outputs = rest.split("->")
    count = len(input_shape) - len(inputs.replace("...", ""))
    dots = "".join(chr(ord("A") + index) for index in reversed(range(count)))
    inputs, outputs = inputs.replace("...", dots), outputs.replace("...", dots)
    aligned = [_alignment(letters, outputs) for letters in (inputs, kernel)]
    summed, transposed, added, removed = zip(*aligned, strict=True)
    inverse = [transposed[1].index(axis) for axis in range(len(kernel))]
    gradient = f"{outputs},{kernel}->{inputs}"
    return (*summed, *transposed, *added, *removed, gradient, inverse)


def _alignment(letters: str, outputs: str) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns the summed axes of an operand, its transposition, and the axes to add and to remove then."""
    summed = [axis for axis, letter in enumerate(letters) if letter not in outputs]
    left = list(summed)
    order: list[int] = []
    added: list[int] = []
    for axis, letter in enumerate(outputs):
        if letter in letters:
            order.append(letters.index(letter))
        elif left:
            order.append(left.pop(0))
        else:
            added.append(axis)
    removed = list(range(len(outputs), len(outputs) + len(left)))
    return summed, order + left, added, removed


def compute_conv_output_shape(
    input_shape: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = 1,
) -> tuple[int | None, ...]:
    """Returns the shape of the outputs of a convolution.

    Args:
        input_shape: shape of the inputs, with the batch.
        filters: number of output channels.
        kernel_size: size of the window on each axis.
        strides: steps between windows.
        padding: `"valid"`, `"same"` or `"causal"`.
        data_format: `"channels_last"` or `"channels_first"`.
        dilation_rate: distances within a window.
    """
    shape = list(input_shape)
    channels = 1 if data_format == "channels_first" else len(shape) - 1
    if padding == "causal":
        axis = 2 if channels == 1 else 1
        dilation = dilation_rate if isinstance(dilation_rate, int) else dilation_rate[0]
        if shape[axis] is not None:
            shape[axis] += (kernel_size[0] - 1) * dilation
        padding = "valid"
    shape[channels] = 1
    options = (strides, padding, data_format, dilation_rate)
    kernel = tf.zeros((*kernel_size, 1, filters))
    return tuple(trace(convolution.conv, (KerasTensor(shape), kernel, *options), {}).shape)
