"""Convolutions in one, two and three dimensions.

TensorFlow's CPU kernels support images with channels last only, so channels-first images are transposed
before and after the operation; a compiler removes the transpositions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.settings import standardize_data_format
from tfkit.src.engine.tensorflow_faults import without_empty_outputs
from tfkit.src.ops import convolution_gradients, transposed_convolution
from tfkit.src.ops.promotion import as_tensor
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import is_described, symbolic_op


def channels_last(inputs: Any, data_format: str | None, function: Callable[[Any], Any]) -> Any:
    """Returns `function` of images with channels last, whatever their layout is."""
    if standardize_data_format(data_format) == "channels_last":
        return function(inputs)
    ndim = inputs.shape.rank
    outputs = function(tf.transpose(inputs, [0, *range(2, ndim), 1]))
    return tf.transpose(outputs, [0, ndim - 1, *range(1, ndim - 1)])


def layout(images: Any) -> str:
    """Returns TensorFlow's name for channels last; without it the gradients of 3D kernels fail."""
    return {3: "NWC", 4: "NHWC", 5: "NDHWC"}[images.shape.rank]


def per_axis(name: str, value: Any, num_axes: int) -> list[int]:
    """Returns one number for each of the spatial axes.

    Raises:
        ValueError: for a different number of values.
    """
    if isinstance(value, int) or np.ndim(value) == 0:
        return [value] * num_axes
    values = list(value)
    if len(values) != num_axes:
        raise ValueError(
            f"`{name}` must be one integer, or one for each of the {num_axes} spatial axes. "
            f"Received: {name}={value!r}"
        )
    return values


def _check_padding(padding: str) -> str:
    if padding.lower() not in ("valid", "same"):
        raise ValueError(f"`padding` must be 'valid' or 'same'. Received: padding={padding!r}")
    return padding.upper()


def over_windows(
    what: str,
    function: Callable[[tf.Tensor], tf.Tensor],
    images: tf.Tensor,
    windows: Sequence[int],
    padding: str,
    *,
    shown: str = "",
    always: bool = False,
) -> tf.Tensor:
    """Returns `function(images)`, where `function` slides windows over images with channels last.

    Args:
        what: the name of the operation, for an error.
        function: it works row by row.
        images: `(batch, *sizes, channels)`.
        windows: sizes from end to end.
        padding: `"VALID"` or `"SAME"`.
        shown: text that the error shows after the shape of the inputs.
        always: the argument of `without_empty_outputs`.

    Raises:
        ValueError: if the output would be empty.
    """
    if padding == "SAME" and not is_described():
        return without_empty_outputs(function, images, always=always)
    sizes = images.shape[1:-1]
    if len(sizes) != len(windows):
        raise ValueError(
            f"The {what} needs inputs with {len(windows) + 2} axes, (batch, ..., channels). "
            f"Received: inputs.shape={images.shape}{shown}"
        )
    if padding != "SAME" and any(
        size and size < window for size, window in zip(sizes, windows, strict=True)
    ):
        raise ValueError(
            f"The output of the {what} would be empty: its window of {_by(windows)} does not fit into inputs "
            f"of {_by(sizes)}. Pass `padding='same'`, a smaller window or larger inputs. "
            f"Received: inputs.shape={images.shape}{shown}"
        )
    if is_described():  # Nothing is computed: `function` gives the shapes.
        return function(images)
    return without_empty_outputs(function, images, windows, always=always)


def _by(sizes: Any) -> str:
    """Returns sizes as `5 by 5`; unknown ones as a question mark."""
    return " by ".join("?" if size is None else str(size) for size in sizes)


def _over_kernel(
    what: str,
    function: Any,
    images: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    *,
    dilations: Any,
    always: bool,
) -> tf.Tensor:
    """Returns `over_windows` for a kernel `(*sizes, channels, filters)`."""
    sizes = kernel.shape[:-2]
    rates = per_axis("dilation_rate", dilations, len(sizes))
    steps = per_axis("strides", strides, len(sizes))
    # The extent of a dilated window, which must fit into the images.
    windows = [(size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True)]
    shown = f", kernel.shape={kernel.shape}"
    outputs = over_windows(what, function, images, windows, padding, shown=shown, always=always)
    # With dilation, one unknown size makes all sizes unknown to TensorFlow.
    if None in outputs.shape[1:-1]:
        lost = [0 if padding == "SAME" else window - 1 for window in windows]
        axes = zip(images.shape[1:-1], lost, steps, strict=True)
        known = [n and max(-(-(n - less) // step), 0) for n, less, step in axes]
        outputs.set_shape([None, *known, None])
    return outputs


@symbolic_op
def conv(
    inputs: Any,
    kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> tf.Tensor:
    """Returns a convolution in one, two or three dimensions, without a bias.

    Each output is the sum of products of the kernel and the window of the inputs under it; the
    kernel is not reversed.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`. Their
            dtype is a float one or int32.
        kernel: a tensor of shape `(*sizes, channels / groups, filters)`. If it has fewer channels
            than the inputs, they are split into groups, each with its share of the filters.
        strides: step of the window, one number or one for each spatial axis. Default: `1`.
        padding: `"valid"` (no border) or `"same"` (a border of zeros, so that the output size is
            `ceil(input size / stride)`). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.
        dilation_rate: distance between the points of the kernel, one number or one for each
            spatial axis. Default: `1`.

    Returns:
        A tensor of shape `(batch, *new sizes, filters)`, or with channels second, of the dtype of
        `inputs`.

    Raises:
        ValueError: when channels and filters do not divide into groups, the window is larger than
            the inputs, or `padding` is anything else.

    Example:
        >>> signal = tf.reshape(tf.range(5.0), (1, 5, 1))
        >>> ops.conv(signal, tf.ones((2, 1, 1))).numpy().ravel().tolist()
        [1.0, 3.0, 5.0, 7.0]
        >>> ops.conv(tf.ones((1, 8, 8, 3)), tf.ones((3, 3, 3, 6)), strides=2, padding="same").shape
        TensorShape([1, 4, 4, 6])
    """
    kernel = as_tensor(kernel)
    return channels_last(
        as_tensor(inputs),
        data_format,
        lambda x: convolve(x, kernel, strides, padding, dilation_rate),
    )


def convolve(
    images: Any, kernel: Any, strides: Any, padding: str, dilations: Any, bias: Any = None
) -> tf.Tensor:
    """Returns `conv` of images with channels last, plus `bias`: TensorFlow adds it during the convolution."""
    channels, kernel_channels, filters = images.shape[-1], kernel.shape[-2], kernel.shape[-1]
    if channels is not None and (
        channels % kernel_channels or (filters or 0) % (channels // kernel_channels)
    ):
        raise ValueError(
            "The number of input channels must match the kernel's, or both these and the filters must divide "
            f"into groups of the kernel's. Received: inputs.shape={images.shape}, kernel.shape={kernel.shape}"
        )
    padding = _check_padding(padding)
    groups = 1 if channels is None else channels // kernel_channels

    # Each channel separately, as in ConvNeXt. The kernel has no form for volumes and integers.
    is_depthwise = (
        kernel_channels == 1 < groups and images.shape.rank < 5 and kernel.dtype.is_floating
    )

    def biased(x: Any) -> Any:
        if is_depthwise:
            steps = per_axis("strides", strides, x.shape.rank - 2)
            rates = per_axis("dilation_rate", dilations, x.shape.rank - 2)
            filters = tf.reshape(kernel, [*kernel.shape[:-2], groups, kernel.shape[-1] // groups])
            y = _depthwise(x, filters, steps, padding, dilations=rates)
        else:
            y = _in_groups(x, kernel, groups, strides, padding, dilations=dilations)
        return y if bias is None else tf.nn.bias_add(y, bias)

    return _over_kernel(
        "convolution",
        biased,
        images,
        kernel,
        strides,
        padding,
        dilations=dilations,
        always=is_depthwise,
    )


def _in_groups(
    x: Any, kernel: Any, groups: int, strides: Any, padding: str, dilations: Any
) -> tf.Tensor:
    """Returns a convolution group by group: TensorFlow's own has no gradient on CPU, or is missing."""
    if groups == 1:
        return _convolve(x, kernel, strides, padding, dilations=dilations)
    parts = zip(tf.split(x, groups, -1), tf.split(kernel, groups, -1), strict=True)
    outputs = [_convolve(part, own, strides, padding, dilations=dilations) for part, own in parts]
    return tf.concat(outputs, -1)


def _convolve(x: Any, kernel: Any, strides: Any, padding: str, dilations: Any) -> tf.Tensor:
    """Returns a convolution of images with channels last."""
    if convolution_gradients.applies(x, kernel, strides, dilations):
        return convolution_gradients.convolve(x, kernel, padding)
    num_axes = x.shape.rank - 2
    steps = per_axis("strides", strides, num_axes)
    rates = per_axis("dilation_rate", dilations, num_axes)
    if max(steps) > 1 and max(rates) > 1:
        x = _padded(x, kernel, steps, rates) if padding == "SAME" else x
        # Strides with dilation: computed everywhere, then picked. It is rare enough to waste work
        # on.
        return _picked(tf.nn.convolution(x, kernel, 1, "VALID", layout(x), rates), steps)
    return tf.nn.convolution(x, kernel, strides, padding, layout(x), dilations)


def _depthwise(
    x: Any, kernel: Any, strides: list[int], padding: str, dilations: list[int]
) -> tf.Tensor:
    """Returns a depthwise convolution of images with channels last, in one or two dimensions."""
    if x.shape.rank == 3:
        # The kernel requires equal strides; along the axis of size 1 they make no difference.
        outputs = _depthwise(x[:, None], kernel[None], strides * 2, padding, [1, *dilations])
        return tf.squeeze(outputs, [1])
    if strides[0] != strides[1] or (max(dilations) > 1 and max(strides) > 1):
        x = _padded(x, kernel, strides, dilations) if padding == "SAME" else x
        outputs = tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "VALID", dilations=dilations)
        return _picked(outputs, strides)
    return tf.nn.depthwise_conv2d(x, kernel, [1, *strides, 1], padding, dilations=dilations)


def _padded(x: Any, kernel: Any, strides: list[int], dilations: list[int]) -> tf.Tensor:
    """Returns `x` with the border of padding "same"."""
    borders: list[Any] = [[0, 0]]
    sizes = static_or_dynamic_shape(x)[1:-1]
    for size, k, s, d in zip(sizes, kernel.shape[:-2], strides, dilations, strict=True):
        # TensorFlow's definition of "same": ceil(size / stride) outputs, and the odd zero at the
        # end.
        needed = tf.maximum((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        borders.append([needed // 2, needed - needed // 2])
    return tf.pad(x, [*borders, [0, 0]])


def _picked(outputs: Any, strides: list[int]) -> tf.Tensor:
    """Returns every output that the strides select: TensorFlow does not support some strides."""
    return outputs[(slice(None), *(slice(None, None, step) for step in strides))]


def _by_channel(
    what: str,
    inputs: Any,
    kernel: Any,
    *,
    strides: Any,
    padding: str,
    data_format: str | None,
    dilation_rate: Any,
    after: Callable[[tf.Tensor], tf.Tensor] = lambda outputs: outputs,
) -> tf.Tensor:
    """Returns `after` of a depthwise convolution; `what` is its name, for an error."""
    inputs, kernel = as_tensor(inputs), as_tensor(kernel)
    num_axes = inputs.shape.rank - 2
    if num_axes not in (1, 2):
        raise ValueError(
            f"`inputs` must have 3 axes (1D) or 4 (2D). Received: inputs.shape={inputs.shape}"
        )
    axis = -1 if standardize_data_format(data_format) == "channels_last" else 1
    if inputs.shape[axis] is not None and inputs.shape[axis] != kernel.shape[-2]:
        raise ValueError(
            "The number of input channels must match the kernel's last axis but one. "
            f"Received: inputs.shape={inputs.shape}, kernel.shape={kernel.shape}"
        )
    strides = per_axis("strides", strides, num_axes)
    dilations = per_axis("dilation_rate", dilation_rate, num_axes)
    padding = _check_padding(padding)

    def convolve(x: Any) -> Any:
        return after(_depthwise(x, kernel, strides, padding, dilations=dilations))

    return channels_last(
        inputs,
        data_format,
        lambda x: _over_kernel(
            what,
            convolve,
            x,
            kernel,
            strides,
            padding,
            dilations=dilations,
            always=True,  # Its gradient.
        ),
    )


@symbolic_op
def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> tf.Tensor:
    """Returns a convolution of each channel on its own, in one or two dimensions, without a bias.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`.
        kernel: a tensor of shape `(*sizes, channels, multiplier)`: each channel has `multiplier`
            filters.
        strides: step of the window, one number or one for each spatial axis. Default: `1`.
        padding: `"valid"` (no border) or `"same"` (a border of zeros, so that the output size is
            `ceil(input size / stride)`). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.
        dilation_rate: distance between the points of the kernel, one number or one for each
            spatial axis. Default: `1`.

    Returns:
        A tensor of shape `(batch, *new sizes, channels * multiplier)`, or with channels second,
        of the dtype of `inputs`.

    Raises:
        ValueError: for inputs of a different rank, with other channels than the kernel, or smaller
            than the window.

    Example:
        >>> ops.depthwise_conv(tf.ones((1, 4, 4, 3)), tf.ones((2, 2, 3, 2))).shape
        TensorShape([1, 3, 3, 6])
    """
    return _by_channel(
        "depthwise convolution",
        inputs,
        kernel,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilation_rate=dilation_rate,
    )


@symbolic_op
def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> tf.Tensor:
    """Returns a depthwise convolution followed by one across the channels of each point.

    It has fewer weights than a full convolution:
    `sizes * channels * multiplier + channels * multiplier * filters`.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`. One
            or two spatial axes.
        depthwise_kernel: a tensor of shape `(*sizes, channels, multiplier)`.
        pointwise_kernel: a tensor of shape `(*ones, channels * multiplier, filters)`.
        strides: step of the window, one number or one for each spatial axis. Default: `1`.
        padding: `"valid"` (no border) or `"same"` (a border of zeros, so that the output size is
            `ceil(input size / stride)`). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.
        dilation_rate: distance between the points of the depthwise kernel, one number or one for
            each spatial axis. Default: `1`.

    Returns:
        A tensor of shape `(batch, *new sizes, filters)`, or with channels second, of the dtype of
        `inputs`.

    Raises:
        ValueError: for inputs of a different rank, with other channels than the kernel, or smaller
            than the window.

    Reference:
        Chollet, "Xception: deep learning with depthwise separable convolutions", 2017.

    Example:
        >>> depthwise, pointwise = tf.ones((2, 2, 3, 2)), tf.ones((1, 1, 6, 5))
        >>> ops.separable_conv(tf.ones((1, 4, 4, 3)), depthwise, pointwise).shape
        TensorShape([1, 3, 3, 5])
    """
    pointwise_kernel = as_tensor(pointwise_kernel)
    return _by_channel(
        "separable convolution",
        inputs,
        depthwise_kernel,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilation_rate=dilation_rate,
        after=lambda x: _convolve(
            x, pointwise_kernel, 1, "VALID", 1
        ),  # 1 by 1: a product over channels
    )


@symbolic_op
def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    output_padding: int | Sequence[int] | None = None,
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> tf.Tensor:
    """Returns the transpose of a convolution (also called deconvolution), without a bias.

    It maps outputs of the convolution of the same arguments to the shape of its inputs: a stride
    makes sizes larger.

    Args:
        inputs: images of shape `(batch, *sizes, channels)`, or `(batch, channels, *sizes)`.
        kernel: a tensor of shape `(*sizes, filters, channels)`.
        strides: step of the convolution, one number or one for each spatial axis. Default: `1`.
        padding: `"valid"` (new size `size * stride + max(kernel size - stride, 0)`) or `"same"`
            (`size * stride`). Default: `"valid"`.
        output_padding: the number to add to the smallest size that such a convolution would map to the
            size of the inputs, one number or one for each spatial axis; `None` for the sizes
            above.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.
        dilation_rate: distance between the points of the kernel, one number or one for each
            spatial axis. Default: `1`.

    Returns:
        A tensor of shape `(batch, *new sizes, filters)`, or with channels second, of the dtype of
        `inputs`.

    Raises:
        ValueError: when inputs and kernel differ in their numbers of channels, or `padding` is
            anything else.

    Reference:
        Dumoulin & Visin, "A guide to convolution arithmetic for deep learning", 2016.

    Example:
        >>> signal = tf.reshape(tf.range(3.0), (1, 3, 1))
        >>> ops.conv_transpose(signal, tf.ones((2, 1, 1)), strides=2).numpy().ravel().tolist()
        [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
        >>> ops.conv_transpose(tf.ones((1, 4, 4, 6)), tf.ones((3, 3, 3, 6)), 2, "same").shape
        TensorShape([1, 8, 8, 3])
    """
    inputs, kernel = as_tensor(inputs), as_tensor(kernel)
    axis = -1 if standardize_data_format(data_format) == "channels_last" else 1
    if inputs.shape[axis] is not None and inputs.shape[axis] != kernel.shape[-1]:
        raise ValueError(
            "The number of input channels must match the kernel's last axis. "
            f"Received: inputs.shape={inputs.shape}, kernel.shape={kernel.shape}"
        )
    num_axes = inputs.shape.rank - 2
    spans = transposed_convolution.spans(
        kernel.shape[:-2],
        per_axis("strides", strides, num_axes),
        per_axis("dilation_rate", dilation_rate, num_axes),
        [None] * num_axes
        if output_padding is None
        else per_axis("output_padding", output_padding, num_axes),
        _check_padding(padding),
    )
    return channels_last(
        inputs, data_format, lambda x: transposed_convolution.convolve(x, kernel, spans)
    )
