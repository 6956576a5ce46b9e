"""A layer that warps images elastically."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, RandomImageLayer, choose_images, shape_of
from tfkit.src.ops.image_geometry import as_batch, check_choice, check_images
from tfkit.src.ops.image_sampling import sample
from tfkit.src.symbolic.tensors import symbolic_op
from tfkit.src.weights import random


@symbolic_op
def elastic_transform(
    images: Any,
    alpha: Any = 20.0,
    sigma: Any = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: float = 0.0,
    seed: random.Seed = None,
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns images in which each pixel is moved by smooth noise.

    The noise is normal, of deviation `sigma`, smoothed by a Gaussian filter of the same deviation, and
    multiplied by `alpha`. As in Keras, a pixel moves by the same number downwards and to the side.

    Args:
        images: one image of shape `(height, width, channels)` or a batch of shape
            `(batch, height, width, channels)`; channels before height for `"channels_first"`.
        alpha: how far pixels are moved. Default: `20.0`.
        sigma: how far neighbours are moved alike, in pixels. Default: `5.0`.
        interpolation: `"bilinear"` or `"nearest"`. Default: `"bilinear"`.
        fill_mode: the values outside of `abcd`: `"constant"`, `"nearest"` (`aaabcddd`), `"wrap"`
            (`bcdabcdabc`), `"mirror"` (`dcbabcdcba`) or `"reflect"` (`dcbaabcddcba`). Default: `"reflect"`.
        fill_value: the constant. Default: `0.0`.
        seed: an integer (equal noise each time), a `SeedGenerator` (new noise each time) or `None`
            (new noise from the global generator).
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `config.image_data_format()`.

    Returns:
        A tensor of the shape and dtype of `images`; integers are rounded.

    Raises:
        ValueError: for any other option or rank.

    Example:
        >>> ops.image.elastic_transform(tf.ones((2, 8, 8, 3)), seed=1).shape
        TensorShape([2, 8, 8, 3])
    """
    images = check_images(images)

    def moved(batch: tf.Tensor) -> tf.Tensor:
        moves = displacements(shape_of(batch)[:3], alpha, sigma, seed)
        return displaced(batch, moves, interpolation, fill_mode, fill_value)

    return as_batch(images, data_format, moved)


def displacements(shape: Any, alpha: Any, sigma: Any, seed: random.Seed) -> tf.Tensor:
    """Returns the pixels' displacements, downwards and sideways, of shape `(batch, height, width)`."""
    sigma, alpha = tf.cast(sigma, tf.float32), tf.cast(alpha, tf.float32)
    noise = random.normal(shape, 0.0, sigma, "float32", seed)
    # A filter that covers three whole deviations on each side.
    half = 3 * tf.cast(sigma, tf.int32)
    offsets = tf.cast(tf.range(-half, half + 1), tf.float32)
    weights = tf.exp(-0.5 * tf.math.divide_no_nan(offsets, sigma) ** 2)
    weights = weights / tf.reduce_sum(weights)
    values = noise[..., tf.newaxis]
    # A Gaussian filter of two dimensions is the product of two of one: 2 k multiplications instead
    # of k ** 2.
    for form in ([-1, 1, 1, 1], [1, -1, 1, 1]):
        values = tf.nn.conv2d(values, tf.reshape(weights, form), 1, "SAME")
    return values[..., 0] * alpha


def displaced(
    images: tf.Tensor, moves: tf.Tensor, interpolation: str, fill_mode: str, fill_value: Any
) -> tf.Tensor:
    """Returns a batch of images in which each pixel is moved."""
    check_choice("interpolation", interpolation, ("nearest", "bilinear"))
    check_choice("fill_mode", fill_mode, ("constant", "nearest", "wrap", "mirror", "reflect"))
    values = images if images.dtype.is_floating else tf.cast(images, tf.float32)
    _, height, width, _ = shape_of(images)
    y = tf.cast(tf.range(height), tf.float32)[:, tf.newaxis] + moves  # (batch, height, width)
    x = tf.cast(tf.range(width), tf.float32) + moves
    outputs = sample(values, y, x, interpolation, fill_mode, fill_value)
    outputs = outputs if images.dtype.is_floating else tf.round(outputs)
    return tf.ensure_shape(tf.saturate_cast(outputs, images.dtype), images.shape)


class RandomElasticTransform(RandomImageLayer):
    """While training, warps some images by `ops.image.elastic_transform`.

    Args:
        factor: probability of a change: a pair of numbers from 0 to 1 between which it is drawn, too, or one
            number `f` for `(0, f)`. Default: `1.0`.
        scale: range of a number for all images together, with which the distance and the smoothness of the
            warp grow: a pair of numbers from 0 to 1, or one number `f` for `(0, f)`. Default: `1.0`.
        interpolation: `"bilinear"` or `"nearest"`, as it always is for masks. Default: `"bilinear"`.
        fill_mode: the values outside of the image `abcd`: `"reflect"` (`dcbaabcddcba`), `"constant"`,
            `"wrap"` (`abcdabcdabcd`) or `"nearest"` (`aaaaabcddddd`). Default: `"reflect"`.
        fill_value: the constant of `fill_mode="constant"`. Default: `0.0`.
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
        ValueError: for a factor or a scale out of its range, and a `value_range` that is not a pair.
        NotImplementedError: for an unknown `fill_mode` or `interpolation`; and for bounding boxes, of which
            no warp of this kind makes boxes.

    Example:
        >>> RandomElasticTransform(seed=1)(tf.ones((2, 8, 8, 3))).shape
        TensorShape([2, 8, 8, 3])
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = 1.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        factors.fills(self, fill_mode, interpolation)
        self.factor = factors.positive(self, least=-1.0, factor=factor)
        self.scale = factors.positive(self, scale=scale)
        self.interpolation = interpolation
        self.fill_mode = fill_mode
        self.fill_value = fill_value
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns which images are warped, how strongly, and the noise."""
        applies = self.happens(images, self.factor, seed)
        strength = random.uniform((), *self.scale, "float32", seed)
        return {
            "apply_transform": applies,
            "distortion_factor": strength,
            "displacements": self._displacements(images, strength, seed),
            "input_shape": shape_of(images),
        }

    def _displacements(self, images: Any, strength: Any, seed: Any) -> tf.Tensor:
        shape = shape_of(images)
        height, width = self.height_and_width(shape)
        batch = 1 if len(shape) == 3 else shape[0]
        # In proportion to the image, so that large and small ones are distorted alike; the factors
        # are Keras's.
        alpha = 0.1 * tf.cast(height, tf.float32) * strength
        sigma = 0.05 * tf.cast(width, tf.float32) * strength
        return displacements((batch, height, width), alpha, sigma, seed)

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, some of them warped."""
        low, high = self.value_range
        return tf.clip_by_value(self._warped(images, drawn, self.interpolation), low, high)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks, warped like the images."""
        return self._warped(masks, drawn, "nearest")

    def _warped(self, images: tf.Tensor, drawn: Any, interpolation: str) -> tf.Tensor:
        moves = drawn["displacements"]
        warped = displaced(images, moves, interpolation, self.fill_mode, self.fill_value)
        return choose_images(drawn["apply_transform"], warped, images)

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Raises an error, because boxes are not supported."""
        raise NotImplementedError(
            f"{type(self).__name__} does not know what becomes of bounding boxes. Leave 'bounding_boxes' out "
            "of the data, or use a layer that moves them: `RandomRotation`, `RandomShear`, "
            "`RandomPerspective`."
        )
