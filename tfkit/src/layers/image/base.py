"""The base of layers that change images: a draw for each image, and its effect on images, boxes and masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.protocols import LayerOptions, NamedOptions
from tfkit.src.base.registry.tables import is_builtin
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.engine.known_rows import as_many_rows
from tfkit.src.ops.bounding_boxes import FORMATS, convert_format, densify
from tfkit.src.ops.image_geometry import as_batch
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.weights import random


class NamedBoxedOptions(NamedOptions, total=False):
    """The options of layers of images that define `name` and `data_format` themselves."""

    bounding_box_format: str | None


class BoxedOptions(LayerOptions, total=False):
    """The options of layers of images that define `data_format` themselves."""

    bounding_box_format: str | None


class ImageOptions(BoxedOptions, total=False):
    """The keyword arguments that every layer of images accepts."""

    data_format: str | None


class ImageLayer(Layer):
    """Changes images, and with them labels, bounding boxes and masks.

    A call has two steps: `get_random_transformation` draws random numbers, and methods named after the data
    that they change apply them. A subclass defines the random numbers in `draw`, the effect on images in
    `change`, and the effect on the rest, nothing by default, in `change_boxes`, `change_masks` and
    `change_labels`.

    Args:
        bounding_box_format: the format of boxes, one of `tfkit.utils.bounding_boxes`; `None` if there
            are none.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: arguments of every layer.

    Call arguments:
        data: images, or a dictionary of `"images"` and any of `"labels"`, `"segmentation_masks"` and
            `"bounding_boxes"`, itself a dictionary of `"boxes"` and `"labels"`.
        training: whether to change anything, for random layers. Default: `True`.
    """

    _allow_non_tensor_positional_args = True
    _tfkit_omitted_from_config = {"bounding_box_format": None}
    # Whether images of integers keep their dtype in direct calls; in graphs they become floats, as in Keras.
    _keeps_integers = False
    # Whether the layer is active outside of training.
    _only_in_training = True

    def __init__(
        self,
        bounding_box_format: str | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        # Boxes and labels are not activations: only images are cast.
        self.autocast = False
        self.bounding_box_format = bounding_box_format
        self.data_format = standardize_data_format(data_format)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = {**super().get_config(), "data_format": self.data_format}
        if self.bounding_box_format is not None:
            config["bounding_box_format"] = self.bounding_box_format
        return config

    # --- Methods of subclasses ----------------------------------------------------------------------

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the random numbers for images, one or a batch: a dictionary of tensors."""
        return {}

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns a batch of images with channels last, changed."""
        raise NotImplementedError

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns a batch of masks with channels last, changed."""
        return masks

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns boxes `(left, top, right, bottom)` in pixels, and their labels, changed."""
        return boxes

    def change_labels(self, labels: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the labels of a batch, changed."""
        return labels

    # --- A call -------------------------------------------------------------------------------------

    def call(self, data: Any, training: Any = True) -> Any:
        """Returns the images, or the dictionary, changed."""
        images = _images_of(data)
        self._check_rank(images)
        # Drawn once, so that images, boxes, masks and labels change together.
        drawn = self.get_random_transformation(data, training=training)
        if not isinstance(data, Mapping):
            return self._changed(images, drawn, training)
        # Entries under other keys are passed through unchanged.
        outputs = dict(data, images=self._changed(images, drawn, training))
        if "labels" in data:
            outputs["labels"] = self.transform_labels(data["labels"], drawn, training=training)
        if "segmentation_masks" in data:
            masks = data["segmentation_masks"]
            without_channels = masks.shape.rank == images.shape.rank - 1
            axis = -1 if self.data_format == "channels_last" else -3
            masks = tf.expand_dims(masks, axis) if without_channels else masks
            masks = self.transform_segmentation_masks(masks, drawn, training=training)
            outputs["segmentation_masks"] = tf.squeeze(masks, axis) if without_channels else masks
        if "bounding_boxes" in data:
            boxes = densify(data["bounding_boxes"])
            single = images.shape.rank == 3
            boxes = {name: value[None] for name, value in boxes.items()} if single else boxes
            boxes = self.transform_bounding_boxes(boxes, drawn, training=training)
            outputs["bounding_boxes"] = (
                {name: value[0] for name, value in boxes.items()} if single else boxes
            )
        return outputs

    def _changed(self, images: Any, drawn: Any, training: Any) -> Any:
        outputs = self.transform_images(images, drawn, training=training)
        # A layer of a user's may drop images.
        keeps_rows = images.shape.rank == 4 and is_builtin(type(self))
        return as_many_rows(outputs, images) if keeps_rows else outputs

    def get_random_transformation(self, data: Any, training: Any = True, seed: Any = None) -> Any:
        """Draws the random numbers of a call.

        Args:
            data: the argument of `call`.
            training: whether anything is random. Default: `True`.
            seed: an integer or a `SeedGenerator`; `None` for the layer's own.

        Returns:
            A dictionary of tensors for the methods that apply it; `None` if nothing changes.
        """
        if self._only_in_training and not training:
            return None
        images = tf.convert_to_tensor(_images_of(data))
        return self.draw(images, getattr(self, "generator", None) if seed is None else seed)

    def transform_images(self, images: Any, transformation: Any, training: Any = True) -> tf.Tensor:
        """Returns images, one or a batch, changed by the drawn numbers, in the layer's compute dtype."""
        images = tf.convert_to_tensor(images)
        given = images.dtype
        direct = tf.executing_eagerly() or context.current().direct
        keeps = self._keeps_integers and not given.is_floating and direct
        if not keeps:
            images = tf.cast(images, self.compute_dtype)
        if self._does_nothing(transformation, training):
            return images
        changed = as_batch(
            images, self.data_format, lambda batch: self.change(batch, transformation)
        )
        # Between equal dtypes it would still go through all pixels.
        return changed if changed.dtype == images.dtype else tf.saturate_cast(changed, images.dtype)

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: Any = True
    ) -> tf.Tensor:
        """Returns masks, of one image or of a batch, changed by the drawn numbers; they keep their dtype."""
        masks = tf.convert_to_tensor(segmentation_masks)
        if self._does_nothing(transformation, training):
            return masks
        if type(self).change_masks is ImageLayer.change_masks:
            return masks
        changed = as_batch(
            masks, self.data_format, lambda batch: self.change_masks(batch, transformation)
        )
        return tf.cast(changed, masks.dtype)

    def transform_labels(self, labels: Any, transformation: Any, training: Any = True) -> Any:
        """Returns labels changed by the drawn numbers."""
        if self._does_nothing(transformation, training):
            return labels
        return self.change_labels(labels, transformation)

    def transform_bounding_boxes(
        self, bounding_boxes: Any, transformation: Any, training: Any = True
    ) -> Any:
        """Returns a dictionary of `"boxes"` and `"labels"` changed by the drawn numbers.

        Raises:
            ValueError: when the layer has no `bounding_box_format`.
        """
        source = self.bounding_box_format
        if source is None:
            raise ValueError(
                "You passed an input with a 'bounding_boxes' key, but you didn't specify a bounding box "
                f"format. Pass a `bounding_box_format` argument to your {type(self).__name__} layer, one of "
                f"{FORMATS}."
            )
        if self._does_nothing(transformation, training):
            return bounding_boxes
        if type(self).change_boxes is ImageLayer.change_boxes:
            return bounding_boxes
        # Relative formats depend on the size of the image, which the change may have changed.
        before, after = self.sizes(transformation)
        boxes = convert_format(bounding_boxes["boxes"], source, "xyxy", *before)
        changed = self.change_boxes({**bounding_boxes, "boxes": boxes}, transformation)
        return {**changed, "boxes": convert_format(changed["boxes"], "xyxy", source, *after)}

    # --- Helpers ------------------------------------------------------------------------------------

    def sizes(self, drawn: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Returns height and width of the images before and after the change."""
        size = self.height_and_width(drawn["input_shape"])
        return size, size

    def height_and_width(self, shape: Any) -> tuple[Any, Any]:
        """Returns height and width from the shape of an image or of a batch."""
        first = -3 if self.data_format == "channels_last" else -2
        return shape[first], shape[first + 1]

    def _does_nothing(self, drawn: Any, training: Any) -> bool:
        return drawn is None or (self._only_in_training and not training)

    def _check_rank(self, images: Any) -> None:
        if images.shape.rank not in (3, 4):
            raise ValueError(
                "Expected the input image to be rank 3 or 4. Expected image tensor to have rank 3 (single "
                f"image) or 4 (batch of images). Received: data.shape={tuple(images.shape)}"
            )


class RandomImageLayer(ImageLayer):
    """A layer that changes images at random.

    Args:
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        **kwargs: arguments of every layer of images.
    """

    def __init__(self, seed: int | None = None, **kwargs: Unpack[ImageOptions]) -> None:
        super().__init__(**kwargs)
        self.seed = seed
        # Made here, because no variable can be made inside `tf.data.Dataset.map`.
        self.generator = random.SeedGenerator(seed)

    def uniform(self, images: Any, bounds: Any, seed: Any, shape: Any = (1, 1, 1)) -> tf.Tensor:
        """Draws a tensor of `shape` for each image, from a pair of bounds.

        In float32, whatever the compute dtype, so that equal seeds give equal values.
        """
        low, high = bounds
        return random.uniform((batch_size(images), *shape), low, high, "float32", seed)

    def happens(self, images: Any, probability: Any, seed: Any) -> tf.Tensor:
        """Draws for each image whether it is changed, with a probability from a pair of bounds, drawn too."""
        drawn = self.uniform(images, probability, seed, ())
        return drawn > self.uniform(images, (0.0, 1.0), seed, ())


def batch_size(images: Any) -> Any:
    """Returns the number of images, 1 for one without an axis for the batch."""
    return 1 if images.shape.rank == 3 else static_or_dynamic_shape(images)[0]


def per_image(drawn: Any, images: tf.Tensor) -> tf.Tensor:
    """Returns one number for each image as a tensor that broadcasts to a batch of images, of their dtype."""
    return tf.cast(tf.reshape(drawn, [-1, 1, 1, 1]), images.dtype)


def choose_images(applies: tf.Tensor, changed: tf.Tensor, images: tf.Tensor) -> tf.Tensor:
    """Returns `changed` for the images, or boxes, to which a change applies, and the others as they were.

    Whole images are copied: `tf.where` would look at a condition for each pixel, which takes 36 us instead
    of 2 for 64 by 64 pixels.
    """
    applies = tf.reshape(applies, [-1])
    if applies.shape[0] is None or applies.shape[0] != images.shape[0]:
        applies = tf.broadcast_to(applies, tf.shape(images)[:1])
    # The old `Select` accepts a vector of conditions for rows. `tf.where` would broadcast it to
    # all pixels.
    return tf.raw_ops.Select(condition=applies, x=changed, y=images)


def one_each(images: Any) -> tuple[int, ...]:
    """Returns the shape of one number for each image, after the axis of the batch, if there is one."""
    return (1, 1) if images.shape.rank == 3 else (1, 1, 1)


def with_values_from_0_to_1(
    images: tf.Tensor, value_range: tuple[Any, Any], function: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Returns `function` of images whose values are mapped from `value_range` to [0, 1], mapped back.

    In float32 at least.
    """
    low, high = value_range
    # In float16 the steps of 1/255 would be visible.
    values = images if images.dtype == tf.float64 else tf.cast(images, tf.float32)
    return function((values - low) / (high - low)) * (high - low) + low


def shape_of(images: Any) -> tuple[Any, ...]:
    """Returns the sizes of images, as integers if they are known."""
    return tuple(static_or_dynamic_shape(images))


def _images_of(data: Any) -> Any:
    return data["images"] if isinstance(data, Mapping) else data
