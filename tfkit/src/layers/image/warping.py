"""The base of layers that move the pixels of images: a projective map for each image."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import ImageOptions, RandomImageLayer
from tfkit.src.ops.bounding_boxes import clip_to_image_size, inverse_maps, map_corners
from tfkit.src.ops.image_warping import affine_transform
from tfkit.src.ops.shaping import static_or_dynamic_shape


class WarpingLayer(RandomImageLayer):
    """Warps each image by its own map.

    A subclass defines in `maps` the position in the image of each pixel of the result.

    Args:
        fill_mode: the values outside of the image, as in `ops.image.affine_transform`.
        interpolation: `"bilinear"` or `"nearest"`; masks are always interpolated by `"nearest"`.
        fill_value: the constant of `fill_mode="constant"`.
        **kwargs: arguments of every random layer of images.
    """

    def __init__(
        self,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        fill_value: float = 0.0,
        seed: int | None = None,
        **kwargs: Unpack[ImageOptions],
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        factors.fills(self, fill_mode, interpolation)
        self.fill_mode = fill_mode
        self.interpolation = interpolation
        self.fill_value = fill_value

    def maps(self, drawn: Any) -> tf.Tensor:
        """Returns the maps from pixels of the results to pixels of the images, of shape `(batch, 8)`."""
        raise NotImplementedError

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, warped."""
        return self._warped(images, drawn, self.interpolation)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks, warped without interpolation between values."""
        return self._warped(masks, drawn, "nearest")

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the smallest boxes around the warped ones, clipped to the image."""
        size, _ = self.sizes(drawn)
        # Maps lead from the result to the image, and boxes move the other way.
        warped = map_corners(boxes["boxes"], inverse_maps(self.maps(drawn)))
        return clip_to_image_size({**boxes, "boxes": warped}, *size)

    def _warped(self, images: tf.Tensor, drawn: Any, interpolation: str) -> tf.Tensor:
        return affine_transform(
            images,
            self.maps(drawn),
            interpolation,
            self.fill_mode,
            self.fill_value,
            "channels_last",
        )


def affine_maps(
    scale_x: Any = 1.0,
    lean_x: Any = 0.0,
    offset_x: Any = 0.0,
    lean_y: Any = 0.0,
    scale_y: Any = 1.0,
    offset_y: Any = 0.0,
) -> tf.Tensor:
    """Maps `(x, y)` to `(scale_x * x + lean_x * y + offset_x, lean_y * x + scale_y * y + offset_y)`.

    Each argument is a number, or has one for each image, of any shape.
    """
    numbers = (scale_x, lean_x, offset_x, lean_y, scale_y, offset_y, 0.0, 0.0)
    vectors = [tf.reshape(tf.cast(number, tf.float32), [-1]) for number in numbers]
    # Numbers for all images have one entry, others one for each image.
    sizes = [static_or_dynamic_shape(vector)[0] for vector in vectors if vector.shape[0] != 1]
    if sizes:
        count = tf.reduce_max(sizes)
        vectors = [tf.broadcast_to(vector, [count]) for vector in vectors]
    return tf.stack(vectors, axis=-1)
