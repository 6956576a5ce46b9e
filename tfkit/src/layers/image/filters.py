"""Layers that blur and sharpen images at random."""

from __future__ import annotations

import functools
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, RandomImageLayer, choose_images, per_image
from tfkit.src.ops.image_filters import gaussian_blur
from tfkit.src.weights import random


class RandomGaussianBlur(RandomImageLayer):
    """While training, blurs some images by a Gaussian filter.

    Args:
        factor: probability of a change: a pair of numbers from 0 to 1 between which it is drawn, too, or one
            number `f` for `(0, f)`. Default: `1.0`.
        kernel_size: height and width of the filter in pixels: a pair of integers, or one for both. Default:
            `3`.
        sigma: range of the filter's standard deviations in pixels, which are drawn for all images together:
            a pair of numbers, or one number `f` for `(0, f)`. Default: `1.0`.
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
        ValueError: for a factor or a sigma out of its range, and a `value_range` that is not a pair.

    Example:
        >>> image = tf.constant([[[0.0], [100.0], [0.0]]])
        >>> bool(RandomGaussianBlur((1.0, 1.0), sigma=(1.0, 1.0))(image)[0, 0, 0] > 0.0)
        True
    """

    def __init__(
        self,
        factor: Any = 1.0,
        kernel_size: Any = 3,
        sigma: Any = 1.0,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        self.factor = factors.positive(self, least=-1.0, factor=factor)
        self.kernel_size = (
            (kernel_size,) * 2 if factors.is_number(kernel_size) else tuple(kernel_size)
        )
        self.sigma = factors.positive(self, most=float("inf"), sigma=sigma)
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns which images are blurred, and how much, downwards and sideways."""
        applies = self.happens(images, self.factor, seed)
        # A deviation of 0 has no filter.
        sigma = tf.maximum(random.uniform((2,), *self.sigma, "float32", seed), 1e-4)
        return {"should_apply_blur": applies, "blur_factor": sigma}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, some of them blurred."""
        sigma = tf.cast(drawn["blur_factor"], images.dtype)
        blurred = gaussian_blur(images, self.kernel_size, sigma, "channels_last")
        return choose_images(drawn["should_apply_blur"], blurred, images)


class RandomSharpness(factors.RandomFactorLayer):
    """While training, computes `smooth + (image - smooth) * sharpness`, with random sharpness per image.

    The smooth image has the means of 3 by 3 pixels, in which the middle one counts five times, and around
    the image there are zeros.

    Args:
        factor: range of a number that is multiplied by 2 for the sharpness: a pair of numbers from 0 to 1,
            or one number `f` for `(0, f)`. 0.5 means no change, 0 smooth images.
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
        >>> image = tf.reshape([0.0, 0.0, 0.0, 0.0, 130.0, 0.0, 0.0, 0.0, 0.0], (3, 3, 1))
        >>> RandomSharpness((0.0, 0.0))(image)[1, 1].numpy().round(3).tolist()
        [50.0]
    """

    _range = functools.partial(factors.positive, least=-1.0)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns half of the sharpnesses."""
        return {"factor": self.uniform(images, self.factor, seed, ())}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, smoother or sharper."""
        smooth = _smoothed(images)
        # As in Keras, a factor of 0.5 leaves images as they are.
        sharpness = 2.0 * per_image(drawn["factor"], images)
        return tf.clip_by_value(smooth + (images - smooth) * sharpness, *self.value_range)


def _smoothed(images: tf.Tensor) -> tf.Tensor:
    """Returns images in which each pixel is the weighted mean of 3 by 3, with zeros around the image."""
    padded = tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]])
    # Sums of shifted images instead of a convolution: the weights are 1, except for 5 in the middle.
    rows = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    sums = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
    return (sums + 4.0 * images) / 13.0  # 8 * 1 + 5
