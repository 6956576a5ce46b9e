"""Sums, products and extremes of the rows of a segment."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.ops.promotion import as_tensor
from tfkit.src.symbolic.tensors import symbolic_op


def _reduce_segments(
    kind: str, data: Any, segment_ids: Any, num_segments: Any, is_sorted: bool
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
        return getattr(tf.math, f"segment_{kind}")(data, segment_ids)
    if num_segments is None:
        num_segments = tf.reduce_max(segment_ids) + 1
    return getattr(tf.math, f"unsorted_segment_{kind}")(data, segment_ids, num_segments)


@symbolic_op
def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """Returns the sums of the rows of `data` that have the same id in `segment_ids`.

    Args:
        data: a tensor with at least one axis.
        segment_ids: number of the segment of each row, a vector of integers as long as `data`.
            Unless `sorted`, rows with a negative number are left out.
        num_segments: number of segments; `None` for `max(segment_ids) + 1`, a size that a
            compiler does not know.
        sorted: whether `segment_ids` are in ascending order, which is faster. Then `num_segments`
            must be `None`. Default: `False`.

    Returns:
        A tensor of shape `(num_segments, *data.shape[1:])` and of the dtype of `data`; 0 for a
        segment without rows.

    Raises:
        ValueError: when both `num_segments` and `sorted` are given, or `segment_ids` is not a vector
            with one number for each row.

    Example:
        >>> ops.segment_sum([1, 2, 3], [0, 2, 0]).numpy().tolist()
        [4, 0, 2]
        >>> ops.segment_sum([1, 2, 3], [0, 0, 1], num_segments=3).numpy().tolist()
        [3, 3, 0]
    """
    return _reduce_segments("sum", data, segment_ids, num_segments, sorted)


@symbolic_op
def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """Returns the products of the rows of `data` that have the same id in `segment_ids`.

    Args:
        data: a tensor with at least one axis.
        segment_ids: number of the segment of each row, a vector of integers as long as `data`.
            Unless `sorted`, rows with a negative number are left out.
        num_segments: number of segments; `None` for `max(segment_ids) + 1`, a size that a
            compiler does not know.
        sorted: whether `segment_ids` are in ascending order, which is faster. Then `num_segments`
            must be `None`. Default: `False`.

    Returns:
        A tensor of shape `(num_segments, *data.shape[1:])` and of the dtype of `data`; 1 for a
        segment without rows.

    Raises:
        ValueError: when both `num_segments` and `sorted` are given, or `segment_ids` is not a vector
            with one number for each row.

    Example:
        >>> ops.segment_prod([2, 3, 5], [0, 2, 0]).numpy().tolist()
        [10, 1, 3]
    """
    return _reduce_segments("prod", data, segment_ids, num_segments, sorted)


@symbolic_op
def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """Returns the maxima of the rows of `data` that have the same id in `segment_ids`.

    Args:
        data: a tensor with at least one axis.
        segment_ids: number of the segment of each row, a vector of integers as long as `data`.
            Unless `sorted`, rows with a negative number are left out.
        num_segments: number of segments; `None` for `max(segment_ids) + 1`, a size that a
            compiler does not know.
        sorted: whether `segment_ids` are in ascending order, which is faster. Then `num_segments`
            must be `None`. Default: `False`.

    Returns:
        A tensor of shape `(num_segments, *data.shape[1:])` and of the dtype of `data`. A segment
        without rows has the smallest number of the dtype, or 0 with `sorted=True`.

    Raises:
        ValueError: when both `num_segments` and `sorted` are given, or `segment_ids` is not a vector
            with one number for each row.

    Example:
        >>> ops.segment_max([4, 2, 7, 3], [0, 1, 0, 1]).numpy().tolist()
        [7, 3]
    """
    return _reduce_segments("max", data, segment_ids, num_segments, sorted)


@symbolic_op
def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> tf.Tensor:
    """Returns the minima of the rows of `data` that have the same id in `segment_ids`.

    Args:
        data: a tensor with at least one axis.
        segment_ids: number of the segment of each row, a vector of integers as long as `data`.
            Unless `sorted`, rows with a negative number are left out.
        num_segments: number of segments; `None` for `max(segment_ids) + 1`, a size that a
            compiler does not know.
        sorted: whether `segment_ids` are in ascending order, which is faster. Then `num_segments`
            must be `None`. Default: `False`.

    Returns:
        A tensor of shape `(num_segments, *data.shape[1:])` and of the dtype of `data`. A segment
        without rows has the largest number of the dtype, or 0 with `sorted=True`.

    Raises:
        ValueError: when both `num_segments` and `sorted` are given, or `segment_ids` is not a vector
            with one number for each row.

    Example:
        >>> ops.segment_min([4, 2, 7, 3], [0, 1, 0, 1]).numpy().tolist()
        [4, 2]
    """
    return _reduce_segments("min", data, segment_ids, num_segments, sorted)
