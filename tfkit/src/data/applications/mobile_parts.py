"""The parts that networks for small devices share: their widths, paddings and convolutions."""

from __future__ import annotations

from tfkit.src.data.applications.input_shape import channel_axis, rows_and_columns
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.depthwise_convolution import DepthwiseConv2D
from tfkit.src.layers.resizing import ZeroPadding2D
from tfkit.src.symbolic.tensors import KerasTensor


def divisible(channels: float) -> int:
    """Returns the nearest multiple of 8, at least 8, that is at least 0.9 times `channels`."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def padding_for_stride(x: KerasTensor, kernel_size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns the padding with which a convolution with stride 2 sees the same pixels as in Caffe.

    A side of even or unknown length gets one pixel less at its start.

    Args:
        x: a batch of images.
        kernel_size: rows and columns of the kernel, an odd number.
    """
    half = kernel_size // 2
    rows, columns = (
        (half if size is not None and size % 2 else half - 1, half)
        for size in rows_and_columns(x.shape[1:])
    )
    return rows, columns


def filtered(x: KerasTensor, kernel_size: int, strides: int, name: str, pad: str) -> KerasTensor:
    """Returns a convolution of each channel alone, with `padding_for_stride` if the stride is 2.

    Args:
        x: a batch of images.
        kernel_size: rows and columns of the kernel, an odd number.
        strides: 1 or 2.
        name: of the convolution.
        pad: name of the layer that pads.
    """
    padding = "same"
    if strides == 2:
        padding = "valid"
        x = ZeroPadding2D(padding_for_stride(x, kernel_size), name=pad)(x)
    layer = DepthwiseConv2D(kernel_size, strides, padding, use_bias=False, name=name)
    return layer(x)


def pointwise(x: KerasTensor, filters: int, name: str) -> KerasTensor:
    """Returns a convolution of each pixel alone."""
    return Conv2D(filters, 1, padding="same", use_bias=False, name=name)(x)


def normalized(x: KerasTensor, name: str) -> KerasTensor:
    """Returns `x`, normalized over batches."""
    axis = channel_axis(last=-1)
    return BatchNormalization(axis=axis, epsilon=1e-3, momentum=0.999, name=name)(x)
