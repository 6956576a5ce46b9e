"""Checks that only require the values of an argument to be in [0, size).

The indices of an `Embedding` and class labels are values of the batch, and the trace knows the sizes. So no
predicate has to be traced for them, and a program can check the rows of many batches at once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.engine.guards.check import Operation, within
from tfkit.src.engine.guards.table import CHECKS

# Operations whose results are values of their first input: all or some of them, in any order and shape.
_REARRANGING = frozenset(
    ("ExpandDims", "Identity", "Reshape", "Slice", "Squeeze", "StridedSlice", "Transpose")
)
_CHUNK = 2**22  # How many values are checked at once, since the results of comparisons need memory.


class Bounds:
    """Upper bounds for the arguments of a step.

    Args:
        sizes: by the index of an argument, the size that its values must be below.
    """

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self.sizes = dict(sizes)

    def __bool__(self) -> bool:
        return bool(self.sizes)

    def accept(self, tensors: Sequence[tf.Tensor]) -> tf.Tensor:
        """Whether all arguments are within their bounds, as a scalar bool."""
        answers = [_lies_in(tensors[index], size) for index, size in self.sizes.items()]
        return functools.reduce(tf.logical_and, answers, tf.constant(True))

    def accept_rows(self, arrays: Sequence[tf.Tensor]) -> bool:
        """Whether all rows of arrays are within their bounds, and so each batch of them."""
        for index, size in self.sizes.items():
            array = arrays[index]
            # Eagerly and in parts: a comparison of the whole array would need memory of the array's own
            # size.
            num_rows = max(1, _CHUNK // max(1, array.shape[1:].num_elements()))
            for first in range(0, array.shape[0], num_rows):
                if not _lies_in(array[first : first + num_rows], size):
                    return False
        return True


def _lies_in(values: tf.Tensor, size: int) -> tf.Tensor:
    # Labels as floats: NaN is in no interval, and an unsigned comparison would not do.
    if values.dtype.is_floating:
        return tf.reduce_all((values >= 0) & (values < size))
    return within(values, size)


def bound_of(operation: Any, arguments: Mapping[Any, int]) -> tuple[int, int] | None:
    """Returns the index of the argument whose values an operation refuses outside [0, size), and the size.

    Args:
        operation: a `tf.Operation` that is in `CHECKS`.
        arguments: the index of each tensor that is an argument of the whole step, by its reference.

    Returns:
        `None` if the operation checks more, or values that are computed.
    """
    bound = CHECKS[operation.type].bound
    if bound is None:
        return None
    attr = operation.node_def.attr
    values, size = bound(Operation(list(operation.inputs), list(operation.outputs), attr))
    # Back through operations that only move values, to an argument. Each dtype on the way must represent all
    # integers up to the size, or a value outside could become one inside.
    while size is not None and _counts_to(values.dtype, size):
        if values.ref() in arguments:
            return arguments[values.ref()], size
        if values.op.type == "Cast":
            # From floats to floats a value may be rounded up to the size; to integers it is truncated.
            if values.dtype.is_floating and values.op.inputs[0].dtype.is_floating:
                return None
        elif values.op.type == "SelectV2" and _refuses_nan(values.op):
            values = values.op.inputs[2]
            continue
        elif values.op.type not in _REARRANGING:
            return None
        values = values.op.inputs[0]
    return None


def _refuses_nan(select: Any) -> bool:
    """Whether an operation replaces NaN by a negative integer, which is out of bounds, as NaN is."""
    instead = tf.get_static_value(select.inputs[1])
    return select.inputs[0].op.type == "IsNan" and instead is not None and bool((instead < 0).all())


def _counts_to(dtype: tf.DType, size: int) -> bool:
    """Whether a dtype can represent each whole number up to a size."""
    if dtype.is_floating:
        # NumPy does not know bfloat16, which has 7 bits of fraction.
        digits: int = np.finfo(dtype.as_numpy_dtype).nmant if dtype != tf.bfloat16 else 7
        # Above 2 ** (digits + 1), not every whole number is a float; half of this is on the safe side.
        return size <= 2**digits
    # Indices are less than the size, so the size itself need not fit.
    return dtype.is_integer and size - 1 <= dtype.max
