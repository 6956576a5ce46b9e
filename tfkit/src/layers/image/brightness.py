"""Layers that change brightness and contrast at random."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import (
    ImageOptions,
    RandomImageLayer,
    one_each,
    per_image,
    shape_of,
)


class RandomBrightness(RandomImageLayer):
    """While training, adds a random number to each image.

    Args:
        factor: range of the number, as a part of the range of values: a pair of numbers, or one number `f`
            for `(-f, f)`; from -1 to 1.
        value_range: the smallest and the largest value of the images, to which results are clipped.
            Default: `(0, 255)`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        **kwargs: `data_format` (`None`); `bounding_box_format`, the format of boxes (`None`); and the
            arguments of every layer: `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The input shape; integers remain integers in direct calls, and become
        floats in graphs, as of `tf.data` and `predict`.

    Raises:
        ValueError: for a factor out of its range, and a `value_range` that is not a pair.

    Example:
        >>> layer = RandomBrightness((0.5, 0.5), value_range=(0, 1))
        >>> layer(tf.constant([[[0.0], [0.25], [1.0]]])).numpy().ravel().tolist()
        [0.5, 0.75, 1.0]
    """

    _keeps_integers = True

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        seed: int | None = None,
        **kwargs: Unpack[ImageOptions],
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.factor = factors.symmetric(self, factor=factor)
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the numbers to add."""
        low, high = self.value_range
        drawn = self.uniform(images, self.factor, seed, one_each(images))
        return {"rgb_delta": drawn * float(high - low)}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, brighter or darker."""
        images = tf.cast(images, self.compute_dtype)
        return tf.clip_by_value(images + per_image(drawn["rgb_delta"], images), *self.value_range)


class RandomContrast(RandomImageLayer):
    """While training, computes `(image - mean) * contrast + mean`, with a random contrast for each image.

    There is one mean for each channel.

    Args:
        factor: range of the contrast, which is drawn from `1 - lower` to `1 + upper`: a pair `(lower, upper)`
            of numbers from 0 to 1, or one number for `upper`, with `lower = 0`.
        value_range: the smallest and the largest value of the images, to which results are clipped.
            Default: `(0, 255)`.
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
        >>> layer = RandomContrast((0.5, 0.5), seed=1)
        >>> outputs = layer(tf.constant([[[10.0], [20.0]]])).numpy().ravel()
        >>> bool(outputs[0] + outputs[1] == 30.0)
        True
    """

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        seed: int | None = None,
        **kwargs: Unpack[ImageOptions],
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.factor = factors.positive(self, least=-1.0, factor=factor)
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the contrasts."""
        lower, upper = self.factor
        bounds = (1.0 - lower, 1.0 + upper)
        return {"contrast_factor": self.uniform(images, bounds, seed, one_each(images))}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images with the drawn contrast."""
        # Half precision cannot sum up the pixels of an image.
        values = tf.cast(images, tf.float32)
        # One axis after the other: both at once take four times as long. The mean is repeated for each
        # column: the values of a row are then contiguous, which makes the subtraction eight times as fast as
        # with one value for each channel.
        mean = tf.reduce_mean(tf.reduce_mean(values, 1, keepdims=True), 2, keepdims=True)
        mean = tf.tile(mean, [1, 1, shape_of(images)[2], 1])
        contrast = per_image(drawn["contrast_factor"], values)
        return tf.cast(
            tf.clip_by_value((values - mean) * contrast + mean, *self.value_range), images.dtype
        )
