"""Sizes that are passed to TensorFlow: integers, scalar tensors of any integer dtype, or one tensor."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def as_sizes(sizes: Any) -> Any:
    """Returns sizes as an int32 tensor, or as a list of integers and int32 scalars, which TensorFlow packs.

    Programs compute sizes in int64 too (`tf.shape(x, out_type="int64")`); a list stays one, so that
    TensorFlow sees which sizes are known.
    """
    if tf.is_tensor(sizes):
        return tf.cast(sizes, tf.int32)
    return [tf.cast(size, tf.int32) if tf.is_tensor(size) else size for size in sizes]


def sizes_of(x: tf.Tensor) -> list[Any]:
    """Returns the shape of a tensor, to reshape others to: -1 for its only unknown size, if that is clear."""
    sizes = x.shape.as_list()
    if 0 in sizes or sizes.count(None) > 1:
        return [tf.shape(x)[axis] if size is None else size for axis, size in enumerate(sizes)]
    return [-1 if size is None else size for size in sizes]
