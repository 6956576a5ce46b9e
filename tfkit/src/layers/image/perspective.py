"""A layer that changes the perspective of images at random."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, batch_size, shape_of
from tfkit.src.layers.image.warping import WarpingLayer
from tfkit.src.ops.image_warping import map_of_points
from tfkit.src.weights import random


class RandomPerspective(WarpingLayer):
    """While training, moves the corners of some images, and warps the pixels between them.

    Args:
        factor: probability of a change: a pair of numbers from 0 to 1 between which it is drawn, too, or one
            number `f` for `(0, f)`. Default: `1.0`.
        scale: how far corners move: by up to `scale / 2` of the image's sides, inwards or outwards; from 0
            to 1. The upper left one is fixed. Default: `1.0`.
        interpolation: `"bilinear"` or `"nearest"`, as it always is for masks. Default: `"bilinear"`.
        fill_value: value outside of the image. Default: `0.0`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor or a scale out of its range.
        NotImplementedError: for an unknown `interpolation`.

    Example:
        >>> RandomPerspective(scale=0.5, seed=1)(tf.ones((2, 8, 8, 3))).shape
        TensorShape([2, 8, 8, 3])
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: float = 1.0,
        interpolation: str = "bilinear",
        fill_value: float = 0.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(
            "constant", interpolation, fill_value, seed, data_format=data_format, **kwargs
        )
        self.factor = factors.positive(self, least=-1.0, factor=factor)
        if not (factors.is_number(scale) and 0 <= scale <= 1):
            raise ValueError(
                f"The `scale` argument should be a number in the range [0, 1]. Received: scale={scale!r}"
            )
        self.scale = scale

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns which images are warped, the corners, and their new positions."""
        applies = self.happens(images, self.factor, seed)
        shape = shape_of(images)
        bottom, right = (tf.cast(side, tf.float32) - 1 for side in self.height_and_width(shape))
        # The corners as (x, y): top left, top right, bottom left, bottom right.
        corners = tf.stack([0.0, 0.0, right, 0.0, 0.0, bottom, right, bottom])
        start = tf.tile(tf.reshape(corners, [1, 4, 2]), [batch_size(images), 1, 1])
        half = self.scale / 2
        moves = random.uniform((batch_size(images), 4, 2), -half, half, "float32", seed)
        return {
            "apply_perspective": applies,
            "start_points": start,
            # Keras's formula: the corner at (0, 0) stays where it is.
            "end_points": start + start * moves,
            "input_shape": shape,
        }

    def maps(self, drawn: Any) -> tf.Tensor:
        """Returns the maps of the corners; identity maps for images that are not warped."""
        start, end = (tf.cast(drawn[name], tf.float32) for name in ("start_points", "end_points"))
        applies = tf.reshape(drawn["apply_perspective"], [-1, 1])
        same = tf.constant([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
        return tf.where(applies, map_of_points(start, end), same)
