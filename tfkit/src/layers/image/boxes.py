"""A layer that makes the number of bounding boxes constant."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.checks import check_positive_integer
from tfkit.src.layers.image.base import ImageLayer, ImageOptions


class MaxNumBoundingBoxes(ImageLayer):
    """Makes the number of bounding boxes the same for all images: drops the last ones, or pads.

    Args:
        max_number: the number of boxes.
        fill_value: value of padded boxes and labels. Default: `-1`.
        **kwargs: `bounding_box_format`, the format of boxes, which is needed; `data_format` (`None`); and the
            arguments of every layer: `name`, `trainable`, `dtype`.

    Call arguments:
        data: a dictionary of `"images"`, `"bounding_boxes"` (a dictionary of `"boxes"` and `"labels"`) and
            anything else; images without boxes are not changed.

    Input shape: Boxes of shape `(boxes, 4)` or `(batch, boxes, 4)`, ragged ones included.

    Output shape: The same with `max_number` boxes.

    Raises:
        ValueError: when `max_number` is not a positive integer.

    Example:
        >>> boxes = {"boxes": tf.ones((1, 4)), "labels": tf.ones((1,))}
        >>> layer = MaxNumBoundingBoxes(2, bounding_box_format="xyxy")
        >>> layer({"images": tf.ones((8, 8, 3)), "bounding_boxes": boxes})["bounding_boxes"][
        ...     "labels"
        ... ]
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 1., -1.], dtype=float32)>
    """

    _keeps_integers = True
    _only_in_training = False

    def __init__(
        self, max_number: int, fill_value: int = -1, **kwargs: Unpack[ImageOptions]
    ) -> None:
        super().__init__(**kwargs)
        check_positive_integer(self, max_number=max_number)
        self.max_number = max_number
        self.fill_value = fill_value

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        if self.fill_value == -1:  # Keras's configuration does not contain it.
            del config["fill_value"]
        return config

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images unchanged."""
        return images

    def transform_bounding_boxes(
        self, bounding_boxes: Any, transformation: Any, training: Any = True
    ) -> Any:
        """Returns that number of boxes and labels, in their original format."""
        boxes, labels = (tf.convert_to_tensor(bounding_boxes[name]) for name in ("boxes", "labels"))

        def fitted(values: tf.Tensor, axis: int) -> tf.Tensor:
            values = tf.gather(
                values, tf.range(tf.minimum(tf.shape(values)[axis], self.max_number)), axis=axis
            )
            missing = self.max_number - tf.shape(values)[axis]  # Not negative after the cut.
            border = [[0, missing if i == axis else 0] for i in range(values.shape.rank)]
            filled = tf.pad(values, border, constant_values=tf.cast(self.fill_value, values.dtype))
            known = values.shape.as_list()
            known[axis] = self.max_number
            return tf.ensure_shape(filled, known)

        axis = boxes.shape.rank - 2
        return {**bounding_boxes, "boxes": fitted(boxes, axis), "labels": fitted(labels, axis)}
