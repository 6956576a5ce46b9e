"""Checks that only require the numbers of an argument to be in [0, size).

The indices of an `Embedding` and class labels are numbers of the batch, and the trace knows the sizes. So no
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

# Operations whose results are numbers of their first input, reordered, reshaped, or some of them.
_REARRANGING = frozenset(
    ("ExpandDims", "Identity", "Reshape", "Slice", "Squeeze", "StridedSlice", "Transpose")
)
_CHUNK = 2**22  # The amount of numbers that are checked at once, since the results take memory.


class Bounds:
    """Upper bounds for the arguments of a step.

    Args:
        sizes: by the place of an argument, the size that its numbers must be below.
    """

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self.sizes = dict(sizes)

    def __bool__(self) -> bool:
        return bool(self.sizes)

    def accept(self, tensors: Sequence[tf.Tensor]) -> tf.Tensor:
        """Whether all arguments are within their bounds, as a scalar bool."""
        answers = [_lies_in(tensors[place], size) for place, size in self.sizes.items()]
        return functools.reduce(tf.logical_and, answers, tf.constant(True))

    def accept_rows(self, arrays: Sequence[tf.Tensor]) -> bool:
        """Whether all rows of arrays are within their bounds, and so each batch of them."""
        for place, size in self.sizes.items():
            array = arrays[place]
            num_rows = max(1, _CHUNK // max(1, array.shape[1:].num_elements()))
            for first in range(0, array.shape[0], num_rows):
                if not _lies_in(array[first : first + num_rows], size):
                    return False
        return True


def _lies_in(values: tf.Tensor, size: int) -> tf.Tensor:
    if values.dtype.is_floating:
        return tf.reduce_all((values >= 0) & (values < size))
    return within(values, size)


def bound_of(operation: Any, arguments: Mapping[Any, int]) -> tuple[int, int] | None:
    """Returns the argument whose numbers an operation refuses outside of [0, size), and the size.

    Args:
        operation: a `tf.Operation` that is in `CHECKS`.
        arguments: by reference, the place of each tensor that is an argument of the whole.

    Returns:
        `None` if the operation checks more, or other values.
    """
    bound = CHECKS[operation.type].bound
    if bound is None:
        return None
    attr = operation.node_def.attr
    values, size = bound(Operation(list(operation.inputs), list(operation.outputs), attr))
    while size is not None and _counts_to(values.dtype, size):
        if values.ref() in arguments:
            return arguments[values.ref()], size
        if values.op.type == "Cast":
            # Rounding a number may make it equal to the size; truncation does not.
            if values.dtype.is_floating and values.op.inputs[0].dtype.is_floating:
                return None
        elif values.op.type not in _REARRANGING:
            return None
        values = values.op.inputs[0]
    return None


def _counts_to(dtype: tf.DType, size: int) -> bool:
    """Whether a dtype can represent each whole number up to a size."""
    if dtype.is_floating:
        digits: int = np.finfo(dtype.as_numpy_dtype).nmant if dtype != tf.bfloat16 else 7
        return size <= 2**digits
    return dtype.is_integer and size - 1 <= dtype.max
