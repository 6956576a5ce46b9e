"""What a guard is made of: one row of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed.private import get_resource_handle_data
from tfkit.src.guards.sizes import Sizes

# The values of an operation's inputs that are constants in the graph, by their place.
Constants = Mapping[int, np.ndarray]
# The attributes of a node: `AttrValue` by name.
Attributes = Mapping[str, Any]


class Operation(NamedTuple):
    """An operation as a check sees it: XLA knows all shapes when it compiles, the trace knows some sizes.

    Args:
        inputs: Tensors; constants where the graph has constants.
        outputs: Tensors.
        attr: The attributes.
    """

    inputs: list[tf.Tensor]
    outputs: list[tf.Tensor]
    attr: Attributes


def never(attr: Attributes, constants: Constants) -> bool:
    """Nothing is settled before the operation runs."""
    return False


class Check(NamedTuple):
    """A check that TensorFlow's kernel on the CPU makes, and XLA's does not.

    A few kernels refuse nothing, but give other results than XLA for some values. What is said here of values
    that are refused holds of these.

    Args:
        says: What the kernel refuses, for a message.
        accepts: A scalar bool: the kernel certainly accepts these values. It may be False where the kernel
            accepts, which costs time, and is never True where it refuses.
        settled: Whether attributes and constant inputs alone show that `accepts` need not be asked: the
            kernel accepts them, or XLA refuses them as well when it compiles.
        settled_by_sizes: Whether the sizes that a trace knows show it, of a `tf.Operation`.
        bound: Where nothing else is asked: the values that must lie in [0, size), and the size, `None` where
            the trace does not know it.
    """

    says: str
    accepts: Callable[[Operation], tf.Tensor]
    settled: Callable[[Attributes, Constants], bool] = never
    settled_by_sizes: Callable[[Any, Sizes], bool] = lambda operation, sizes: False
    bound: Callable[[Operation], tuple[tf.Tensor, int | None]] | None = None


def size_of(x: tf.Tensor, axis: Any) -> Any:
    """The size of an axis: a number where the trace knows it, which keeps `x` out of the check."""
    known = known_size(x, axis)
    return tf.shape(x)[axis] if known is None else known


def known_size(x: tf.Tensor, axis: Any) -> int | None:
    """The size of an axis where the trace knows it."""
    known = tf.get_static_value(axis)
    return None if known is None or x.shape.rank is None else x.shape[int(known)]


def known_variable_size(handle: tf.Tensor, axis: int) -> int | None:
    """The size of an axis of a variable where the trace knows it."""
    data = get_resource_handle_data(handle)
    if not data.is_set or len(data.shape_and_type) != 1:
        return None
    shape = tf.TensorShape(data.shape_and_type[0].shape)
    return None if shape.rank is None else shape[axis]


def within(values: tf.Tensor, size: Any) -> tf.Tensor:
    """All `0 <= values < size`, in one comparison: as an unsigned number, a negative one is a large one."""
    unsigned = tf.uint64 if values.dtype.size == 8 else tf.uint32
    return tf.reduce_all(tf.cast(values, unsigned) < tf.cast(size, unsigned))


def is_integer(attr: Attributes) -> bool:
    """Whether the type `T` of an operation is one of integers."""
    return bool(tf.as_dtype(attr["T"].type).is_integer)
