"""Layers that map values of pixels: inverted, solarized, with fewer bits, stretched."""

from __future__ import annotations

import functools
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import (
    BoxedOptions,
    ImageLayer,
    ImageOptions,
    RandomImageLayer,
    batch_size,
    choose_images,
    one_each,
    per_image,
    with_values_from_0_to_1,
)
from tfkit.src.weights import random


class RandomInvert(RandomImageLayer):
    """While training, turns some images into their negatives: `high - (image - low)`.

    Args:
        factor: probability of a change: a pair of numbers from 0 to 1 between which it is drawn, too, or one
            number `f` for `(0, f)`. Default: `1.0`.
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
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
        >>> RandomInvert((1.0, 1.0))(tf.constant([[[0.0], [55.0]]])).numpy().ravel().tolist()
        [255.0, 200.0]
    """

    def __init__(
        self,
        factor: Any = 1.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        self.factor = factors.positive(self, least=-1.0, factor=factor)
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns which images are inverted."""
        return {"apply_inversion": self.happens(images, self.factor, seed)}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, some of them as negatives."""
        low, high = (tf.cast(bound, images.dtype) for bound in self.value_range)
        return choose_images(drawn["apply_inversion"], high - (images - low), images)


class Solarization(RandomImageLayer):
    """While training, adds a number to each image, and inverts the pixels above a threshold.

    Args:
        addition_factor: range of the number, as a part of the range of values: a pair of numbers from 0 to
            1, or one number `f` for `(0, f)`. Default: `0.0`.
        threshold_factor: range of the threshold, likewise; at 0 all pixels are inverted. Default: `0.0`.
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        **kwargs: `data_format` (`None`); `bounding_box_format`, the format of boxes (`None`); and the
            arguments of every layer: `name`, `trainable`, `dtype`.

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
        >>> layer = Solarization(threshold_factor=(0.5, 0.5))
        >>> layer(tf.constant([[[100.0], [200.0]]])).numpy().ravel().tolist()
        [100.0, 55.0]
    """

    def __init__(
        self,
        addition_factor: Any = 0.0,
        threshold_factor: Any = 0.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        **kwargs: Unpack[ImageOptions],
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.addition_factor = factors.positive(self, addition_factor=addition_factor)
        self.threshold_factor = factors.positive(self, threshold_factor=threshold_factor)
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the numbers to add, and the thresholds, for values from 0 to 255."""
        shape = one_each(images)
        return {
            name: self.uniform(images, [255.0 * bound for bound in bounds], seed, shape)
            for name, bounds in (
                ("additions", self.addition_factor),
                ("thresholds", self.threshold_factor),
            )
        }

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, solarized."""
        images = tf.cast(images, self.compute_dtype)
        low, high = self.value_range
        scale = 255.0 / (high - low)
        # In the range of 0 to 255, for which the factors are drawn.
        values = (images - low) * scale + per_image(drawn["additions"], images)
        values = tf.clip_by_value(values, 0.0, 255.0)
        inverted = tf.where(values < per_image(drawn["thresholds"], images), values, 255.0 - values)
        return inverted / scale + low


class RandomPosterization(factors.RandomFactorLayer):
    """While training, keeps only the highest of the 8 bits of each value.

    Args:
        factor: range of the number of bits, whose end is excluded: a pair of numbers from 1 to 8, or one
            number `f` for `(1, f)`.
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
        >>> layer = RandomPosterization(2)  # One bit.
        >>> layer(tf.constant([[[100.0], [200.0]]])).numpy().ravel().tolist()
        [0.0, 128.0]
    """

    _range = functools.partial(factors.positive, most=8, least=1, start=1)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns how many bits are dropped."""
        low, high = map(int, self.factor)
        if low == high:  # Nothing is drawn, as in Keras: otherwise the next draws would differ.
            return {"shift_factor": tf.fill([batch_size(images)], tf.constant(8 - low, tf.uint8))}
        kept = random.randint((batch_size(images),), low, high, "uint8", seed)
        return {"shift_factor": 8 - kept}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images with fewer bits."""

        def shifted(values: tf.Tensor) -> tf.Tensor:
            step = 2.0 ** tf.reshape(tf.cast(drawn["shift_factor"], values.dtype), [-1, 1, 1, 1])
            whole = tf.floor(tf.clip_by_value(values * 255.0, 0.0, 255.0))
            # Arithmetic instead of bit shifts, which floats do not have.
            return tf.floor(whole / step) * step / 255.0

        return with_values_from_0_to_1(images, self.value_range, shifted)


class AutoContrast(ImageLayer):
    """Stretches each channel of each image to the whole range of values.

    Args:
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        **kwargs: `data_format` (`None`); `bounding_box_format`, the format of boxes (`None`); and the
            arguments of every layer: `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a `value_range` that is not a pair.

    Example:
        >>> AutoContrast()(tf.constant([[[50.0], [75.0], [100.0]]])).numpy().ravel().tolist()
        [0.0, 127.5, 255.0]
    """

    _only_in_training = False

    def __init__(self, value_range: Any = (0, 255), **kwargs: Unpack[ImageOptions]) -> None:
        super().__init__(**kwargs)
        self.value_range = factors.pair_of_values(self, value_range)

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, stretched."""
        low, high = self.value_range
        values = tf.cast(images, tf.float32)
        least = tf.reduce_min(values, axis=[1, 2], keepdims=True)
        most = tf.reduce_max(values, axis=[1, 2], keepdims=True)
        stretched = tf.math.divide_no_nan(values - least, most - least) * (high - low) + low
        # A channel with a single value cannot be stretched, nor can what is infinite or NaN.
        fits = (most > least) & ~tf.math.is_nan(stretched)
        return tf.cast(tf.where(fits, tf.clip_by_value(stretched, low, high), values), images.dtype)
