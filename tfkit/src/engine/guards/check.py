"""The rows of the table: checks of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed.private import get_resource_handle_data
from tfkit.src.engine.guards.sizes import Sizes

# The constant values among an operation's inputs, by index.
Constants = Mapping[int, np.ndarray]
# The attributes of a node: `AttrValue` by name.
Attributes = Mapping[str, Any]


class Operation(NamedTuple):
    """An operation for a check: XLA knows all shapes when it compiles, the trace knows some sizes.

    Args:
        inputs: tensors; constants where the graph has constants.
        outputs: tensors.
        attr: the attributes.
    """

    inputs: list[tf.Tensor]
    outputs: list[tf.Tensor]
    attr: Attributes


def never(attr: Attributes, constants: Constants) -> bool:
    """Returns `False`: nothing can be decided before the operation runs."""
    return False


class Check(NamedTuple):
    """A check that TensorFlow's kernel on the CPU makes, and XLA's does not.

    A few kernels refuse nothing, but give other results than XLA for some values. They are described
    here as if they refused these values.

    Args:
        says: a description of what the kernel refuses, for a message.
        accepts: a function that returns, as a scalar bool, whether the kernel certainly accepts these values.
            It may be False where the kernel accepts, which costs time, and is never True where it refuses.
        settled: a function of attributes and constant inputs: whether these alone show that `accepts` need
            not be computed, as the kernel accepts them, or XLA refuses them too when it compiles.
        settled_by_sizes: a function of a `tf.Operation`: whether the sizes that the trace knows show it.
        bound: a function for checks of nothing else: it returns the values that must be in [0, size), and the
            size, `None` if the trace does not know it.
    """

    says: str
    accepts: Callable[[Operation], tf.Tensor]
    settled: Callable[[Attributes, Constants], bool] = never
    settled_by_sizes: Callable[[Any, Sizes], bool] = lambda operation, sizes: False
    bound: Callable[[Operation], tuple[tf.Tensor, int | None]] | None = None


def size_of(x: tf.Tensor, axis: Any) -> Any:
    """Returns the size of an axis: an integer if the trace knows it, so that the check does not need `x`."""
    known = known_size(x, axis)
    return tf.shape(x)[axis] if known is None else known


def known_size(x: tf.Tensor, axis: Any) -> int | None:
    """Returns the size of an axis if the trace knows it, else `None`."""
    # The axis may be an input of the operation, as in `GatherV2`.
    known = tf.get_static_value(axis)
    return None if known is None or x.shape.rank is None else x.shape[int(known)]


def known_variable_size(handle: tf.Tensor, axis: int) -> int | None:
    """Returns the size of an axis of a variable if the trace knows it, else `None`."""
    # A handle is a scalar: the shape of its variable is data beside the tensor, which not all graphs keep.
    data = get_resource_handle_data(handle)
    if not data.is_set or len(data.shape_and_type) != 1:
        return None
    shape = tf.TensorShape(data.shape_and_type[0].shape)
    return None if shape.rank is None else shape[axis]


def within(values: tf.Tensor, size: Any) -> tf.Tensor:
    """Returns whether all `0 <= values < size`, by one unsigned comparison, in which negatives are large."""
    # With the same width: a negative value becomes one above the largest signed value, which no size reaches.
    unsigned = tf.uint64 if values.dtype.size == 8 else tf.uint32
    return tf.reduce_all(tf.cast(values, unsigned) < tf.cast(size, unsigned))


def is_integer(attr: Attributes) -> bool:
    """Whether the type `T` of an operation is an integer type."""
    return bool(tf.as_dtype(attr["T"].type).is_integer)
