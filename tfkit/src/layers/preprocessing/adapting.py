"""Reads the data of `adapt` as batches, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.layers.preprocessing.base import is_plain

_ARRAYS = (tf.Tensor, tf.Variable, tf.RaggedTensor, tf.SparseTensor, np.ndarray)


def batches(layer: Layer, data: Any, steps: int | None = None) -> Iterator[Any]:
    """Yields arrays and tensors: `data` itself if it is one, else its batches; labels are left out.

    Args:
        layer: the layer, for messages.
        data: an array, a tensor, a list of numbers or texts; or batches, as a `tf.data.Dataset`, a
            `PyDataset`, a list of arrays, or any iterable.
        steps: number of batches to read; `None` for all.

    Raises:
        ValueError: for batches that never end, without `steps`.
        TypeError: for anything else.
    """
    array = _as_array(data)
    if array is not None:
        yield array
        return
    if steps is None and _is_endless(data):
        raise ValueError(
            f"Layer '{layer.path}' (of type {type(layer).__name__}) cannot adapt to data that never ends. "
            "Pass `steps`, the number of batches to read, or `dataset.take(steps)`."
        )
    for batch in itertools.islice(_iterable(layer, data), steps):
        features = batch[0] if isinstance(batch, tuple) and len(batch) else batch
        array = _as_array(features)
        if array is None or (
            not hasattr(features, "shape") and not isinstance(features, (list, str))
        ):
            raise TypeError(
                f"`adapt()` of layer '{layer.path}' (of type {type(layer).__name__}) takes batches that are "
                "arrays or tensors, with a `.shape`, or tuples that begin with one. "
                f"Received: a batch of type {type(features).__name__}. Take the feature out first: "
                "`dataset.map(lambda features: features['name'])`."
            )
        yield array


def _as_array(data: Any) -> Any:
    """Returns `data` if it is an array, a tensor, or a list of numbers or texts; else `None`."""
    if isinstance(data, _ARRAYS):
        return data
    if isinstance(data, (list, tuple)):
        return tf.convert_to_tensor(data) if is_plain(data) and len(data) else None
    if is_plain(data):
        return tf.convert_to_tensor(data)
    is_table = hasattr(data, "__array__") and not isinstance(data, (tf.data.Dataset, type))
    return np.asarray(data) if is_table else None


def _iterable(layer: Layer, data: Any) -> Iterable[Any]:
    if hasattr(data, "num_batches") and hasattr(data, "__getitem__"):
        count = data.num_batches
        return (data[index] for index in (itertools.count() if count is None else range(count)))
    if isinstance(data, Iterable):
        return data
    raise TypeError(
        f"`adapt()` of layer '{layer.path}' (of type {type(layer).__name__}) takes an array, a tensor, a "
        "list of numbers or texts, or an iterable of batches, such as a `tf.data.Dataset`. "
        f"Received: {data!r} (of type {type(data).__name__})"
    )


def _is_endless(data: Any) -> bool:
    if isinstance(data, tf.data.Dataset):
        return int(data.cardinality()) == tf.data.INFINITE_CARDINALITY
    return (
        hasattr(data, "num_batches") and hasattr(data, "__getitem__") and data.num_batches is None
    )
