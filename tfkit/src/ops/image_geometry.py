"""Resizing, cropping and padding of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.settings import standardize_data_format
from tfkit.src.engine import tensorflow_faults
from tfkit.src.engine.sizes import as_sizes
from tfkit.src.ops.promotion import as_tensor
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op

_RESIZE_METHODS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")


def check_images(images: Any) -> Any:
    """Returns `images` as a tensor, which must be one image or a batch of them."""
    images = as_tensor(images)
    if images.shape.rank not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )
    return images


def as_batch(images: Any, data_format: str | None, function: Callable[[Any], Any]) -> Any:
    """Returns `function` of a batch of images with channels last, whatever the layout of `images` is.

    Axes that `function` adds after the channels stay there.
    """
    images = check_images(images)
    single = images.shape.rank == 3
    first = standardize_data_format(data_format) == "channels_first"
    batch = tf.expand_dims(images, 0) if single else images
    outputs = function(tf.transpose(batch, [0, 2, 3, 1]) if first else batch)
    if first:
        outputs = tf.transpose(outputs, [0, 3, 1, 2, *range(4, outputs.shape.rank)])
    return tf.squeeze(outputs, [0]) if single else outputs


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raises an error for the value of an option that is not one of its choices."""
    if value not in choices:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected one of {choices}. Received: {value!r}"
        )


@symbolic_op
def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns images in a different size.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
        size: new height and width, in pixels; numbers, or a tensor of both.
        interpolation: `"bilinear"`, `"nearest"`, `"bicubic"`, `"lanczos3"`, `"lanczos5"` or
            `"area"`. Default: `"bilinear"`.
        antialias: whether to smooth images before they become smaller. Default: `False`.
        crop_to_aspect_ratio: whether to crop the sides instead of distorting the image.
            Default: `False`.
        pad_to_aspect_ratio: whether to pad the sides instead of distorting the image.
            Default: `False`.
        fill_mode: the kind of padding; only `"constant"` is possible. Default: `"constant"`.
        fill_value: the constant. Default: `0.0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the dtype of `images`, in which integers are rounded, with the new height and
        width.

    Raises:
        ValueError: for any other rank or option, and for both ways to keep the ratio at once.

    Example:
        >>> image = tf.reshape(tf.range(16.0), (4, 4, 1))
        >>> ops.image.resize(image, (2, 2))[..., 0].numpy().tolist()
        [[2.5, 4.5], [10.5, 12.5]]
        >>> ops.image.resize(image, (2, 2), interpolation="nearest")[..., 0].numpy().tolist()
        [[5.0, 7.0], [13.0, 15.0]]
    """
    check_choice("interpolation", interpolation, _RESIZE_METHODS)
    check_choice("fill_mode", fill_mode, ("constant",))
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`. Received: both"
        )
    if tf.is_tensor(size):
        size = tf.unstack(as_sizes(size))
    elif isinstance(size, (np.ndarray, tf.TensorShape)):
        size = [int(side) for side in size]
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ValueError(
            f"Argument `size` must be a tuple of two elements (height, width). Received: {size}"
        )
    if any(isinstance(side, (int, float)) and side < 1 for side in size):
        raise ValueError(f"`size` must have positive height and width. Received: size={size}")
    target_height, target_width = size

    def resized(x: Any) -> Any:
        _, height, width, _ = static_or_dynamic_shape(x)
        fitting_height = width * target_height // target_width
        fitting_width = height * target_width // target_height
        if crop_to_aspect_ratio:
            # The largest part with the aspect ratio of the result.
            rows = tf.maximum(tf.minimum(height, fitting_height), 1)
            columns = tf.maximum(tf.minimum(width, fitting_width), 1)
            top, left = (height - rows) // 2, (width - columns) // 2
            x = x[:, top : top + rows, left : left + columns]
        elif pad_to_aspect_ratio:
            # The smallest border that gives the image the aspect ratio of the result.
            top = tf.maximum(fitting_height - height, 0) // 2
            left = tf.maximum(fitting_width - width, 0) // 2
            border = [[0, 0], [top, top], [left, left], [0, 0]]
            x = tf.pad(x, border, constant_values=tf.cast(fill_value, x.dtype))
        return tensorflow_faults.resize(x, size, interpolation, antialias=antialias)

    images = as_tensor(images)
    outputs = as_batch(images, data_format, resized)
    # Resizing makes floats of integers.
    if images.dtype.is_integer:
        outputs = tf.round(outputs) if outputs.dtype.is_floating else outputs
    # Bicubic and Lanczos overshoot: 260 must become 255, not 4. Infinite floats stay infinite.
    convert = tf.saturate_cast if images.dtype.is_integer else tf.cast
    return convert(outputs, images.dtype)


def _height_and_width(images: Any, data_format: str | None) -> tuple[Any, Any]:
    shape = static_or_dynamic_shape(images)
    last = standardize_data_format(data_format) == "channels_last"
    return (shape[-3], shape[-2]) if last else (shape[-2], shape[-1])


def _complete(size: Any, before: Any, after: Any, target: Any, sign: int, names: str) -> Any:
    """Completes two of three values of an axis: `target = size + sign * (before + after)`."""
    if [before, after, target].count(None) != 1:
        raise ValueError(
            f"Must specify exactly two of {names}. Received: {before}, {after}, {target}"
        )
    for name, value in zip(names.split(", "), (before, after, target), strict=True):
        if isinstance(value, int) and value < 0:
            raise ValueError(f"{name} must be >= 0. Received: {name}={value}")
    if before is None:
        before = sign * (target - size) - after
    if after is None:
        after = sign * (target - size) - before
    for name, value in zip(names.split(", "), (before, after), strict=False):
        if isinstance(value, int) and value < 0:
            raise ValueError(
                f"{name} must be >= 0. Received: {name}={value} for a size of {size} and a target of {target}"
            )
    return before, after


def _check_inside(name: str, size: Any, before: Any, after: Any) -> None:
    """Raises an error if both croppings together are larger than the images."""
    if all(isinstance(each, int) for each in (size, before, after)) and before + after > size:
        raise ValueError(
            f"target_{name} must be >= 0. Received: target_{name}={size - before - after}, from a {name} of "
            f"{size} and croppings of {before} and {after}"
        )


@symbolic_op
def pad_images(
    images: Any,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns images with a border of zeros.

    For each direction, two of three values are given: the two borders and the new size.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
        top_padding: number of rows above.
        left_padding: number of columns on the left.
        bottom_padding: number of rows below.
        right_padding: number of columns on the right.
        target_height: new height.
        target_width: new width.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the dtype of `images`.

    Raises:
        ValueError: unless two of the three values are given, or if a border would be negative.

    Example:
        >>> padded = ops.image.pad_images(tf.ones((2, 2, 1)), 1, 0, target_height=4, target_width=3)
        >>> padded[..., 0].numpy().tolist()
        [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    images = check_images(images)
    height, width = _height_and_width(images, data_format)
    rows = _complete(
        height, top_padding, bottom_padding, target_height, 1,
        "top_padding, bottom_padding, target_height",
    )  # fmt: skip
    columns = _complete(
        width, left_padding, right_padding, target_width, 1,
        "left_padding, right_padding, target_width",
    )  # fmt: skip
    last = standardize_data_format(data_format) == "channels_last"
    border = [rows, columns, [0, 0]] if last else [[0, 0], rows, columns]
    padded = tf.pad(images, [[0, 0]] * (images.shape.rank - 3) + border)
    return _with_known_size(padded, target_height, target_width, last)


def _with_known_size(images: Any, height: Any, width: Any, last: bool) -> Any:
    """Returns `images` with the requested sizes as static shape, which TensorFlow may not know."""
    known = images.shape.as_list()
    first = -3 if last else -2
    for axis, size in ((first, height), (first + 1, width)):
        known[axis] = size if isinstance(size, int) else known[axis]
    return tf.ensure_shape(images, known)


@symbolic_op
def crop_images(
    images: Any,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns images without their borders.

    For each direction, two of three values are given: the two borders and the new size.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
        top_cropping: number of rows to cut off above.
        left_cropping: number of columns to cut off on the left.
        bottom_cropping: number of rows to cut off below.
        right_cropping: number of columns to cut off on the right.
        target_height: new height.
        target_width: new width.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the dtype of `images`.

    Raises:
        ValueError: unless two of the three values are given, or if a border would be negative.

    Example:
        >>> image = tf.reshape(tf.range(16), (4, 4, 1))
        >>> cropped = ops.image.crop_images(image, 1, 0, target_height=2, target_width=3)
        >>> cropped[..., 0].numpy().tolist()
        [[4, 5, 6], [8, 9, 10]]
    """
    images = check_images(images)
    height, width = _height_and_width(images, data_format)
    top, bottom = _complete(
        height, top_cropping, bottom_cropping, target_height, -1,
        "top_cropping, bottom_cropping, target_height",
    )  # fmt: skip
    left, right = _complete(
        width, left_cropping, right_cropping, target_width, -1,
        "left_cropping, right_cropping, target_width",
    )  # fmt: skip
    _check_inside("height", height, top, bottom)
    _check_inside("width", width, left, right)
    last = standardize_data_format(data_format) == "channels_last"
    if last:
        cropped = images[..., top : height - bottom, left : width - right, :]
    else:
        cropped = images[..., top : height - bottom, left : width - right]
    return _with_known_size(cropped, target_height, target_width, last)
