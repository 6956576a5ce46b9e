"""Converts and checks targets and predictions for a formula: tensors of one dtype and rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.nests import brief


def as_tensor(value: Any, dtype: Any, name: str = "targets or predictions") -> tf.Tensor:
    """Returns `value` as a tensor of `dtype`; the same object if it is one already.

    Args:
        value: a tensor, or numbers.
        dtype: the dtype.
        name: what `value` is, for messages.

    Raises:
        ValueError: for strings, and for objects.
    """
    given = value
    # NumPy cannot read symbolic tensors inside a list.
    if isinstance(value, (list, tuple)) and any(map(tf.is_tensor, value)):
        value = tf.stack([tf.cast(each, dtype) for each in value])
    value = value if tf.is_tensor(value) else np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype == object:  # As a `tf.DType`, it is string.
        raise ValueError(
            f"A loss compares numbers. Received: {name} of the type {type(given).__name__}: {brief(given)}"
        )
    if tf.as_dtype(value.dtype) == tf.string:
        advice = (
            " Turn labels into class ids or one-hot vectors first." if "targets" in name else ""
        )
        raise ValueError(
            f"A loss compares numbers. Received: {name} of dtype string and shape {tuple(value.shape)}."
            f"{advice}"
        )
    return tf.cast(value, dtype)


def as_class_ids(y: Any, dtype: Any) -> tf.Tensor:
    """Returns class ids as integers: NaN as the smallest one. By XLA's conversion it is 0, a class."""
    y, dtype = tf.convert_to_tensor(y), tf.as_dtype(dtype)
    ids = tf.cast(y, dtype)
    return tf.where(tf.math.is_nan(y), dtype.min, ids) if y.dtype.is_floating else ids


def as_tensors(y_true: Any, y_pred: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns both as tensors in the float type of `y_pred`.

    Raises:
        ValueError: for shapes that are known and do not broadcast.
    """
    y_true, y_pred = _convert(y_true, y_pred)
    _check_broadcast(y_true, y_pred)
    return y_true, y_pred


def as_tensors_of_same_rank(y_true: Any, y_pred: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `as_tensors`, with a last axis of size 1 added or dropped if only one has it."""
    y_true, y_pred = squeeze_or_expand_to_same_rank(*_convert(y_true, y_pred))
    _check_broadcast(y_true, y_pred)
    return y_true, y_pred


def _convert(y_true: Any, y_pred: Any) -> tuple[tf.Tensor, tf.Tensor]:
    y_pred = tf.convert_to_tensor(y_pred)
    if not y_pred.dtype.is_floating:
        y_pred = tf.cast(y_pred, settings.floatx())
    return as_tensor(y_true, y_pred.dtype), y_pred


def squeeze_or_expand_to_same_rank(
    a: tf.Tensor, b: tf.Tensor, expand_rank_1: bool = True
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns both with equal ranks: if one lacks a last axis of size 1, `(n,)` gets it, others drop it.

    Args:
        a: a tensor.
        b: a tensor.
        expand_rank_1: whether a vector grows an axis, instead of the other losing it.
    """
    if a.shape.rank is None or b.shape.rank is None:
        return a, b
    if b.shape.rank == a.shape.rank + 1:
        b, a = squeeze_or_expand_to_same_rank(b, a, expand_rank_1)
    elif a.shape.rank == b.shape.rank + 1 and a.shape[-1] == 1:
        if b.shape.rank == 1 and expand_rank_1:
            b = tf.expand_dims(b, -1)
        else:
            a = tf.squeeze(a, -1)
    return a, b


def weights_along(weights: tf.Tensor, values: tf.Tensor, name: str = "sample_weight") -> tf.Tensor:
    """Returns `weights` as a tensor that broadcasts to `values`; its axes are the first ones of `values`.

    NumPy would match the last axes, which is wrong, and silent where a batch has as many rows as
    steps or classes.

    Args:
        weights: weights or a mask, with the shape of the first axes of `values`; sizes of 1 and further
            axes of size 1 are accepted, and so is one weight for all.
        values: the values to weight.
        name: what `weights` is, for messages.

    Raises:
        ValueError: for shapes that are known and do not fit.
    """
    rank, given = values.shape.rank, weights.shape
    if rank is None or given.rank is None:
        return weights
    extra = list(range(rank, given.rank))
    if any(given[axis] not in (1, None) for axis in extra):
        raise ValueError(
            f"`{name}` has more axes than there are values to weigh. Received: values of shape "
            f"{values.shape}, weights of shape {given}. Let the function return a value for each sample, "
            "without a mean over them, or use it where there are no weights."
        )
    # Axes of size 1 after those of the values are dropped; missing ones are appended.
    if extra:
        weights = tf.squeeze(weights, extra)
    elif given.rank < rank:
        ones = [1] * (rank - given.rank)
        weights = tf.reshape(weights, tf.concat([tf.shape(weights), ones], 0))
        weights.set_shape([*given, *ones])
    sizes = zip(weights.shape, values.shape, strict=True)
    if all(size in (None, 1, other) or other is None for size, other in sizes):
        return weights
    raise ValueError(
        f"`{name}` must have one weight for each value, or for each sample. "
        f"Received: {name} of shape {given}, values of shape {values.shape}."
    )


def _check_broadcast(y_true: tf.Tensor, y_pred: tf.Tensor) -> None:
    try:
        tf.broadcast_static_shape(y_true.shape, y_pred.shape)
    except ValueError:
        raise _mismatch(y_true, y_pred) from None
    # Rows against classes: right shapes only if a batch happens to have as many rows as there are classes.
    is_row, rank = y_true.shape == (None,), y_pred.shape.rank
    if is_row and rank is not None and rank > 1 and y_pred.shape[0] is None:
        raise _mismatch(y_true, y_pred)


def check_same_shape(y_true: tf.Tensor, y_pred: tf.Tensor) -> None:
    """Raises `ValueError` if both shapes are known and differ."""
    if not y_true.shape.is_compatible_with(y_pred.shape):
        raise _mismatch(y_true, y_pred)


def check_class_ids(y_true: tf.Tensor, y_pred: tf.Tensor) -> None:
    """Raises `ValueError` unless `y_true` has the shape of `y_pred` without its last axis."""
    if not y_true.shape.is_compatible_with(y_pred.shape[:-1]):
        raise ValueError(
            "Class ids must have the shape of the predictions without the axis of classes. "
            f"Received: y_true of shape {y_true.shape} and y_pred of shape {y_pred.shape}. "
            "For one-hot targets use a loss without `sparse` in its name."
        )


def _mismatch(y_true: tf.Tensor, y_pred: tf.Tensor) -> ValueError:
    return ValueError(
        "Targets and predictions must have the same shape. "
        f"Received: y_true of shape {y_true.shape} and y_pred of shape {y_pred.shape}."
    )
