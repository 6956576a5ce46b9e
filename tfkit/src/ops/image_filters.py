"""Colours, filters, patches and comparison of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.settings import standardize_data_format
from tfkit.src.ops.convolution import conv, over_windows
from tfkit.src.ops.image_geometry import as_batch, check_images
from tfkit.src.ops.promotion import as_tensor, promote_tensors, to_float, to_float32
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def rgb_to_grayscale(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Returns the brightness of colour images: `0.2989 * red + 0.587 * green + 0.114 * blue`.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`. 3
            channels, or 1, which is returned unchanged.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the dtype of `images` with 1 channel; integers are rounded towards zero.

    Raises:
        ValueError: for any other rank or number of channels.

    Example:
        >>> ops.image.rgb_to_grayscale(tf.ones((2, 2, 3)))[..., 0].numpy().round(2).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    images = check_images(images)
    axis = -1 if standardize_data_format(data_format) == "channels_last" else -3
    if images.shape[axis] not in (1, 3, None):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={images.shape}"
        )
    if images.shape[axis] == 1:
        return tf.identity(images)
    values = to_float(images)
    # ITU-R BT.601: how bright each colour appears to the eye.
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
            f"Invalid images dtype: expected float dtype. Received: images.dtype={images.dtype.name}"
        )
    return as_batch(images, data_format, function)


@symbolic_op
def rgb_to_hsv(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Returns images of red, green and blue as images of hue, saturation and value.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`. 3
            channels of floats from 0 to 1.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape and dtype of `images`, with values from 0 to 1: a hue of 0 is red,
        1/3 green, 2/3 blue.

    Raises:
        ValueError: for any other rank, number of channels or dtype.

    Example:
        >>> ops.image.rgb_to_hsv([[[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]]]).numpy().round(3)
        array([[[0.   , 1.   , 1.   ],
                [0.333, 1.   , 0.5  ]]], dtype=float32)
    """
    return _convert_colours(images, data_format, hues_of)


def hues_of(colours: tf.Tensor) -> tf.Tensor:
    """Returns hue, saturation and value of colours, with channels last: NaN where one of the three is NaN.

    TensorFlow's kernel passes over NaN where another channel is larger. Its slopes have an epsilon that is 0
    in float16.
    """
    wide = to_float32(colours)
    is_lost = tf.reduce_any(tf.math.is_nan(wide), axis=-1, keepdims=True)
    hues = tf.where(is_lost, tf.constant(math.nan, wide.dtype), tf.image.rgb_to_hsv(wide))
    return tf.cast(hues, colours.dtype)


@symbolic_op
def hsv_to_rgb(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Returns images of hue, saturation and value as images of red, green and blue.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`. 3
            channels of floats from 0 to 1; a hue of 0 is red, 1/3 green, 2/3 blue.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape and dtype of `images`, with values from 0 to 1.

    Raises:
        ValueError: for any other rank, number of channels or dtype.

    Example:
        >>> ops.image.hsv_to_rgb([[[0.0, 1.0, 1.0], [0.5, 0.0, 0.25]]]).numpy().tolist()
        [[[1.0, 0.0, 0.0], [0.25, 0.25, 0.25]]]
    """
    return _convert_colours(images, data_format, tf.image.hsv_to_rgb)


def _gaussian(size: int, sigma: Any, dtype: Any) -> tf.Tensor:
    x = tf.cast(tf.range(size), dtype) - (size - 1) / 2
    weights = tf.exp(-0.5 * tf.square(x / tf.cast(sigma, dtype)))
    return weights / tf.reduce_sum(weights)


def _filter_channels(x: Any, rows: Any, columns: Any, padding: str) -> tf.Tensor:
    """Returns each channel of `x` convolved with the outer product of two vectors."""
    kernel = tf.tensordot(rows, columns, 0)[:, :, None, None]  # (rows, columns, 1, 1)
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
    """Returns images smoothed with a Gaussian bell, channel by channel.

    Pixels outside of the image count as 0, which darkens the border.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
            They must be floats.
        kernel_size: height and width at which the bell is cut off, in pixels. Default: `(3, 3)`.
        sigma: standard deviations of the bell from left to right, and from top to bottom, in
            pixels. Default: `(1.0, 1.0)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape and dtype of `images`.

    Example:
        >>> image = tf.reshape(tf.constant([0.0, 1.0, 0.0]), (1, 3, 1))
        >>> ops.image.gaussian_blur(image, kernel_size=(1, 3)).numpy().round(4).ravel()
        array([0.2741, 0.4519, 0.2741], dtype=float32)
    """

    def blurred(x: Any) -> Any:
        rows = _gaussian(kernel_size[0], sigma[1], x.dtype)
        columns = _gaussian(kernel_size[1], sigma[0], x.dtype)
        return _filter_channels(x, rows, columns, "SAME")

    return as_batch(images, data_format, blurred)


@symbolic_op
def sobel_edges(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Returns the gradients of images along height and width, by Sobel's filters.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
            They must be floats.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape of `images` with a new last axis of size 2: the slope downwards
        (`dy`) and the slope to the right (`dx`), each 8 times the change per pixel.

    Example:
        >>> image = tf.tile(tf.reshape(tf.range(4.0), (1, 4, 1)), (4, 1, 1))
        >>> edges = ops.image.sobel_edges(image)
        >>> edges.shape, edges[1, 1, 0].numpy().tolist()
        (TensorShape([4, 4, 1, 2]), [0.0, 8.0])
    """
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
    """Returns the structural similarity of two images: 1 for equal ones, and less the more they differ.

    Means, variances and the covariance of all windows are compared, and the results averaged.

    Args:
        image1: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
            Height and width must be `filter_size` or more.
        image2: as many images, of the same shape.
        max_val: largest value that a pixel can have: 1.0 or 255 for most images. Default: `1.0`.
        filter_size: height and width of the windows, in pixels. Default: `11`.
        filter_sigma: standard deviation of the Gaussian bell that weights the pixels of a window.
            Default: `1.5`.
        k1: constant that keeps the comparison of means stable. Default: `0.01`.
        k2: constant that keeps the comparison of variances stable. Default: `0.03`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A float32 scalar, or a vector with a number for each image of a batch.

    Raises:
        ValueError: for any other rank.

    Reference:
        Wang et al., "Image quality assessment: from error visibility to structural similarity",
        2004.

    Example:
        >>> image = tf.reshape(tf.range(256.0), (16, 16, 1)) / 255
        >>> ops.image.ssim(image, image).numpy().round(4).tolist()
        1.0
        >>> bool(ops.image.ssim(image, 1 - image) < 0.5)
        True
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
    """Returns a convolution whose filters each select one point of the patch."""
    images = as_tensor(images)
    single = images.shape.rank == len(size) + 1
    images = images[None] if single else images
    axis = -1 if standardize_data_format(data_format) == "channels_last" else 1
    channels = images.shape[axis]
    count = channels
    for length in size:
        count *= length
    # Filter number i is 1 at the i-th point of a patch, and 0 elsewhere.
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
    """Returns the patches of images, the elements of each along the channels.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
            Volumes have one axis more.
        size: height and width of a patch, or one number for both; three numbers for volumes.
        strides: distance between patches, one number or one for each axis; `None` for `size`.
        dilation_rate: distance between the points of a patch. Default: `1`.
        padding: `"valid"` (only whole patches) or `"same"` (a border of zeros, so that the output
            size is `ceil(size / stride)`). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of shape `(batch, rows, columns, height * width * channels)`, without the first
        axis for one image and with channels second for `"channels_first"`, of the dtype of
        `images`.

    Raises:
        TypeError: for a `size` that is not a number and no tuple.
        ValueError: for a `size` of a different length.

    Example:
        >>> image = tf.reshape(tf.range(16.0), (4, 4, 1))
        >>> patches = ops.image.extract_patches(image, 2)
        >>> patches.shape, patches[0, 0].numpy().tolist()
        (TensorShape([2, 2, 4]), [0.0, 1.0, 4.0, 5.0])
    """
    if not isinstance(size, (int, tuple, list)):
        raise TypeError(
            "Invalid `size` argument. Expected an int or a tuple. "
            f"Received: size={size} of type {type(size).__name__}"
        )
    sizes = [size] * 2 if isinstance(size, int) else list(size)
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
    """Returns the patches of volumes, the elements of each along the channels.

    Args:
        volumes: one volume of shape `(depth, height, width, channels)` or a batch of them;
            channels before depth for `"channels_first"`.
        size: depth, height and width of a patch, or one number for all.
        strides: distance between patches, one number or one for each axis; `None` for `size`.
        dilation_rate: distance between the points of a patch. Default: `1`.
        padding: `"valid"` (only whole patches) or `"same"` (a border of zeros, so that the output
            size is `ceil(size / stride)`). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of shape `(batch, *new sizes, depth * height * width * channels)`, without the
        first axis for one volume and with channels second for `"channels_first"`, of the dtype of
        `volumes`.

    Raises:
        TypeError: for a `size` of a different length.

    Example:
        >>> ops.image.extract_patches_3d(tf.ones((2, 4, 4, 4, 3)), 2).shape
        TensorShape([2, 2, 2, 2, 24])
    """
    sizes = [size] * 3 if isinstance(size, int) else list(size)
    if len(sizes) != 3:
        raise TypeError(
            f"Invalid `size`. Expected an int or a tuple of length 3. Received: size={size}"
        )
    return _patches(volumes, sizes, strides, dilation_rate, padding, data_format)
