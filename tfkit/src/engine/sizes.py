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
