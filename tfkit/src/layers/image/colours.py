"""Layers that change saturation, hue and colourfulness at random."""

from __future__ import annotations

import functools
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import (
    BoxedOptions,
    RandomImageLayer,
    choose_images,
    per_image,
    shape_of,
    with_values_from_0_to_1,
)
from tfkit.src.layers.image.brightness import RandomBrightness, RandomContrast
from tfkit.src.ops.image_filters import hues_of, rgb_to_grayscale


class RandomSaturation(factors.RandomFactorLayer):
    """While training, multiplies the saturation of each image by a random factor.

    A drawn number `f` gives the factor `f / (1 - f)`: 0.5 means no change, 0 grey.

    Args:
        factor: range of the number: a pair of numbers, or one number `f` for `(-f, f)`; from -1 to 1. What
            is below 0 makes images grey.
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
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
        ValueError: for a factor out of its range, and a `value_range` that is not a pair.

    Example:
        >>> layer = RandomSaturation((0.0, 0.0))
        >>> layer(tf.constant([[[255.0, 0.0, 51.0]]])).numpy().tolist()
        [[[255.0, 255.0, 255.0]]]
    """

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the factors."""
        drawn = self.uniform(images, self.factor, seed, ())
        # Keras's mapping: 0.5 leaves an image as it is, 1 multiplies without a limit.
        return {"factor": drawn / (1 - drawn + settings.epsilon())}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images with the changed saturation."""

        def saturated(values: tf.Tensor) -> tf.Tensor:
            hue, saturation, value = tf.split(hues_of(values), 3, axis=-1)
            factor = per_image(drawn["factor"], values)
            saturation = tf.clip_by_value(saturation * factor, 0.0, 1.0)
            return tf.image.hsv_to_rgb(tf.concat([hue, saturation, value], axis=-1))

        return with_values_from_0_to_1(images, self.value_range, saturated)


class RandomHue(factors.RandomFactorLayer):
    """While training, moves the hue of each image by a random distance, in either direction.

    Args:
        factor: range of the distance, as a part of half the circle of hues: a pair of numbers from 0 to 1,
            or one number `f` for `(0, f)`.
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
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
        ValueError: for a factor out of its range, and a `value_range` that is not a pair.

    Example:
        >>> layer = RandomHue((1.0, 1.0), value_range=(0, 1))  # Red becomes cyan.
        >>> layer(tf.constant([[[1.0, 0.0, 0.0]]])).numpy().tolist()
        [[[0.0, 1.0, 1.0]]]
    """

    _range = functools.partial(factors.positive, least=-1.0)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the distances, as parts of the circle."""
        sign = tf.where(self.uniform(images, (0.0, 1.0), seed, ()) > 0.5, -1.0, 1.0)
        # As parts of the circle: the hue that is farthest away is at 0.5.
        return {"factor": sign * self.uniform(images, self.factor, seed, ()) * 0.5}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images with the changed hue."""

        def turned(values: tf.Tensor) -> tf.Tensor:
            hue, saturation, value = tf.split(hues_of(values), 3, axis=-1)
            # The hue is an angle: values that leave the range on one side enter it on the other.
            hue = tf.math.floormod(hue + per_image(drawn["factor"], values), 1.0)
            colours = tf.image.hsv_to_rgb(tf.concat([hue, saturation, value], axis=-1))
            # The conversion may pass the limits by a rounding.
            return tf.clip_by_value(colours, 0.0, 1.0)

        return with_values_from_0_to_1(images, self.value_range, turned)


class RandomColorDegeneration(factors.RandomFactorLayer):
    """While training, mixes each image with its grey one: `image + factor * (grey - image)`.

    Args:
        factor: range of the factor, 0 for no change and 1 for grey: a pair of numbers, or one number `f` for
            `(-f, f)`; from -1 to 1.
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
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
        ValueError: for a factor out of its range, and a `value_range` that is not a pair.

    Example:
        >>> layer = RandomColorDegeneration((1.0, 1.0))
        >>> layer(tf.constant([[[100.0, 0.0, 0.0]]])).numpy().round(2).tolist()
        [[[29.889999389648438, 29.889999389648438, 29.889999389648438]]]
    """

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the factors."""
        return {"factor": self.uniform(images, self.factor, seed)}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, more or less grey."""
        grey = rgb_to_grayscale(images, "channels_last")
        mixed = images + per_image(drawn["factor"], images) * (grey - images)
        return tf.clip_by_value(mixed, *self.value_range)


class RandomGrayscale(RandomImageLayer):
    """While training, makes some images grey; they keep their number of channels.

    Args:
        factor: probability with which an image becomes grey, from 0 to 1. Default: `0.5`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
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
        ValueError: for a factor that is not a number from 0 to 1.

    Example:
        >>> RandomGrayscale(1.0)(tf.constant([[[100, 0, 0]]])).numpy().tolist()
        [[[29, 29, 29]]]
    """

    _keeps_integers = True

    def __init__(
        self,
        factor: float = 0.5,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        if not (factors.is_number(factor) and 0 <= factor <= 1):
            raise ValueError(
                f"`factor` should be between 0 and 1. Received: factor={factor!r} for layer "
                f"{type(self).__name__}"
            )
        self.factor = factor

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns which images become grey."""
        return {"becomes_grey": self.uniform(images, (0.0, 1.0), seed) < self.factor}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, some of them grey."""
        grey = tf.broadcast_to(rgb_to_grayscale(images, "channels_last"), shape_of(images))
        return choose_images(drawn["becomes_grey"], grey, images)


class RandomColorJitter(RandomImageLayer):
    """While training, changes the brightness, contrast, saturation and hue of each image, in this order.

    Args:
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        brightness_factor: factor of `RandomBrightness`; `None` for no change.
        contrast_factor: factor of `RandomContrast`; `None` for no change.
        saturation_factor: factor of `RandomSaturation`; `None` for no change.
        hue_factor: factor of `RandomHue`; `None` for no change.
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
        ValueError: for a factor out of its range, and a `value_range` that is not a pair.

    Example:
        >>> layer = RandomColorJitter((0, 1), brightness_factor=(0.5, 0.5))
        >>> layer(tf.constant([[[0.0, 0.25, 1.0]]])).numpy().tolist()
        [[[0.5, 0.75, 1.0]]]
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        brightness_factor: Any = None,
        contrast_factor: Any = None,
        saturation_factor: Any = None,
        hue_factor: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        self.value_range = factors.pair_of_values(self, value_range)
        self.brightness_factor = brightness_factor
        self.contrast_factor = contrast_factor
        self.saturation_factor = saturation_factor
        self.hue_factor = hue_factor
        kinds: list[tuple[str, Any, Any]] = [
            ("random_brightness", RandomBrightness, brightness_factor),
            ("random_contrast", RandomContrast, contrast_factor),
            ("random_saturation", RandomSaturation, saturation_factor),
            ("random_hue", RandomHue, hue_factor),
        ]
        for name, kind, factor in kinds:
            if factor is not None:
                options = {"value_range": self.value_range, "seed": self.seed}
                setattr(self, name, kind(factor, dtype=self.dtype_policy, **options))
        self._parts = [name for name, _, factor in kinds if factor is not None]

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the draws of each of the changes, by its name."""
        return {name: getattr(self, name).draw(images, seed) for name in self._parts}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images after all changes, in order."""
        for name in self._parts:
            # Parts are called without their own `call`: they share the draw of this layer.
            images = tf.cast(getattr(self, name).change(images, drawn[name]), images.dtype)
        return images
