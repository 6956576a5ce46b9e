"""Colours, filters, patches and comparison of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.config import standardize_data_format
from tfkit.ops.convolution import conv, over_windows, per_axis
from tfkit.ops.image_geometry import as_batch, check_images
from tfkit.ops.promotion import as_tensor, promote_tensors, to_float
from tfkit.symbolic import symbolic_op


@symbolic_op
def rgb_to_grayscale(images: Any, data_format: str | None = None) -> tf.Tensor:
    """The brightness of colour images, as one channel.

    Args:
        images: one image or a batch of them, with 3 channels, or 1 which stays as it is.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.

    Raises:
        ValueError: for another rank or number of channels.
    """
    images = check_images(images)
    axis = -1 if standardize_data_format(data_format) == "channels_last" else -3
    if images.shape[axis] not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={images.shape}"
        )
    if images.shape[axis] == 1:
        return tf.identity(images)
    values = to_float(images)
    weights = tf.constant([0.2989, 0.5870, 0.1140], values.dtype)
    gray = tf.expand_dims(tf.tensordot(values, weights, [[axis], [0]]), axis)
    return tf.cast(gray, images.dtype)


def _convert_colours(
    images: Any, data_format: str | None, function: Callable[[Any], Any]
) -> tf.Tensor:
    images = check_images(images)
    axis = -1 if standardize_data_format(data_format) == "channels_last" else -3
    if images.shape[axis] not in (3, None):
        raise ValueError(
            f"Input images must have 3 channels, but received images with {images.shape[axis]} "
            f"channels. Received: images.shape={images.shape}"
        )
    if not images.dtype.is_floating:
        raise ValueError(
            "Invalid images dtype: expected float dtype. "
            f"Received: images.dtype={images.dtype.name}"
        )
    return as_batch(images, data_format, function)


@symbolic_op
def rgb_to_hsv(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Red, green and blue from 0 to 1 as hue, saturation and value from 0 to 1."""
    return _convert_colours(images, data_format, tf.image.rgb_to_hsv)


@symbolic_op
def hsv_to_rgb(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Hue, saturation and value from 0 to 1 as red, green and blue from 0 to 1."""
    return _convert_colours(images, data_format, tf.image.hsv_to_rgb)


def _gaussian(size: int, sigma: Any, dtype: Any) -> tf.Tensor:
    x = tf.cast(tf.range(size), dtype) - (size - 1) / 2
    weights = tf.exp(-0.5 * tf.square(x / tf.cast(sigma, dtype)))
    return weights / tf.reduce_sum(weights)


def _filter_channels(x: Any, rows: Any, columns: Any, padding: str) -> tf.Tensor:
    """Each channel of `x` convolved with the outer product of two vectors."""
    kernel = tf.tensordot(rows, columns, 0)[:, :, None, None]
    kernel = tf.tile(kernel, [1, 1, x.shape[-1] or tf.shape(x)[-1], 1])

    def convolve(images: Any) -> Any:
        return tf.nn.depthwise_conv2d(images, kernel, [1, 1, 1, 1], padding)

    return over_windows("filter", convolve, x, kernel.shape[:2], padding)


@symbolic_op
def gaussian_blur(
    images: Any,
    kernel_size: Sequence[int] = (3, 3),
    sigma: Sequence[float] = (1.0, 1.0),
    data_format: str | None = None,
) -> tf.Tensor:
    """The images smoothed with a Gaussian bell.

    Args:
        images: one image or a batch of them.
        kernel_size: where the bell is cut off: height and width.
        sigma: its width from left to right, and from top to bottom.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.
    """

    def blurred(x: Any) -> Any:
        rows = _gaussian(kernel_size[0], sigma[1], x.dtype)
        columns = _gaussian(kernel_size[1], sigma[0], x.dtype)
        return _filter_channels(x, rows, columns, "SAME")

    return as_batch(images, data_format, blurred)


@symbolic_op
def sobel_edges(images: Any, data_format: str | None = None) -> tf.Tensor:
    """How steeply brightness rises downwards and to the right, as a new last axis of size 2."""
    return as_batch(images, data_format, tf.image.sobel_edges)


@symbolic_op
def ssim(
    image1: Any,
    image2: Any,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> tf.Tensor:
    """The structural similarity of images: 1 for equal ones.

    Args:
        image1: one image or a batch of them.
        image2: as many.
        max_val: the greatest value that a pixel can have.
        filter_size: height and width of the windows that are compared.
        filter_sigma: width of the Gaussian bell that weights them.
        k1: keeps the comparison of means finite.
        k2: keeps the comparison of variances finite.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.

    Reference:
        Wang et al., "Image quality assessment: from error visibility to structural similarity",
        2004.
    """
    image1, image2 = promote_tensors(image1, image2)
    image1, image2 = check_images(image1), check_images(image2)
    if standardize_data_format(data_format) == "channels_first":
        order = [0, 2, 3, 1] if image1.shape.rank == 4 else [1, 2, 0]
        image1, image2 = tf.transpose(image1, order), tf.transpose(image2, order)
    return tf.image.ssim(image1, image2, max_val, filter_size, filter_sigma, k1, k2)


def _patches(
    images: Any, size: list[int], strides: Any, dilation_rate: Any, padding: str, data_format: Any
) -> tf.Tensor:
    """A convolution whose filters pick one point of the patch each."""
    images = as_tensor(images)
    single = images.shape.rank == len(size) + 1
    images = images[None] if single else images
    axis = -1 if standardize_data_format(data_format) == "channels_last" else 1
    channels = images.shape[axis]
    count = channels
    for length in size:
        count *= length
    kernel = tf.reshape(tf.eye(count, dtype=images.dtype), [*size, channels, count])
    patches = conv(images, kernel, strides or size, padding, data_format, dilation_rate)
    return tf.squeeze(patches, [0]) if single else patches


@symbolic_op
def extract_patches(
    images: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> tf.Tensor:
    """The patches of images, the elements of each along the channels.

    Args:
        images: one image or a batch of them; volumes with a `size` of three numbers.
        size: height and width of a patch, or one number for both.
        strides: from patch to patch, `size` unless given.
        dilation_rate: distance between the points of a patch.
        padding: `"valid"` (none) or `"same"`.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.

    Raises:
        TypeError: for a `size` that is no number and no tuple.
        ValueError: for a `size` of another length.
    """
    if not isinstance(size, (int, tuple, list)):
        raise TypeError(
            "Invalid `size` argument. Expected an int or a tuple. "
            f"Received: size={size} of type {type(size).__name__}"
        )
    sizes = per_axis(size, 2)
    if len(sizes) not in (2, 3):
        raise ValueError(
            "Invalid `size` argument. Expected a tuple of length 2 or 3. "
            f"Received: size={size} with length {len(sizes)}"
        )
    return _patches(images, sizes, strides, dilation_rate, padding, data_format)


@symbolic_op
def extract_patches_3d(
    volumes: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> tf.Tensor:
    """The patches of volumes; the arguments are those of `extract_patches`, of length 3."""
    sizes = per_axis(size, 3)
    if len(sizes) != 3:
        raise TypeError(
            f"Invalid `size`. Expected an int or a tuple of length 3. Received: size={size}"
        )
    return _patches(volumes, sizes, strides, dilation_rate, padding, data_format)
