"""Changes of one image, by given or by random parameters: `tf.keras.preprocessing.image`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.packages import imported
from tfkit.src.data.utils.images import array_to_img, img_to_array

Draws = Any  # `np.random`, or a `RandomState` with the same functions


class Axes(NamedTuple):
    """The axes of an image."""

    row: int
    col: int
    channel: int


@shortened
def apply_affine_transform(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> np.ndarray:
    """Returns an image that is rotated, shifted, sheared and zoomed about its center, in this order.

    Args:
        x: the image, an array of three axes.
        theta: angle of the rotation, in degrees. Default: `0`.
        tx: shift of the columns, in pixels. Default: `0`.
        ty: shift of the rows, in pixels. Default: `0`.
        shear: angle of the shear, in degrees. Default: `0`.
        zx: zoom of the columns; more than 1 shows more of the image. Default: `1`.
        zy: zoom of the rows. Default: `1`.
        row_axis: the axis of the rows. Default: `1`.
        col_axis: the axis of the columns. Default: `2`.
        channel_axis: the axis of the channels. Default: `0`.
        fill_mode: `"nearest"`, `"constant"`, `"reflect"` or `"wrap"`: the pixels outside the image.
            Default: `"nearest"`.
        cval: their value for `"constant"`. Default: `0.0`.
        order: order of the splines between pixels, from 0 to 5. Default: `1`.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ImportError: without SciPy.
        ValueError: for axes that are not three different ones.

    Example:
        >>> apply_affine_transform(np.array([[[1.0, 2.0, 3.0]]]), tx=1).tolist()
        [[[2.0, 3.0, 3.0]]]
    """
    axes = Axes(row_axis, col_axis, channel_axis)
    if np.ndim(x) != 3 or sorted(axes) != [0, 1, 2]:
        raise ValueError(
            "Expected an image of three axes, and 0, 1 and 2 for its axes. Received: an array of shape "
            f"{np.shape(x)}, row_axis={row_axis}, col_axis={col_axis}, channel_axis={channel_axis}"
        )
    matrix = _matrix(np.deg2rad(theta), (tx, ty), np.deg2rad(shear), (zx, zy))
    if np.array_equal(matrix, np.eye(3)):
        return x
    ndimage = imported("scipy.ndimage", "A change of an image by a matrix", "SciPy", "scipy")
    matrix = matrix[[1, 0, 2]][:, [1, 0, 2]]  # The rows of a plane, y, are its first axis.
    # Shape (channels, rows, columns): a plane for each channel.
    planes = np.moveaxis(x, axes, (1, 2, 0))
    centre = (np.array(planes.shape[1:]) - 1) / 2  # Keras uses the centre of the other axis.
    # SciPy fills the output at `o` with the input at `matrix @ o +
    # offset`. This offset makes the matrix turn about the centre.
    offset = matrix[:2, 2] + centre - matrix[:2, :2] @ centre
    changed = [
        ndimage.affine_transform(plane, matrix[:2, :2], offset, None, None, order, fill_mode, cval)
        for plane in planes
    ]
    return np.moveaxis(np.stack(changed), (1, 2, 0), axes)


def _matrix(
    angle: float, shift: tuple[float, float], shear: float, zoom: tuple[float, float]
) -> np.ndarray:
    """Returns the product of the four changes, as a matrix of homogeneous coordinates."""
    cos, sin = np.cos(angle), np.sin(angle)
    rotation = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    translation = np.array([[1, 0, shift[0]], [0, 1, shift[1]], [0, 0, 1]])
    slant = np.array([[1, -np.sin(shear), 0], [0, np.cos(shear), 0], [0, 0, 1]])
    return rotation @ translation @ slant @ np.diag([*zoom, 1.0])


@shortened
def apply_brightness_shift(x: Any, brightness: float, scale: bool = True) -> np.ndarray:
    """Returns a lighter or darker image.

    Args:
        x: the image, an array with channels.
        brightness: factor of the brightness; 0 is black, 1 leaves it as it is.
        scale: whether the values are stretched first, so that they go from 0 to 255. Default: `True`.

    Raises:
        ImportError: without Pillow.

    Example:
        >>> apply_brightness_shift(np.full((1, 1, 1), 100.0), 0.5, scale=False).tolist()
        [[[50.0]]]
    """
    enhance = imported("PIL.ImageEnhance", "A change of brightness", "Pillow", "pillow")
    least, most = np.min(x), np.max(x)
    outside = bool(least < 0 or most > 255)  # of the values of an image file
    # Values that no file can hold are stretched to 0 to 255, and back after the change.
    image = array_to_img(x, scale=scale or outside)
    changed = img_to_array(enhance.Brightness(image).enhance(brightness))
    return changed / 255 * (most - least) + least if outside and not scale else changed


@shortened
def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """Returns an image with a number added to all values; they stay within those that it has.

    Args:
        x: the image.
        intensity: the number.
        channel_axis: the axis of the channels. Default: `0`.

    Example:
        >>> apply_channel_shift(np.array([[[1.0, 2.0, 5.0]]]), 2).tolist()
        [[[3.0, 4.0, 5.0]]]
    """
    del channel_axis  # All channels are changed alike.
    return np.clip(x + intensity, np.min(x), np.max(x))


@shortened
def random_rotation(
    x: Any,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image that is rotated by a random angle.

    Args:
        x: the image.
        rg: the largest angle, in degrees.
        row_axis: the axis of the rows. Default: `1`.
        col_axis: the axis of the columns. Default: `2`.
        channel_axis: the axis of the channels. Default: `0`.
        fill_mode: as in `apply_affine_transform`. Default: `"nearest"`.
        cval: as in `apply_affine_transform`. Default: `0.0`.
        interpolation_order: order of the splines between pixels. Default: `1`.

    Example:
        >>> random_rotation(np.ones((1, 4, 4)), 20).shape
        (1, 4, 4)
    """
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(
        x, theta, 0, 0, 0, 1, 1,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


@shortened
def random_shift(
    x: Any,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image that is shifted at random, rows by a part of the height, columns by one of the width.

    Args:
        x: the image.
        wrg: the largest shift of columns, as a fraction of the width.
        hrg: the largest shift of rows, as a fraction of the height.
        row_axis: the axis of the rows. Default: `1`.
        col_axis: the axis of the columns. Default: `2`.
        channel_axis: the axis of the channels. Default: `0`.
        fill_mode: as in `apply_affine_transform`. Default: `"nearest"`.
        cval: as in `apply_affine_transform`. Default: `0.0`.
        interpolation_order: order of the splines between pixels. Default: `1`.

    Example:
        >>> random_shift(np.ones((1, 4, 4)), 0.1, 0.1).shape
        (1, 4, 4)
    """
    ty = np.random.uniform(-hrg, hrg) * np.shape(x)[row_axis]
    tx = np.random.uniform(-wrg, wrg) * np.shape(x)[col_axis]
    return apply_affine_transform(
        x, 0, tx, ty, 0, 1, 1,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


@shortened
def random_shear(
    x: Any,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image that is sheared by a random angle.

    Args:
        x: the image.
        intensity: the largest angle, in degrees.
        row_axis: the axis of the rows. Default: `1`.
        col_axis: the axis of the columns. Default: `2`.
        channel_axis: the axis of the channels. Default: `0`.
        fill_mode: as in `apply_affine_transform`. Default: `"nearest"`.
        cval: as in `apply_affine_transform`. Default: `0.0`.
        interpolation_order: order of the splines between pixels. Default: `1`.

    Example:
        >>> random_shear(np.ones((1, 4, 4)), 20).shape
        (1, 4, 4)
    """
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x, 0, 0, 0, shear, 1, 1,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


@shortened
def random_zoom(
    x: Any,
    zoom_range: Sequence[float],
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image that is zoomed at random, by other factors along rows and columns.

    Args:
        x: the image.
        zoom_range: the smallest and the largest factor; more than 1 shows more of the image.
        row_axis: the axis of the rows. Default: `1`.
        col_axis: the axis of the columns. Default: `2`.
        channel_axis: the axis of the channels. Default: `0`.
        fill_mode: as in `apply_affine_transform`. Default: `"nearest"`.
        cval: as in `apply_affine_transform`. Default: `0.0`.
        interpolation_order: order of the splines between pixels. Default: `1`.

    Raises:
        ValueError: for anything but two factors.

    Example:
        >>> random_zoom(np.ones((1, 4, 4)), (0.8, 1.2)).shape
        (1, 4, 4)
    """
    least, most = pair(zoom_range, "zoom_range")
    zx, zy = (1, 1) if least == most == 1 else np.random.uniform(least, most, 2)
    return apply_affine_transform(
        x, 0, 0, 0, 0, zx, zy,
        row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order,
    )  # fmt: skip


@shortened
def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """Returns an image with a random number added to all values, within those that it has.

    Args:
        x: the image.
        intensity_range: the largest number.
        channel_axis: the axis of the channels. Default: `0`.

    Example:
        >>> random_channel_shift(np.ones((1, 4, 4)), 0.5).shape
        (1, 4, 4)
    """
    intensity = np.random.uniform(-intensity_range, intensity_range)
    return apply_channel_shift(x, intensity, channel_axis)


@shortened
def random_brightness(x: Any, brightness_range: Sequence[float], scale: bool = True) -> np.ndarray:
    """Returns an image that is lighter or darker by a random factor.

    Args:
        x: the image.
        brightness_range: the smallest and the largest factor.
        scale: as in `apply_brightness_shift`. Default: `True`.

    Raises:
        ValueError: for anything but two factors.

    Example:
        >>> random_brightness(np.ones((4, 4, 1)), (0.5, 1.5)).shape
        (4, 4, 1)
    """
    return apply_brightness_shift(
        x, np.random.uniform(*pair(brightness_range, "brightness_range")), scale
    )


def pair(values: Any, name: str) -> tuple[float, float]:
    """Returns the smallest and the largest value of an argument; raises an error for anything but two."""
    if not isinstance(values, (tuple, list)) or len(values) != 2:
        raise ValueError(f"`{name}` must be a tuple of two floats. Received: {name}={values!r}")
    return values[0], values[1]
