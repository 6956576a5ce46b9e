"""Sums, products and extremes of the rows that share a number."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import as_tensor
from tfkit.symbolic import symbolic_op


def _reduce_segments(
    data: Any, segment_ids: Any, num_segments: Any, is_sorted: bool, in_order: Any, any_order: Any
) -> tf.Tensor:
    data, segment_ids = as_tensor(data), as_tensor(segment_ids)
    if segment_ids.shape.rank not in (1, None):
        raise ValueError(
            f"`segment_ids` must be a vector. Received: segment_ids.shape={segment_ids.shape}"
        )
    if not data.shape[:1].is_compatible_with(segment_ids.shape[:1]):
        raise ValueError(
            "`segment_ids` and `data` must have the same leading dimension. "
            f"Received: segment_ids.shape={segment_ids.shape}, data.shape={data.shape}"
        )
    if is_sorted:
        if num_segments is not None:
            raise ValueError(
                "`num_segments` cannot be set when `sorted` is True: the last number decides. "
                f"Received: num_segments={num_segments}"
            )
        return in_order(data, segment_ids)
    if num_segments is None:
        num_segments = tf.reduce_max(segment_ids) + 1
    return any_order(data, segment_ids, num_segments)


@symbolic_op
def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """The sum of the rows of `data` that have the same number in `segment_ids`.

    Args:
        data: a tensor.
        segment_ids: a whole number for each row.
        num_segments: rows of the result; the largest number and one unless given.
        sorted: whether the numbers are known to ascend.

    Raises:
        ValueError: when both `num_segments` and `sorted` are given, and when `segment_ids` is no
            vector with one number for each row.
    """
    return _reduce_segments(
        data,
        segment_ids,
        num_segments,
        sorted,
        tf.math.segment_sum,
        tf.math.unsorted_segment_sum,
    )


@symbolic_op
def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """The product of the rows with the same number; the arguments are those of `segment_sum`."""
    return _reduce_segments(
        data,
        segment_ids,
        num_segments,
        sorted,
        tf.math.segment_prod,
        tf.math.unsorted_segment_prod,
    )


@symbolic_op
def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """The largest of the rows with the same number; the arguments are those of `segment_sum`."""
    return _reduce_segments(
        data,
        segment_ids,
        num_segments,
        sorted,
        tf.math.segment_max,
        tf.math.unsorted_segment_max,
    )


@symbolic_op
def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """The smallest of the rows with the same number; the arguments are those of `segment_sum`."""
    return _reduce_segments(
        data,
        segment_ids,
        num_segments,
        sorted,
        tf.math.segment_min,
        tf.math.unsorted_segment_min,
    )
