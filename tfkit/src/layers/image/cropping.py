"""Layers that crop images in their centre or at random positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.engine.variable_values import not_constant
from tfkit.src.layers.image.base import BoxedOptions, NamedBoxedOptions, RandomImageLayer, shape_of
from tfkit.src.layers.image.sizes import Resizing, SizedLayer
from tfkit.src.ops.bounding_boxes import clip_to_image_size, crop
from tfkit.src.ops.image_geometry import resize
from tfkit.src.weights import random


def _choose(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Returns `tf.cond`, or directly one of the results if the condition is static."""
    if isinstance(condition, bool):
        return if_true() if condition else if_false()
    return tf.cond(condition, if_true, if_false)


def _middle(rows: Any, columns: Any) -> list[Any]:
    """Returns the numbers of rows above and of columns to the left of the part in the middle."""
    return [rows // 2, columns // 2]


class _Crop(SizedLayer):
    """Cuts a part out of images; images that are too small are enlarged first.

    The drawn numbers are `"top"` and `"left"`, and whether the part `"fits"`.
    """

    def _exceed(self, height: Any, width: Any, margin: int) -> Any:
        """Whether both sides of images exceed the part by `margin`; a boolean if the size is known."""
        tall, wide = height >= self.height + margin, width >= self.width + margin
        known = isinstance(height, int) and isinstance(width, int)
        return tall and wide if known else tf.logical_and(tall, wide)

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the parts of the images."""
        return self._part(images, drawn, "bilinear")

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the parts of the masks."""
        return self._part(masks, drawn, "nearest")

    def _part(self, images: tf.Tensor, drawn: Any, interpolation: str) -> tf.Tensor:
        size = (self.height, self.width)
        part = _choose(
            drawn["fits"],
            lambda: self._cut(images, drawn),
            lambda: tf.cast(
                resize(
                    images,
                    size,
                    interpolation,
                    crop_to_aspect_ratio=True,
                    data_format="channels_last",
                ),
                images.dtype,
            ),
        )
        return tf.ensure_shape(part, [images.shape[0], *size, images.shape[3]])

    def _cut(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        size = (self.height, self.width)
        top, left = drawn["top"], drawn["left"]
        batch, _, _, channels = shape_of(images)
        if isinstance(drawn["fits"], bool):
            # A size of -1 would let XLA compile again for each position.
            return tf.slice(images, tf.stack([0, top, left, 0]), tf.stack([batch, *size, channels]))
        # XLA compiles this branch for images that are too small as well, and it must have the same shape.
        found = tf.minimum(tf.shape(images)[1:3], size)
        begin = tf.concat([[0], tf.maximum(tf.stack([top, left]), 0), [0]], 0)
        part = tf.slice(images, begin, tf.concat([[batch], found, [channels]], 0))
        missing = tf.concat([[0], size - found, [0]], 0)
        return tf.pad(part, tf.stack([tf.zeros_like(missing), missing], 1))

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the boxes in the part."""
        # The same change that `_part` makes to images that are too small.
        resizing = Resizing(self.height, self.width, crop_to_aspect_ratio=True)
        shape = {"input_shape": (*self.sizes(drawn)[0], 1)}
        values = _choose(
            drawn["fits"],
            lambda: crop(boxes["boxes"], drawn["top"], drawn["left"], self.height, self.width),
            lambda: resizing.scaled(boxes["boxes"], *shape["input_shape"][:2]),
        )
        return clip_to_image_size({**boxes, "boxes": values}, self.height, self.width)


class CenterCrop(_Crop):
    """Cuts the middle out of images; images that are too small are enlarged, and cut at the sides.

    Args:
        height: height of the part in pixels.
        width: width of the part in pixels.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The input shape with the new height and width.

    Raises:
        ValueError: for sizes that are not positive integers.

    Example:
        >>> CenterCrop(1, 2)(tf.constant([[[1], [2], [3], [4]]])).numpy().ravel().tolist()
        [2.0, 3.0]
    """

    def __init__(
        self,
        height: int,
        width: int,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._tfkit_set_size(height, width)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the position of the middle."""
        shape = shape_of(images)
        height, width = self.height_and_width(shape)
        top, left = _middle(height - self.height, width - self.width)
        return {
            "top": top,
            "left": left,
            "fits": self._exceed(height, width, 0),
            "input_shape": shape,
        }


class RandomCrop(_Crop, RandomImageLayer):
    """While training, cuts a part out of images at a random position, the same for all images of a batch.

    Where one side of the images has the size of the part already, the middle is cut out. Outside of
    training, and where images are too small, the largest part of the same ratio of sides is cut out of
    their middle, and resized.

    Args:
        height: height of the part in pixels.
        width: width of the part in pixels.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's name.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether the position is random. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The input shape with the new height and width.

    Raises:
        ValueError: for sizes that are not positive integers.

    Example:
        >>> image = tf.reshape(tf.range(1, 9), [2, 4, 1])
        >>> RandomCrop(1, 2, seed=2)(image).numpy().ravel().tolist()
        [5.0, 6.0]
    """

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Unpack[NamedBoxedOptions],
    ) -> None:
        if seed is None:
            # Keras draws a seed for the configuration before the layer's own seed; without this draw, all
            # layers that are made later would have different seeds than in Keras.
            random.make_default_seed()
        super().__init__(seed=seed, data_format=data_format, name=name, **kwargs)
        self._tfkit_set_size(height, width)

    def get_random_transformation(self, data: Any, training: Any = True, seed: Any = None) -> Any:
        """Draws the position of the part; outside of training, images are resized, and nothing is drawn."""
        if training:
            return super().get_random_transformation(data, training, seed)
        shape = shape_of(data["images"] if isinstance(data, Mapping) else data)
        return {"top": 0, "left": 0, "fits": False, "input_shape": shape}

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the position of the part."""
        shape = shape_of(images)
        height, width = self.height_and_width(shape)
        fits = self._exceed(height, width, 0)
        # Keras draws for both sides or for none, and the draws after it depend on that.
        top, left = _choose(
            self._exceed(height, width, 1),
            lambda: self._place(height, width, seed),
            lambda: _middle(height - self.height, width - self.width),
        )
        return {"top": top, "left": left, "fits": fits, "input_shape": shape}

    def _place(self, height: Any, width: Any, seed: Any) -> list[tf.Tensor]:
        """Returns the number of rows above, and of columns to the left, of the part."""
        place = []
        for most in (height - self.height, width - self.width):
            drawn = random.uniform((), 0.0, tf.cast(most + 1, tf.float32), "float32", seed)
            # A number next to the bound may be rounded up to it.
            place.append(tf.minimum(tf.cast(drawn, tf.int32), most))
        return tf.unstack(not_constant(tf.stack(place)))
