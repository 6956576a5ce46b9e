"""Warping and resampling of images."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.ops.checks import positive_axes
from tfkit.src.ops.image_geometry import as_batch, check_choice, check_images
from tfkit.src.ops.image_sampling import index_inside, project
from tfkit.src.ops.promotion import as_tensor, promote_tensors, to_float32
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op

_FILL_MODES = ("constant", "nearest", "wrap", "reflect")


def _project(
    images: Any,
    transform: Any,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    data_format: str | None,
) -> tf.Tensor:
    check_choice("interpolation", interpolation, ("nearest", "bilinear"))
    check_choice("fill_mode", fill_mode, _FILL_MODES)
    transform = tf.cast(transform, tf.float32)
    if transform.shape.rank not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            f"transforms). Received input with shape: transform.shape={transform.shape}"
        )

    transform = transform[None] if transform.shape.rank == 1 else transform

    def projected(x: Any) -> Any:
        return project(x, transform, interpolation, fill_mode, fill_value)

    return as_batch(images, data_format, projected)


@symbolic_op
def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns images warped by affine or projective maps.

    With `k = g * x + h * y + 1` the pixel at `(x, y)` of the result is the pixel at `((a * x + b * y + c) /
    k, (d * x + e * y + f) / k)` of the image.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
        transform: the coefficients `[a, b, c, d, e, f, g, h]`, of shape `(8,)`, or `(batch, 8)` for
            a map for each image. Affine maps have `g = h = 0`.
        interpolation: `"bilinear"` or `"nearest"`. Default: `"bilinear"`.
        fill_mode: the values outside of `abcd`: `"constant"`, `"nearest"` (`aaabcddd`), `"wrap"`
            (`bcdabcdabc`) or `"reflect"` (`dcbaabcddcba`). Default: `"constant"`.
        fill_value: the constant. Default: `0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: for any other option or rank.

    Example:
        >>> image = tf.reshape(tf.range(4.0), (1, 4, 1))
        >>> ops.image.affine_transform(image, [1, 0, 1, 0, 1, 0, 0, 0]).numpy().ravel().tolist()
        [1.0, 2.0, 3.0, 0.0]
    """
    return _project(images, transform, interpolation, fill_mode, fill_value, data_format)


def map_of_points(start: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    """Returns the eight coefficients of the map from four points `end` to `start`, `(..., 4, 2)`."""
    # Each pair of points gives two linear equations in the eight coefficients of the map.
    x, y = end[..., 0:1], end[..., 1:2]
    one, zero = tf.ones_like(x), tf.zeros_like(x)
    u, v = start[..., 0:1], start[..., 1:2]
    equations = tf.concat(
        [
            tf.concat([x, y, one, zero, zero, zero, -u * x, -u * y], -1),
            tf.concat([zero, zero, zero, x, y, one, -v * x, -v * y], -1),
        ],
        -2,
    )
    return tf.linalg.solve(equations, tf.concat([u, v], -2))[..., 0]


@symbolic_op
def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns images warped so that four points move to four others.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
        start_points: four points `(x, y)` of the images, of shape `(4, 2)`, or `(batch, 4, 2)`
            for points of each image.
        end_points: their positions in the result, of the same shape.
        interpolation: `"bilinear"` or `"nearest"`. Default: `"bilinear"`.
        fill_value: value outside of the images. Default: `0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: for points of a different shape.

    Example:
        >>> image = tf.reshape(tf.range(4.0), (2, 2, 1))
        >>> start, end = [[0, 0], [1, 0], [0, 1], [1, 1]], [[1, 0], [0, 0], [1, 1], [0, 1]]
        >>> ops.image.perspective_transform(image, start, end)[..., 0].numpy().round(3).tolist()
        [[1.0, 0.0], [3.0, 2.0]]
    """
    images = check_images(images)
    start, end = tf.cast(start_points, tf.float32), tf.cast(end_points, tf.float32)
    for name, points in (("start_points", start), ("end_points", end)):
        if points.shape.rank not in (2, 3) or not points.shape[-2:].is_compatible_with((4, 2)):
            raise ValueError(
                f"Invalid {name} shape: expected (4, 2) for all images or (N, 4, 2) for a batch. "
                f"Received: {name}.shape={points.shape}"
            )
    if not start.shape.is_compatible_with(end.shape):
        raise ValueError(
            "`start_points` and `end_points` must have the same shape. "
            f"Received: start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    transform = map_of_points(start, end)
    return _project(images, transform, interpolation, "constant", fill_value, data_format)


@symbolic_op
def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: float = 0
) -> tf.Tensor:
    """Returns the values of a tensor at coordinates between its elements.

    Args:
        inputs: a tensor with `n` axes.
        coordinates: a tensor of shape `(n, ...)`: for each axis of `inputs` the indices, whole or
            not. It has at least two axes.
        order: 0 for the nearest element, 1 for linear interpolation.
        fill_mode: the values outside of `abcd`: `"constant"`, `"nearest"` (`aaabcddd`), `"wrap"`
            (`bcdabcdabc`), `"mirror"` (`dcbabcdcba`) or `"reflect"` (`dcbaabcddcba`).
            Default: `"constant"`.
        fill_value: the constant. Default: `0`.

    Returns:
        A tensor of the shape of `coordinates` without its first axis, of the dtype of `inputs`;
        integers are rounded.

    Raises:
        ValueError: for any other option, or coordinates that do not fit.

    Example:
        >>> ops.image.map_coordinates(
        ...     [0.0, 10.0, 20.0], [[0.5, 1.25, 5.0]], order=1
        ... ).numpy().tolist()
        [5.0, 12.5, 0.0]
    """
    check_choice("fill_mode", fill_mode, (*_FILL_MODES, "mirror"))
    inputs, coordinates = as_tensor(inputs), as_tensor(coordinates)
    if coordinates.shape.rank < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2, one tensor of indices for each "
            f"axis of `inputs`. Received: coordinates.shape={coordinates.shape}"
        )
    if coordinates.shape[0] != inputs.shape.rank:
        raise ValueError(
            "The first size of `coordinates` must be the same as the rank of `inputs`: one tensor of indices "
            f"for each axis. Received: inputs.shape={inputs.shape}, coordinates.shape={coordinates.shape}"
        )
    if order not in (0, 1):
        raise ValueError(f"`order` must be 0 or 1. Received: order={order}")
    if not coordinates.dtype.is_floating:
        coordinates = tf.cast(coordinates, tf.float32)
    neighbours = []
    for place in tf.unstack(coordinates):
        lower = tf.round(place) if order == 0 else tf.floor(place)
        weight = place - lower
        index = tf.cast(lower, tf.int32)
        pair = [(index, 1 - weight), (index + 1, weight)]
        neighbours.append([(index, tf.ones_like(weight))] if order == 0 else pair)
    sizes = static_or_dynamic_shape(inputs)
    total = tf.zeros_like(coordinates[0])
    # Two neighbours along each axis: 2 ** rank corners, each with the product of its weights.
    for corner in itertools.product(*neighbours):
        indices = tf.stack(
            [index_inside(i, size, fill_mode) for (i, _), size in zip(corner, sizes, strict=True)],
            -1,
        )
        values = tf.cast(tf.gather_nd(inputs, indices), total.dtype)
        if fill_mode == "constant":
            valid = tf.reduce_all(
                [(i >= 0) & (i < size) for (i, _), size in zip(corner, sizes, strict=True)], 0
            )
            values = tf.where(valid, values, tf.cast(fill_value, total.dtype))
        total += values * math.prod(weight for _, weight in corner)
    return tf.cast(tf.round(total) if inputs.dtype.is_integer else total, inputs.dtype)


# --- Resampling by matrices -----------------------------------------------------------------------


def _triangle(x: Any) -> Any:
    return tf.maximum(1 - x, 0)


def _keys_cubic(x: Any) -> Any:
    # Keys (1981), "Cubic convolution interpolation", with a = -0.5.
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return tf.where(x >= 2.0, tf.zeros_like(x), tf.where(x >= 1.0, far, near))


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        angle = math.pi * tf.where(x > 1e-3, x, tf.ones_like(x))
        # sinc(x) * sinc(x / radius).
        value = radius * tf.sin(angle) * tf.sin(angle / radius) / tf.square(angle)
        value = tf.where(x > 1e-3, value, tf.ones_like(x))
        return tf.where(x > radius, tf.zeros_like(x), value)

    return kernel


_KERNELS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _keys_cubic),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}


@symbolic_op
def scale_and_translate(
    images: Any,
    output_shape: Any,
    scale: Any,
    translation: Any,
    spatial_dims: Any,
    method: str,
    antialias: bool = True,
) -> tf.Tensor:
    """Returns images resampled along axes: the pixel at `x` moves to `x * scale + translation`.

    Positions are counted from the edge of the first pixel, whose centre is at 0.5.

    Args:
        images: a tensor of any shape.
        output_shape: shape of the result, with as many axes as `images`.
        scale: a factor for each of the axes `spatial_dims`.
        translation: a distance in pixels for each of the axes `spatial_dims`.
        spatial_dims: axes to resample.
        method: `"linear"`, `"cubic"`, `"lanczos3"` or `"lanczos5"`.
        antialias: whether to smooth images before they become smaller. Default: `True`.

    Returns:
        A tensor of shape `output_shape` and of the dtype of `images`; pixels outside of the
        images are 0.

    Raises:
        ValueError: for any other method.

    Example:
        >>> image = tf.constant([1.0, 2.0, 3.0, 4.0])
        >>> ops.image.scale_and_translate(
        ...     image, (4,), [1.0], [1.0], (0,), "linear"
        ... ).numpy().tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    check_choice("method", method, tuple(_KERNELS))
    images = as_tensor(images)
    # Positions are computed in float32 at least: half precision cannot distinguish far pixels.
    scale, translation = map(to_float32, promote_tensors(scale, translation))
    outputs = images if images.dtype.is_floating else tf.cast(images, tf.float32)
    for i, axis in enumerate(positive_axes(spatial_dims, images.shape.rank, "spatial_dims")):
        inverse = 1.0 / scale[i]
        targets = tf.cast(tf.range(output_shape[axis]), scale.dtype)
        size = tf.cast(tf.shape(images)[axis], scale.dtype)
        # The centre of pixel i is at i + 0.5.
        places = (targets + 0.5 - translation[i]) * inverse - 0.5
        distance = tf.abs(places[None, :] - tf.range(size)[:, None])
        # Against aliasing, the kernel is as wide as a pixel of the result, if this is larger.
        weights = _KERNELS[method](distance / (tf.maximum(inverse, 1.0) if antialias else 1.0))
        sums = tf.reduce_sum(weights, 0, keepdims=True)
        weights = tf.where(tf.abs(sums) > 1.2e-4, tf.math.divide_no_nan(weights, sums), 0)
        weights = tf.where((places >= -0.5) & (places <= size - 0.5), weights, 0)
        # The axis moves to the end.
        outputs = tf.tensordot(outputs, tf.cast(weights, outputs.dtype), [[axis], [0]])
        rank = images.shape.rank
        outputs = tf.transpose(outputs, [*range(axis), rank - 1, *range(axis, rank - 1)])
    if images.dtype.is_floating:
        return outputs
    low, high = (tf.cast(f(images), tf.float32) for f in (tf.reduce_min, tf.reduce_max))
    return tf.cast(tf.clip_by_value(tf.round(outputs), low, high), images.dtype)
