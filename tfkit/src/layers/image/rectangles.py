"""Layers that erase rectangles of images, or mix images."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, RandomImageLayer, batch_size, shape_of
from tfkit.src.weights import random


def _rectangles(height: Any, width: Any, sides: Any, place: Any) -> tf.Tensor:
    """Returns a boolean mask of the pixels in a rectangle of each image, `(batch, height, width, 1)`.

    Args:
        height: height of the images.
        width: width of the images.
        sides: heights and widths of the rectangles, as parts of the images' heights and widths.
        place: the fraction of the remaining space above, and to the left, from 0 to 1.
    """
    inside = []
    for size, side, before in zip((height, width), sides, place, strict=True):
        length = tf.cast(size, tf.float32)
        # A rectangle is inside of the image wherever it starts: from 0 to the space that its side leaves.
        start = (before * length * (1 - side))[:, tf.newaxis]
        end = start + (side * length)[:, tf.newaxis]
        index = tf.cast(tf.range(size), tf.float32)
        inside.append((index >= start) & (index < end))
    # The product of an interval of rows and an interval of columns.
    return (inside[0][:, :, tf.newaxis] & inside[1][:, tf.newaxis, :])[..., tf.newaxis]


class RandomErasing(RandomImageLayer):
    """While training, fills a rectangle of some images with noise or with a number.

    Args:
        factor: probability of a change: a pair of numbers from 0 to 1 between which it is drawn, too, or one
            number `f` for `(0, f)`. Default: `1.0`.
        scale: range of the squared sides, as parts of the squared sides of the image: a pair of numbers from
            0 to 1, or one number `f` for `(0, f)`. Default: `(0.02, 0.33)`.
        fill_value: number to fill with; `None` for noise.
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

    Reference:
        Zhong et al., "Random erasing data augmentation", 2017.

    Example:
        >>> layer = RandomErasing((1.0, 1.0), scale=(0.25, 0.25), fill_value=0.0, seed=1)
        >>> float(tf.reduce_sum(layer(tf.ones((4, 4, 1)))))
        12.0
    """

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = (0.02, 0.33),
        fill_value: float | None = None,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        self.factor = factors.positive(self, least=-1.0, factor=factor)
        self.scale = factors.positive(self, scale=scale)
        self.fill_value = fill_value
        self.value_range = factors.pair_of_values(self, value_range)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the rectangles, their contents, and which images have one."""
        shape = shape_of(images)
        # `scale` is a fraction of the area.
        sides = tf.sqrt(self.uniform(images, self.scale, seed, (2,)))
        x, y = (self.uniform(images, (0.0, 1.0), seed, ()) for _ in range(2))
        applies = self.happens(images, self.factor, seed)
        height, width = self.height_and_width(shape)
        masks = _rectangles(height, width, (sides[:, 1], sides[:, 0]), (y, x))
        if self.data_format == "channels_first":
            masks = tf.transpose(masks, [0, 3, 1, 2])
        fill: Any = self.fill_value
        if fill is None:
            low, high = self.value_range
            # Keras's noise: normal with the deviation `high`, and clipped.
            noise = random.normal(shape, dtype="float32", seed=seed) * high
            fill = tf.clip_by_value(noise, low, high)
        return {"apply_erasing": applies, "batch_masks": masks, "fill_value": fill}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, some of them with a rectangle."""
        masks, fill = (
            tf.convert_to_tensor(drawn["batch_masks"]),
            tf.cast(drawn["fill_value"], images.dtype),
        )
        # The noise of a single image has no axis for the batch.
        fill = fill[tf.newaxis] if fill.shape.rank == 3 else fill
        if self.data_format == "channels_first":
            masks = tf.transpose(masks, [0, 2, 3, 1])
            fill = tf.transpose(fill, [0, 2, 3, 1]) if fill.shape.rank else fill
        applies = tf.reshape(drawn["apply_erasing"], [-1, 1, 1, 1])
        return tf.where(applies & masks, fill, images)


class _Mixing(RandomImageLayer):
    """Mixes each image of a batch with another one."""

    def partners(self, images: Any, seed: Any) -> tf.Tensor:
        """Draws the other images."""
        return random.shuffle(tf.range(batch_size(images)), seed=seed)

    def change_labels(self, labels: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the means of labels, with the weights of the images."""
        labels = tf.cast(labels, self.compute_dtype)
        others = tf.gather(labels, drawn["permutation_order"])
        weight = tf.cast(drawn["mix_weight"], labels.dtype)
        weight = tf.reshape(weight, [-1, *[1] * (labels.shape.rank - 1)])
        return weight * labels + (1 - weight) * others

    def get_random_transformation(self, data: Any, training: Any = True, seed: Any = None) -> Any:
        """Draws the random numbers of a call; a single image has no other to be mixed with."""
        images = data["images"] if isinstance(data, dict) else data
        if images.shape.rank == 3:
            return None
        return super().get_random_transformation(data, training, seed)


class CutMix(_Mixing):
    """While training, replaces a rectangle of each image of a batch by the same rectangle of another image.

    Labels become means, weighted by the areas.

    Args:
        factor: range of the beta distribution's parameter, for the fraction of the area to keep: a pair of
            numbers from 0 to 1, or one number `f` for `(0, f)`. Default: `1.0`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(batch, height, width, channels)`; channels before height with
        `data_format="channels_first"`. A single image without a batch is not changed.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range.
        NotImplementedError: for bounding boxes, which a rectangle may cut.

    Reference:
        Yun et al., "CutMix: regularization strategy to train strong classifiers with localizable features",
            2019.

    Example:
        >>> data = {"images": tf.ones((2, 4, 4, 1)), "labels": tf.eye(2)}
        >>> bool(tf.reduce_all(tf.reduce_sum(CutMix(seed=1)(data)["labels"], axis=1) == 1.0))
        True
    """

    def __init__(
        self,
        factor: Any = 1.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        self.factor = factors.positive(self, least=-1.0, factor=factor)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the rectangles, the fraction of the area that is kept, and the other images."""
        count = batch_size(images)
        # A beta distribution needs a parameter above 0.
        alpha = random.uniform((), *self.factor, "float32", seed) + 1e-6
        stays = random.beta((count,), alpha, alpha, "float32", seed)
        x, y = (self.uniform(images, (0.0, 1.0), seed, ()) for _ in range(2))
        height, width = self.height_and_width(shape_of(images))
        # Yun et al. (2019): the rectangle has the aspect ratio of the image, and the area 1 -
        # weight.
        side = tf.sqrt(1 - stays)
        masks = _rectangles(height, width, (side, side), (y, x))
        order = self.partners(images, seed)
        return {
            "permutation_order": order,
            "batch_masks": tf.transpose(masks, [0, 3, 1, 2])
            if self.data_format == "channels_first"
            else masks,
            "mix_weight": tf.reshape(stays, [-1, 1, 1, 1]),
        }

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images with rectangles of others."""
        masks = tf.convert_to_tensor(drawn["batch_masks"])
        if self.data_format == "channels_first":
            masks = tf.transpose(masks, [0, 2, 3, 1])
        return tf.where(masks, tf.gather(images, drawn["permutation_order"]), images)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks with rectangles of others."""
        return self.change(masks, drawn)

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Raises an error, because boxes are not supported."""
        raise NotImplementedError(
            f"{type(self).__name__} does not know what becomes of bounding boxes that a rectangle cuts. "
            "Use `MixUp`, or leave 'bounding_boxes' out of the data."
        )

    def sizes(self, drawn: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Raises an error, because boxes are not supported."""
        return self.change_boxes({}, drawn)  # type: ignore[return-value]


class MixUp(_Mixing):
    """While training, computes `weight * image + (1 - weight) * other`, with another image of the batch.

    Labels and masks are mixed as the images are; boxes of both images are kept.

    Args:
        alpha: parameter of the beta distribution of the weight, from 0 to 1. Default: `0.2`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(batch, height, width, channels)`; channels before height with
        `data_format="channels_first"`. A single image without a batch is not changed.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for an `alpha` that is not a number above 0.

    Reference:
        Zhang et al., "mixup: beyond empirical risk minimization", 2017.

    Example:
        >>> data = {"images": tf.ones((2, 4, 4, 1)), "labels": tf.eye(2)}
        >>> bool(tf.reduce_all(tf.reduce_sum(MixUp(seed=1)(data)["labels"], axis=1) == 1.0))
        True
    """

    def __init__(
        self,
        alpha: float = 0.2,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **kwargs)
        if not (factors.is_number(alpha) and alpha > 0):
            raise ValueError(
                f"Argument `alpha` must be a number above 0. Received: alpha={alpha!r}"
            )
        self.alpha = alpha

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the weights, and the other images."""
        order = self.partners(images, seed)
        weight = random.beta((batch_size(images),), self.alpha, self.alpha, "float32", seed)
        return {"mix_weight": weight, "permutation_order": order, "input_shape": shape_of(images)}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the mixed images."""
        weight = tf.reshape(tf.cast(drawn["mix_weight"], images.dtype), [-1, 1, 1, 1])
        # Zhang et al. (2018), "mixup".
        return weight * images + (1 - weight) * tf.gather(images, drawn["permutation_order"])

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: Any = True
    ) -> tf.Tensor:
        """Returns mixed masks: floats, since a pixel has two classes."""
        masks = tf.convert_to_tensor(segmentation_masks)
        masks = masks if masks.dtype.is_floating else tf.cast(masks, self.compute_dtype)
        return super().transform_segmentation_masks(masks, transformation, training)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks, mixed."""
        return self.change(masks, drawn)

    def sizes(self, drawn: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Returns `None` for unknown sizes: boxes are not changed, whatever their format."""
        return super().sizes(drawn) if "input_shape" in drawn else ((None, None), (None, None))

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the boxes of both images, concatenated."""
        order = drawn["permutation_order"]

        def both(values: Any) -> tf.Tensor:
            values = tf.convert_to_tensor(values)
            axis = 1 if values.shape.rank > 1 else 0
            return tf.concat([values, tf.gather(values, order)], axis=axis)

        return {name: both(values) for name, values in boxes.items()}
