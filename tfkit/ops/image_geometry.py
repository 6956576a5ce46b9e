"""Images resized, cropped and padded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit import tensorflow_faults
from tfkit.config import standardize_data_format
from tfkit.ops.promotion import as_tensor
from tfkit.ops.shaping import static_or_dynamic_shape
from tfkit.symbolic import symbolic_op

_RESIZE_METHODS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")


def check_images(images: Any) -> Any:
    """`images` as a tensor, one image or a batch of them."""
    images = as_tensor(images)
    if images.shape.rank not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )
    return images


def as_batch(images: Any, data_format: str | None, function: Callable[[Any], Any]) -> Any:
    """`function` of a batch of images with channels last, whatever the layout of `images` is.

    Axes that `function` adds behind the channels stay there.
    """
    images = check_images(images)
    single = images.shape.rank == 3
    first = standardize_data_format(data_format) == "channels_first"
    batch = images[None] if single else images
    outputs = function(tf.transpose(batch, [0, 2, 3, 1]) if first else batch)
    if first:
        outputs = tf.transpose(outputs, [0, 3, 1, 2, *range(4, outputs.shape.rank)])
    return tf.squeeze(outputs, [0]) if single else outputs


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuses the value of an option that is none of its choices."""
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
    """The images in another size.

    Args:
        images: one image or a batch of them.
        size: new height and width.
        interpolation: `"bilinear"`, `"nearest"`, `"bicubic"`, `"lanczos3"`, `"lanczos5"` or
            `"area"`.
        antialias: whether to smooth before making images smaller.
        crop_to_aspect_ratio: whether to cut off what does not fit, rather than distort.
        pad_to_aspect_ratio: whether to fill up what is missing, rather than distort.
        fill_mode: what to fill up with: `"constant"` only.
        fill_value: the constant.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.

    Raises:
        ValueError: for options outside these, for both ways to keep the ratio at once.
    """
    check_choice("interpolation", interpolation, _RESIZE_METHODS)
    check_choice("fill_mode", fill_mode, ("constant",))
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`. "
            "Received: both"
        )
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
            rows = tf.maximum(tf.minimum(height, fitting_height), 1)
            columns = tf.maximum(tf.minimum(width, fitting_width), 1)
            top, left = (height - rows) // 2, (width - columns) // 2
            x = x[:, top : top + rows, left : left + columns]
        elif pad_to_aspect_ratio:
            top = tf.maximum(fitting_height - height, 0) // 2
            left = tf.maximum(fitting_width - width, 0) // 2
            border = [[0, 0], [top, top], [left, left], [0, 0]]
            x = tf.pad(x, border, constant_values=tf.cast(fill_value, x.dtype))
        return tensorflow_faults.resize(x, size, interpolation, antialias=antialias)

    images = as_tensor(images)
    outputs = as_batch(images, data_format, resized)
    if images.dtype.is_integer:
        outputs = tf.round(outputs) if outputs.dtype.is_floating else outputs
    return tf.saturate_cast(outputs, images.dtype)


def _height_and_width(images: Any, data_format: str | None) -> tuple[Any, Any]:
    shape = static_or_dynamic_shape(images)
    last = standardize_data_format(data_format) == "channels_last"
    return (shape[-3], shape[-2]) if last else (shape[-2], shape[-1])


def _complete(size: Any, before: Any, after: Any, target: Any, sign: int, names: str) -> Any:
    """Two of the three numbers of an axis are given: `target = size + sign * (before + after)`."""
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
                f"{name} must be >= 0. Received: {name}={value} for a size of {size} "
                f"and a target of {target}"
            )
    return before, after


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
    """The images with a border of zeros; two of the three numbers of each axis are to be given.

    Args:
        images: one image or a batch of them.
        top_padding: rows above.
        left_padding: columns on the left.
        bottom_padding: rows below.
        right_padding: columns on the right.
        target_height: new height.
        target_width: new width.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.

    Raises:
        ValueError: for another number of numbers, or a negative border.
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
    """`images` with the sizes that were asked for, of which TensorFlow may know nothing."""
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
    """The images without their border; two of the three numbers of each axis are to be given.

    Args:
        images: one image or a batch of them.
        top_cropping: rows above.
        left_cropping: columns on the left.
        bottom_cropping: rows below.
        right_cropping: columns on the right.
        target_height: new height.
        target_width: new width.
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.

    Raises:
        ValueError: for another number of numbers, or a negative border.
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
    last = standardize_data_format(data_format) == "channels_last"
    if last:
        cropped = images[..., top : height - bottom, left : width - right, :]
    else:
        cropped = images[..., top : height - bottom, left : width - right]
    return _with_known_size(cropped, target_height, target_width, last)
