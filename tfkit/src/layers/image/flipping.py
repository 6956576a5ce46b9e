"""A layer that mirrors images at random."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.checks import check
from tfkit.src.layers.image.base import (
    BoxedOptions,
    RandomImageLayer,
    choose_images,
    one_each,
    shape_of,
)
from tfkit.src.ops.bounding_boxes import clip_to_image_size

HORIZONTAL, VERTICAL, BOTH = "horizontal", "vertical", "horizontal_and_vertical"


class RandomFlip(RandomImageLayer):
    """While training, mirrors each image with probability 1/2.

    Args:
        mode: `"horizontal"` (swaps left and right), `"vertical"` (swaps top and bottom) or
            `"horizontal_and_vertical"` (both at once). Default: `"horizontal_and_vertical"`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to mirror anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for any other mode.

    Example:
        >>> layer = RandomFlip("horizontal", seed=5)
        >>> layer(tf.constant([[[1], [2], [3]]])).numpy().ravel().tolist()
        [3.0, 2.0, 1.0]
    """

    def __init__(
        self,
        mode: str = BOTH,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        check(
            self,
            mode in (HORIZONTAL, VERTICAL, BOTH),
            "mode",
            f"one of {HORIZONTAL, VERTICAL, BOTH}",
            mode,
        )
        self.mode = mode

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns which images are mirrored."""
        flips = self.uniform(images, (0.0, 1.0), seed, one_each(images)) <= 0.5
        return {"flips": flips, "input_shape": shape_of(images)}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, mirrored."""
        # All images are mirrored, and then chosen: a gather of those to mirror would have an
        # unknown size, which XLA does not compile.
        return choose_images(drawn["flips"], self._mirrored(images), images)

    def _mirrored(self, images: tf.Tensor) -> tf.Tensor:
        batch, height, width, channels = shape = shape_of(images)
        # The reversed axis is made the middle one of three: TensorFlow's kernel copies whole pixels there,
        # and needs 1.5 us instead of 12 for 64 by 64 pixels.
        axes = {
            HORIZONTAL: (batch * height, width, channels),
            VERTICAL: (batch, height, width * channels),
            BOTH: (batch, height * width, channels),
        }
        return tf.reshape(tf.reverse(tf.reshape(images, axes[self.mode]), [1]), shape)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks, mirrored."""
        return self.change(masks, drawn)

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the boxes, mirrored."""
        (height, width), _ = self.sizes(drawn)
        height, width = (tf.cast(size, boxes["boxes"].dtype) for size in (height, width))
        left, top, right, bottom = tf.unstack(boxes["boxes"], axis=-1)
        if self.mode != VERTICAL:
            left, right = width - right, width - left
        if self.mode != HORIZONTAL:
            top, bottom = height - bottom, height - top
        mirrored = tf.stack([left, top, right, bottom], axis=-1)
        mirrored = choose_images(drawn["flips"], mirrored, boxes["boxes"])
        return clip_to_image_size({**boxes, "boxes": mirrored}, height, width)
