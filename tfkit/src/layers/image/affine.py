"""Layers that rotate, zoom, move and shear images at random."""

from __future__ import annotations

import math
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.registry.constructors import given
from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, shape_of
from tfkit.src.layers.image.warping import WarpingLayer, affine_maps
from tfkit.src.ops.bounding_boxes import clip_to_image_size, map_corners


def _center(size: Any) -> Any:
    return (size - 1) / 2 if isinstance(size, int) else (tf.cast(size, tf.float32) - 1) / 2


class RandomRotation(WarpingLayer):
    """While training, rotates each image about its centre by a random angle.

    Args:
        factor: range of the angle as a part of a full turn, counter-clockwise: a pair of numbers, or one
            number `f` for `(-f, f)`; from -1 to 1. `0.25` is up to 90 degrees to both sides.
        fill_mode: the values outside of the image `abcd`: `"reflect"` (`dcbaabcddcba`), `"constant"`,
            `"wrap"` (`abcdabcdabcd`) or `"nearest"` (`aaaaabcddddd`). Default: `"reflect"`.
        interpolation: `"bilinear"` or `"nearest"`, as it always is for masks. Default: `"bilinear"`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        fill_value: the constant of `fill_mode="constant"`. Default: `0.0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to rotate anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range.
        NotImplementedError: for an unknown `fill_mode` or `interpolation`.

    Example:
        >>> layer = RandomRotation((0.25, 0.25))
        >>> layer(tf.constant([[[1.0], [2.0]], [[3.0], [4.0]]]))[..., 0].numpy().round(3).tolist()
        [[2.0, 4.0], [1.0, 3.0]]
    """

    def __init__(
        self,
        factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(**given(locals(), "factor"))
        self.factor = factors.symmetric(self, factor=factor)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the angles, in degrees."""
        bounds = [360.0 * bound for bound in self.factor]
        angle = self.uniform(images, bounds, seed, ())
        cos, sin = tf.cos(angle * (math.pi / 180)), tf.sin(angle * (math.pi / 180))
        x, y = map(_center, reversed(self.height_and_width(shape_of(images))))
        # A map from each pixel of the output to its origin: the centre is moved to (0, 0), turned,
        # and moved back.
        matrix = affine_maps(cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y)
        return {"angle": angle, "rotation_matrix": matrix, "input_shape": shape_of(images)}

    def maps(self, drawn: Any) -> tf.Tensor:
        """Returns the rotations."""
        # Eight coefficients describe a projective map, whose ninth is 1.
        return tf.reshape(drawn["rotation_matrix"], [-1, 8])


class RandomZoom(WarpingLayer):
    """While training, zooms each image in or out by a random factor.

    Args:
        height_factor: range of how much more of the height is seen: a pair of numbers, or one number `f` for
            `(-f, f)`; more than -1, at most 1. `0.2` zooms out until 1.2 times the height is seen, `-0.2`
            zooms in on 0.8 of it.
        width_factor: the same for the width; `None` to keep the ratio of the sides.
        fill_mode: the values outside of the image `abcd`: `"reflect"` (`dcbaabcddcba`), `"constant"`,
            `"wrap"` (`abcdabcdabcd`) or `"nearest"` (`aaaaabcddddd`). Default: `"reflect"`.
        interpolation: `"bilinear"` or `"nearest"`, as it always is for masks. Default: `"bilinear"`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        fill_value: the constant of `fill_mode="constant"`. Default: `0.0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to zoom anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range.
        NotImplementedError: for an unknown `fill_mode` or `interpolation`.

    Example:
        >>> layer = RandomZoom((1.0, 1.0), fill_mode="constant")
        >>> layer(tf.ones((1, 4, 4, 1)))[0, :, :, 0].numpy().tolist()[0]
        [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(**given(locals(), "height_factor", "width_factor"))
        self.height_factor = height_factor
        self.width_factor = width_factor
        # At -1 nothing of the image would be seen.
        self._height_range = factors.symmetric(self, above=True, height_factor=height_factor)
        self._width_range = None
        if width_factor is not None:
            self._width_range = factors.symmetric(self, above=True, width_factor=width_factor)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the visible fractions of the height and of the width."""
        # A negative factor zooms in: less of the image is visible.
        height = self.uniform(images, [1.0 + bound for bound in self._height_range], seed, (1,))
        # One draw for both keeps the aspect ratio.
        width = height
        if self._width_range is not None:
            width = self.uniform(images, [1.0 + bound for bound in self._width_range], seed, (1,))
        return {"height_zoom": height, "width_zoom": width, "input_shape": shape_of(images)}

    def maps(self, drawn: Any) -> tf.Tensor:
        """Returns the zooms about the centre."""
        height, width = map(_center, self.height_and_width(drawn["input_shape"]))
        y, x = (tf.cast(drawn[name], tf.float32) for name in ("height_zoom", "width_zoom"))
        return affine_maps(
            scale_x=x, scale_y=y, offset_x=(1 - x) * width, offset_y=(1 - y) * height
        )


class RandomTranslation(WarpingLayer):
    """While training, moves each image by a random distance.

    Args:
        height_factor: range of the distance downwards as a part of the height: a pair of numbers, or one
            number `f` for `(-f, f)`; from -1 to 1.
        width_factor: range of the distance to the right as a part of the width, likewise.
        fill_mode: the values outside of the image `abcd`: `"reflect"` (`dcbaabcddcba`), `"constant"`,
            `"wrap"` (`abcdabcdabcd`) or `"nearest"` (`aaaaabcddddd`). Default: `"reflect"`.
        interpolation: `"bilinear"` or `"nearest"`, as it always is for masks. Default: `"bilinear"`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        fill_value: the constant of `fill_mode="constant"`. Default: `0.0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to move anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range.
        NotImplementedError: for an unknown `fill_mode` or `interpolation`.

    Example:
        >>> layer = RandomTranslation(0.0, (0.25, 0.25), fill_mode="constant")
        >>> layer(tf.ones((1, 1, 4, 1))).numpy().ravel().tolist()
        [0.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(**given(locals(), "height_factor", "width_factor"))
        self.height_factor = height_factor
        self.width_factor = width_factor
        self._height_range = factors.symmetric(self, height_factor=height_factor)
        self._width_range = factors.symmetric(self, width_factor=width_factor)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the distances in pixels, to the right and downwards."""
        height, width = self.height_and_width(shape_of(images))
        down = self.uniform(images, self._height_range, seed, (1,)) * tf.cast(height, tf.float32)
        right = self.uniform(images, self._width_range, seed, (1,)) * tf.cast(width, tf.float32)
        return {"translations": tf.concat([right, down], axis=-1), "input_shape": shape_of(images)}

    def maps(self, drawn: Any) -> tf.Tensor:
        """Returns the translations."""
        # Maps lead from the output back to the input: hence the sign.
        x, y = tf.unstack(-tf.cast(drawn["translations"], tf.float32), 2, axis=1)
        return affine_maps(offset_x=x, offset_y=y)

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the boxes, moved."""
        # (batch, 4): both corners
        shifts = tf.cast(tf.tile(drawn["translations"], [1, 2]), boxes["boxes"].dtype)
        shifts = shifts[:, tf.newaxis] if boxes["boxes"].shape.rank == 3 else shifts
        size, _ = self.sizes(drawn)
        return clip_to_image_size({**boxes, "boxes": boxes["boxes"] + shifts}, *size)


class RandomShear(WarpingLayer):
    """While training, shears each image by random factors.

    Args:
        x_factor: range of the shift to the side as a part of the distance from the upper edge: a pair of
            numbers from -1 to 1, or one number `f` for `(-f, f)`. It is drawn to both sides.
            Default: `0.0`.
        y_factor: range of the shift up or down as a part of the distance from the left edge, likewise.
            Default: `0.0`.
        interpolation: `"bilinear"` or `"nearest"`, as it always is for masks. Default: `"bilinear"`.
        fill_mode: the values outside of the image `abcd`: `"reflect"` (`dcbaabcddcba`), `"constant"`,
            `"wrap"` (`abcdabcdabcd`) or `"nearest"` (`aaaaabcddddd`). Default: `"reflect"`.
        fill_value: the constant of `fill_mode="constant"`. Default: `0.0`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to shear anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range.
        NotImplementedError: for an unknown `fill_mode` or `interpolation`.

    Example:
        >>> layer = RandomShear(x_factor=(1.0, 1.0), fill_mode="constant", seed=1)
        >>> layer(tf.eye(3)[..., tf.newaxis])[..., 0].numpy().tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        x_factor: Any = 0.0,
        y_factor: Any = 0.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(**given(locals(), "x_factor", "y_factor"))
        self.x_factor = self._range(x_factor=x_factor)
        self.y_factor = self._range(y_factor=y_factor)

    def _range(self, **argument: Any) -> tuple[Any, Any]:
        ((_, value),) = argument.items()
        if factors.is_number(value):
            _, high = factors.positive(self, **argument)
            return -high, high
        return factors.positive(self, least=-1.0, **argument)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the factors for x and for y; both with the same sign, drawn before them."""
        sign = tf.where(self.uniform(images, (0.0, 1.0), seed, (1,)) < 0.5, 1.0, -1.0)
        y = self.uniform(images, self.y_factor, seed, (1,)) * sign
        x = self.uniform(images, self.x_factor, seed, (1,)) * sign
        return {"shear_factor": tf.concat([x, y], axis=-1), "input_shape": shape_of(images)}

    def maps(self, drawn: Any) -> tf.Tensor:
        """Returns the shears."""
        factor = tf.cast(drawn["shear_factor"], tf.float32)
        return affine_maps(lean_x=factor[:, 0], lean_y=factor[:, 1])

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the smallest boxes around the sheared ones."""
        size, _ = self.sizes(drawn)
        factor = tf.cast(drawn["shear_factor"], tf.float32)
        x, y = factor[:, 0], factor[:, 1]
        # The inverse of the map from where a pixel is shown to where it was.
        scale = 1 / (1 - x * y)
        inverse = affine_maps(scale, -x * scale, 0.0, -y * scale, scale)
        sheared = map_corners(boxes["boxes"], inverse)
        return clip_to_image_size({**boxes, "boxes": sheared}, *size)
