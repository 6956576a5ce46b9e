"""A layer that resizes images."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.checks import check, is_integer
from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, ImageLayer, shape_of
from tfkit.src.ops.bounding_boxes import clip_to_image_size
from tfkit.src.ops.image_geometry import resize


class SizedLayer(ImageLayer):
    """A layer whose outputs have a given height and width."""

    _only_in_training = False
    height: int
    width: int

    def _tfkit_set_size(self, height: Any, width: Any) -> None:
        """Raises an error unless height and width are positive integers, and keeps them."""
        for name, value in (("height", height), ("width", width)):
            is_number = factors.is_number(value) or is_integer(value)
            holds = is_number and value > 0 and value == int(value)
            check(self, holds, name, "a positive integer", value)
            setattr(self, name, int(value))

    def sizes(self, drawn: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Returns height and width of the images before and after the change."""
        return self.height_and_width(drawn["input_shape"]), (self.height, self.width)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns only the shape, since nothing is random."""
        return {"input_shape": shape_of(images)}


class Resizing(SizedLayer):
    """Resizes images to a height and a width.

    Args:
        height: new height in pixels.
        width: new width in pixels.
        interpolation: `"bilinear"`, `"nearest"`, `"bicubic"`, `"lanczos3"`, `"lanczos5"` or `"area"`; masks
            are interpolated by `"nearest"`. Default: `"bilinear"`.
        crop_to_aspect_ratio: whether to crop the sides instead of distorting the image.
            Default: `False`.
        pad_to_aspect_ratio: whether to pad the sides instead of distorting the image.
            Default: `False`.
        fill_mode: the kind of padding; only `"constant"` is possible. Default: `"constant"`.
        fill_value: the constant. Default: `0.0`.
        antialias: whether to smooth images before they become smaller. Default: `False`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The input shape with the new height and width; integers remain integers in direct calls,
        and become floats in graphs, as of `tf.data` and `predict`.

    Raises:
        ValueError: for sizes that are not positive integers, unknown options, and two ways to keep the ratio.

    Example:
        >>> Resizing(2, 3)(tf.ones((1, 4, 4, 3))).shape
        TensorShape([1, 2, 3, 3])
    """

    _keeps_integers = True

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._tfkit_set_size(height, width)
        self.interpolation = interpolation
        self.crop_to_aspect_ratio = crop_to_aspect_ratio
        self.pad_to_aspect_ratio = pad_to_aspect_ratio
        self.fill_mode = fill_mode
        self.fill_value = fill_value
        self.antialias = antialias

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, resized."""
        return self._resized(images, self.interpolation, self.antialias)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks, resized without interpolation between values."""
        # A mean of two class indices would be a third class.
        return self._resized(masks, "nearest", False)

    def _resized(self, images: tf.Tensor, interpolation: str, antialias: bool) -> tf.Tensor:
        return resize(
            images,
            (self.height, self.width),
            interpolation,
            antialias,
            self.crop_to_aspect_ratio,
            self.pad_to_aspect_ratio,
            self.fill_mode,
            self.fill_value,
            "channels_last",
        )

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the boxes, resized."""
        (height, width), _ = self.sizes(drawn)
        values = self.scaled(boxes["boxes"], height, width)
        return clip_to_image_size({**boxes, "boxes": values}, self.height, self.width)

    def scaled(self, boxes: tf.Tensor, height: Any, width: Any) -> tf.Tensor:
        """Returns boxes in images of this height and width as boxes in the resized images."""
        seen = [height, width]
        # The height that fits the width in the ratio of
        # the result, and the width that fits the height.
        fitting = (width * self.height // self.width, height * self.width // self.height)
        # Cropping uses the largest part with this ratio,
        # padding the smallest area around the image.
        if self.crop_to_aspect_ratio:
            seen = [tf.minimum(*sides) for sides in zip(seen, fitting, strict=True)]
        elif self.pad_to_aspect_ratio:
            seen = [tf.maximum(*sides) for sides in zip(seen, fitting, strict=True)]
        # Negative where the image is padded.
        top, left = (height - seen[0]) // 2, (width - seen[1]) // 2
        scale = tf.stack([self.width / seen[1], self.height / seen[0]] * 2)
        moved = boxes - tf.cast(tf.stack([left, top] * 2), boxes.dtype)
        return moved * tf.cast(scale, boxes.dtype)
