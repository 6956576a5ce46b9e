"""Samples images between their pixels, for each pixel of a result.

TensorFlow's kernel for projective maps, which XLA does not support, has an equivalent here, made of gathers:
programs that XLA compiles use it, and so does the gradient.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from tfkit.src.engine.derivatives import derivative
from tfkit.src.engine.shared_programs import differing_in_xla
from tfkit.src.ops.shaping import static_or_dynamic_shape


def project(
    images: tf.Tensor, maps: tf.Tensor, interpolation: str, fill_mode: str, fill_value: Any
) -> tf.Tensor:
    """Returns images warped by projective maps, as in `ops.image.affine_transform`, of the same form.

    Args:
        images: a tensor of shape `(batch, height, width, channels)`.
        maps: eight numbers for each image, or for all: of shape `(batch, 8)` or `(1, 8)`, float32.
        interpolation: `"bilinear"` or `"nearest"`.
        fill_mode: `"constant"`, `"nearest"`, `"wrap"` or `"reflect"`.
        fill_value: the constant.
    """
    given, shape = images.dtype, images.shape
    # The dtypes of the kernel.
    if given not in (tf.float32, tf.float64, tf.uint8, tf.int32, tf.int64):
        images = tf.cast(images, tf.float32)
    function = _projection(images.dtype, interpolation, fill_mode)
    fill_value = tf.cast(fill_value, tf.float32)

    @tf.custom_gradient
    def projected(images: tf.Tensor) -> tuple[tf.Tensor, Any]:
        @derivative
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            # TensorFlow's own gradient belongs to the inverse map, and differs.
            with tf.GradientTape() as tape:
                tape.watch(images)
                again = _gathered(images, maps, fill_value, interpolation, fill_mode)
            return tape.gradient(again, images, upstream)

        return function(images, maps, fill_value), gradient

    outputs = projected(images) if images.dtype.is_floating else function(images, maps, fill_value)
    return tf.ensure_shape(tf.cast(outputs, given), shape)


@functools.cache
def _projection(dtype: tf.DType, interpolation: str, fill_mode: str) -> Any:
    def by_kernel(images: tf.Tensor, maps: tf.Tensor, fill_value: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=images,
            transforms=maps,
            output_shape=tf.shape(images)[1:3],
            fill_value=fill_value,
            interpolation=interpolation.upper(),
            fill_mode=fill_mode.upper(),
        )

    def by_gathers(images: tf.Tensor, maps: tf.Tensor, fill_value: tf.Tensor) -> tf.Tensor:
        return _gathered(images, maps, fill_value, interpolation, fill_mode)

    specs = [
        tf.TensorSpec([None, None, None, None], dtype),
        tf.TensorSpec([None, 8], tf.float32),
        tf.TensorSpec([], tf.float32),
    ]
    return differing_in_xla(by_kernel, by_gathers, specs)


def _gathered(
    images: tf.Tensor, maps: tf.Tensor, fill_value: Any, interpolation: str, fill_mode: str
) -> tf.Tensor:
    """Returns the result of the kernel, computed by gathers."""
    _, height, width, _ = static_or_dynamic_shape(images)
    y = tf.cast(tf.range(height), tf.float32)[:, tf.newaxis]
    x = tf.cast(tf.range(width), tf.float32)[tf.newaxis, :]
    a, b, c, d, e, f, g, h = tf.unstack(maps[:, tf.newaxis, tf.newaxis, :], axis=-1)
    k = g * x + h * y + 1.0
    # A point at infinity shows the fill value; a division by 0 would spread NaN to the gradient.
    divisor = tf.where(k == 0.0, 1.0, k)
    batch = tf.shape(images)[0]
    source = [
        tf.broadcast_to(place, [batch, height, width])
        for place in ((d * x + e * y + f) / divisor, (a * x + b * y + c) / divisor)
    ]
    places = [_inside(p, s, fill_mode) for p, s in zip(source, (height, width), strict=True)]
    values = images if images.dtype.is_floating else tf.cast(images, tf.float32)
    outputs = sample(values, places[0], places[1], interpolation, "constant", fill_value)
    outputs = tf.where((k == 0.0)[..., tf.newaxis], tf.cast(fill_value, outputs.dtype), outputs)
    return tf.cast(outputs, images.dtype)


def _inside(place: tf.Tensor, size: Any, fill_mode: str) -> tf.Tensor:
    """Returns positions outside of an image as the positions inside that the kernel reads instead."""
    if fill_mode == "constant":
        return place
    length = tf.cast(size, tf.float32)
    if fill_mode == "reflect":
        place = tf.math.floormod(place, 2.0 * length)
        place = tf.where(place >= length, 2.0 * length - 1.0 - place, place)
    elif fill_mode == "wrap":
        # The kernel's own arithmetic, whose period is one pixel less than the image is long.
        turns = tf.floor(tf.abs(place) / tf.maximum(length - 1.0, 1.0))
        before, after = place + length * (turns + 1.0), place - length * turns
        place = tf.where(place < 0.0, before, tf.where(place > length - 1.0, after, place))
    return tf.clip_by_value(place, 0.0, length - 1.0)


def sample(
    images: tf.Tensor,
    y: tf.Tensor,
    x: tf.Tensor,
    interpolation: str,
    fill_mode: str,
    fill_value: Any,
) -> tf.Tensor:
    """Returns the values of images at positions between their pixels.

    Args:
        images: floats of shape `(batch, height, width, channels)`.
        y: rows, whole or not, of shape `(batch, ...)`.
        x: columns, likewise.
        interpolation: `"bilinear"` or `"nearest"`.
        fill_mode: the values outside, as in `ops.image.map_coordinates`.
        fill_value: the constant of `"constant"`.
    """
    _, height, width, channels = static_or_dynamic_shape(images)
    # With one axis of pixels a gather needs one index for each.
    pixels = tf.reshape(images, [tf.shape(images)[0], height * width, channels])

    def read(row: tf.Tensor, column: tf.Tensor) -> tf.Tensor:
        row, column = tf.cast(row, tf.int32), tf.cast(column, tf.int32)
        inside = [index_inside(row, height, fill_mode), index_inside(column, width, fill_mode)]
        # (batch, height, width, channels)
        values = tf.gather(pixels, inside[0] * width + inside[1], batch_dims=1)
        if fill_mode != "constant":
            return values
        valid = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        return tf.where(valid[..., tf.newaxis], values, tf.cast(fill_value, values.dtype))

    if interpolation == "nearest":
        # Halves are rounded away from zero, as in the kernel.
        return read(*(tf.sign(place) * tf.floor(tf.abs(place) + 0.5) for place in (y, x)))
    top, left = tf.floor(y), tf.floor(x)
    down = tf.cast(y - top, images.dtype)[..., tf.newaxis]
    right = tf.cast(x - left, images.dtype)[..., tf.newaxis]
    above = read(top, left) * (1 - right) + read(top, left + 1) * right
    below = read(top + 1, left) * (1 - right) + read(top + 1, left + 1) * right
    return above * (1 - down) + below * down


def index_inside(index: Any, size: Any, fill_mode: str) -> Any:
    """Returns indices outside of an axis as the corresponding ones inside."""
    if fill_mode == "wrap":
        return tf.math.floormod(index, size)
    if fill_mode == "mirror":
        # "mirror" does not repeat the pixel at the edge, "reflect" does.
        period = tf.maximum(2 * (size - 1), 1)
        index = tf.math.floormod(index, period)
        return tf.minimum(index, period - index)
    if fill_mode == "reflect":
        index = tf.math.floormod(index, 2 * size)
        return tf.minimum(index, 2 * size - 1 - index)
    return tf.clip_by_value(index, 0, size - 1)
