"""Rearrangements of images: patches to columns and back, blocks to channels, axes by name."""

from __future__ import annotations

import math
import re
from typing import Any

import tensorflow as tf

from tfkit.src.engine.tensorflow_faults import with_some_row
from tfkit.src.ops.convolution import channels_last, per_axis
from tfkit.src.ops.promotion import as_tensor
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def unfold(
    x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> tf.Tensor:
    """Returns the patches of images as columns.

    Args:
        x: images of shape `(batch, channels, height, width)`.
        kernel_size: height and width of a patch, or one number for both.
        dilation: distance between the points of a patch, one number or two. Default: `1`.
        padding: width of a border of zeros above and below, left and right, one number or two.
            Default: `0`.
        stride: distance between patches, one number or two. Default: `1`.

    Returns:
        A tensor of shape `(batch, channels * kernel height * kernel width, patches)` and of the
        dtype of `x`. Patches follow each other row by row.

    Example:
        >>> x = tf.reshape(tf.range(9.0), (1, 1, 3, 3))
        >>> ops.unfold(x, 2)[0, :, 0].numpy().tolist()
        [0.0, 1.0, 3.0, 4.0]
    """
    x = as_tensor(x)
    kernel, rates = per_axis("kernel_size", kernel_size, 2), per_axis("dilation", dilation, 2)
    border, strides = per_axis("padding", padding, 2), per_axis("stride", stride, 2)

    def cut(x: tf.Tensor) -> tf.Tensor:
        x = tf.pad(x, [[0, 0], [0, 0], [border[0]] * 2, [border[1]] * 2])
        x = tf.transpose(x, [0, 2, 3, 1])
        patches = tf.image.extract_patches(
            x, [1, *kernel, 1], [1, *strides, 1], [1, *rates, 1], "VALID"
        )
        batch, rows, columns, _ = static_or_dynamic_shape(patches)
        channels = x.shape[-1]
        patches = tf.reshape(patches, [batch, rows * columns, kernel[0] * kernel[1], channels])
        by_channel = tf.transpose(patches, [0, 3, 2, 1])  # (batch, channels, kernel, positions)
        return tf.reshape(by_channel, [batch, channels * kernel[0] * kernel[1], rows * columns])

    return with_some_row(cut, x)


@symbolic_op
def fold(
    x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> tf.Tensor:
    """Returns the images whose patches are the columns of `x`, added up where patches overlap.

    It is the transpose of `unfold`, and its inverse where patches do not overlap.

    Args:
        x: a tensor of shape `(batch, channels * kernel height * kernel width, patches)`.
        output_size: height and width of the images, or one number for both.
        kernel_size: height and width of a patch, or one number for both.
        dilation: distance between the points of a patch, one number or two. Default: `1`.
        padding: width of the border of zeros that `unfold` added around the images, one number or
            two. Default: `0`.
        stride: distance between patches, one number or two. Default: `1`.

    Returns:
        A tensor of shape `(batch, channels, *output_size)` and of the dtype of `x`.

    Raises:
        ValueError: when `x` does not have 3 axes, or the second is not a multiple of the size of the
            kernel.

    Example:
        >>> ops.fold(tf.ones((1, 4, 4)), 3, 2)[0, 0].numpy().tolist()
        [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    x = as_tensor(x)
    sizes = per_axis("output_size", output_size, 2)
    kernel = per_axis("kernel_size", kernel_size, 2)
    if x.shape.rank != 3:
        raise ValueError(f"`x` must be a 3D tensor. Received: x.shape={x.shape}")
    if x.shape[1] % (kernel[0] * kernel[1]):
        raise ValueError(
            "The second axis of `x` must be divisible by the size of the kernel, "
            f"{kernel[0] * kernel[1]}. Received: x.shape={x.shape}, kernel_size={kernel_size}"
        )
    options = {"dilation": dilation, "padding": padding, "stride": stride}
    channels = x.shape[1] // (kernel[0] * kernel[1])
    batch = static_or_dynamic_shape(x)[0]
    values = x if x.dtype.is_floating else tf.cast(x, tf.float64)
    # Folding is the transpose of unfolding, which is what a gradient computes; integers have none.
    with tf.GradientTape() as tape:
        images = tf.zeros([batch, channels, *sizes], values.dtype)
        tape.watch(images)
        patches = unfold(images, kernel, **options)
    folded = tf.cast(tape.gradient(patches, images, output_gradients=values), x.dtype)
    return tf.ensure_shape(folded, [x.shape[0], channels, *sizes])


def _check_block_size(block_size: int) -> None:
    if block_size < 2:
        raise ValueError(f"`block_size` must be at least 2. Received: block_size={block_size}")


@symbolic_op
def space_to_depth(x: Any, block_size: int, data_format: str | None = "channels_last") -> tf.Tensor:
    """Returns images in which each block of pixels has become one pixel with more channels.

    Args:
        x: images of shape `(batch, height, width, channels)`, or with channels second; height and
            width must be multiples of `block_size`.
        block_size: height and width of a block, at least 2.
        data_format: `"channels_last"` or `"channels_first"`. Default: `"channels_last"`.

    Returns:
        A tensor of shape `(batch, height / block_size, width / block_size, channels *
        block_size**2)`, or with channels second, of the dtype of `x`.

    Raises:
        ValueError: for a block size below 2.

    Example:
        >>> x = tf.reshape(tf.range(4), (1, 2, 2, 1))
        >>> ops.space_to_depth(x, 2).numpy().tolist()
        [[[[0, 1, 2, 3]]]]
    """
    _check_block_size(block_size)
    return channels_last(as_tensor(x), data_format, lambda x: tf.nn.space_to_depth(x, block_size))


@symbolic_op
def depth_to_space(x: Any, block_size: int, data_format: str | None = "channels_last") -> tf.Tensor:
    """Returns images in which each pixel has become a block of pixels with fewer channels.

    It is the inverse of `space_to_depth`.

    Args:
        x: images of shape `(batch, height, width, channels)`, or with channels second; the
            channels must be a multiple of `block_size**2`.
        block_size: height and width of a block, at least 2.
        data_format: `"channels_last"` or `"channels_first"`. Default: `"channels_last"`.

    Returns:
        A tensor of shape `(batch, height * block_size, width * block_size, channels /
        block_size**2)`, or with channels second, of the dtype of `x`.

    Raises:
        ValueError: for a block size below 2.

    Example:
        >>> x = tf.reshape(tf.range(4), (1, 1, 1, 4))
        >>> ops.depth_to_space(x, 2)[0, ..., 0].numpy().tolist()
        [[0, 1], [2, 3]]
    """
    _check_block_size(block_size)
    return channels_last(as_tensor(x), data_format, lambda x: tf.nn.depth_to_space(x, block_size))


def _groups(pattern: str) -> list[list[str]]:
    """Returns the groups of a pattern: `"b (h w) c"` -> `[["b"], ["h", "w"], ["c"]]`."""
    return [re.findall(r"\w+", group) for group in re.findall(r"\w+|\([^)]*\)", pattern)]


@symbolic_op
def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> tf.Tensor:
    """Returns a tensor with axes reordered, split and joined by name.

    Args:
        tensor: a tensor of any shape.
        pattern: names of the axes before and after, as in `"b (h w) c -> b c h w"`. Names in
            brackets together are one axis.
        **axes_lengths: sizes of axes inside brackets on the left; one in a bracket may be left
            out.

    Returns:
        A tensor of the elements and dtype of `tensor`.

    Raises:
        ValueError: when the pattern does not fit the tensor, or sizes are missing.

    Reference:
        Rogozhnikov, "Einops", 2022.

    Example:
        >>> ops.rearrange([[1, 2, 3], [4, 5, 6]], "rows columns -> (columns rows)").numpy().tolist()
        [1, 4, 2, 5, 3, 6]
        >>> ops.rearrange(tf.ones((2, 6, 3)), "b (h w) c -> b c h w", h=2).shape
        TensorShape([2, 3, 2, 3])
    """
    tensor = as_tensor(tensor)
    before, _, after = pattern.partition("->")
    sources, targets = _groups(before), _groups(after)
    names = [name for group in sources for name in group]
    order = [name for group in targets for name in group]
    if "." in pattern or len(sources) != tensor.shape.rank or sorted(names) != sorted(order):
        raise ValueError(
            "The pattern must name each axis of the tensor, and the same ones on both sides. "
            f"Received: pattern={pattern!r}, tensor.shape={tensor.shape}"
        )
    lengths: dict[str, Any] = dict(axes_lengths)
    for group, size in zip(sources, static_or_dynamic_shape(tensor), strict=True):
        unknown = [name for name in group if name not in lengths]
        if len(unknown) > 1:
            raise ValueError(
                f"Give the sizes of all but one of {group} as keywords. Received: {axes_lengths}"
            )
        for name in unknown:
            # The missing size in a group is the group's size divided by the others.
            for other in group:
                size = size // lengths[other] if other != name else size
            lengths[name] = size
    # One axis for each name, then the new order, then the new groups.
    split = tf.reshape(tensor, [lengths[name] for name in names])
    moved = tf.transpose(split, [names.index(name) for name in order])
    return tf.reshape(moved, [math.prod(lengths[name] for name in group) for group in targets])
