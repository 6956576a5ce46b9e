"""Reads the data of `adapt` as batches, one after the other."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.layers.preprocessing.base import is_plain

_ARRAYS = (tf.Tensor, tf.Variable, tf.RaggedTensor, tf.SparseTensor, np.ndarray)


def batches(layer: Layer, data: Any, steps: int | None = None) -> Iterator[Any]:
    """Yields `all_batches`, at least one of which must have a row.

    Raises:
        ValueError: if no batch has a row.
    """
    has_rows = False
    for batch in all_batches(layer, data, steps):
        has_rows = has_rows or 0 not in batch.shape[:1]
        yield batch
    if not has_rows:
        raise ValueError(
            f"Layer {layer._tfkit.title} cannot adapt to an empty iterable: `adapt()` got no batch with a "
            "row."
        )


def all_batches(layer: Layer, data: Any, steps: int | None = None) -> Iterator[Any]:
    """Yields arrays and tensors: `data` itself if it is one, else its batches; labels are left out.

    Args:
        layer: the layer, for messages.
        data: an array, a tensor, a list of numbers or strings; or batches, as a `tf.data.Dataset`, a
            `PyDataset`, a list of arrays, or any iterable.
        steps: number of batches to read; `None` for all.

    Raises:
        ValueError: for batches that never end, without `steps`.
        TypeError: for anything else.
    """
    array = _as_array(layer, data)
    if array is not None:
        yield array
        return
    if isinstance(data, Mapping):
        raise TypeError(
            f"`adapt()` of layer {layer._tfkit.title} expects one feature. Received: a dict of {len(data)}. "
            "Adapt a layer for each of them, as in `layer.adapt(data['name'])`, or use `FeatureSpace`."
        )
    if steps is None and _is_endless(data):
        raise ValueError(
            f"Layer {layer._tfkit.title} cannot adapt to data that never ends. Pass `steps`, the number of "
            "batches to read, or `dataset.take(steps)`."
        )
    # `islice` with `None` reads everything.
    for batch in itertools.islice(_iterable(layer, data), steps):
        # Datasets for `fit` have tuples of features, labels and weights.
        features = batch[0] if isinstance(batch, tuple) and len(batch) else batch
        array = _as_array(layer, features)
        if array is None or (
            not hasattr(features, "shape") and not isinstance(features, (list, str))
        ):
            raise TypeError(
                f"`adapt()` of layer {layer._tfkit.title} expects batches that are arrays or tensors, with a "
                "`.shape`, or tuples that begin with one. Received: a batch of type "
                f"{type(features).__name__}. Take the feature out first: "
                "`dataset.map(lambda features: features['name'])`."
            )
        yield array


@contextlib.contextmanager
def kept_on_error(layer: Layer, *attributes: str) -> Iterator[None]:
    """Context manager of `adapt` that restores the attributes of the layer after an error."""
    before = {name: getattr(layer, name) for name in attributes}
    try:
        yield
    except BaseException:
        for name, value in before.items():
            setattr(layer, name, value)
        raise


def _as_array(layer: Layer, data: Any) -> Any:
    """Returns `data` if it is an array, a tensor, or a list of numbers or strings; else `None`."""
    if isinstance(data, _ARRAYS):
        return _checked(layer, data)
    if isinstance(data, (list, tuple)):
        return _converted(layer, data) if is_plain(data) and len(data) else None
    if is_plain(data):
        return tf.convert_to_tensor(data)
    # Frames and series of pandas and others, without importing these libraries.
    is_table = hasattr(data, "__array__") and not isinstance(data, (tf.data.Dataset, type))
    return _checked(layer, np.asarray(data)) if is_table else None


def _converted(layer: Layer, data: Any) -> tf.Tensor:
    try:
        return tf.convert_to_tensor(data)
    except (TypeError, ValueError) as error:
        _refuse_missing(layer, data)
        raise ValueError(
            f"`adapt()` of layer {layer._tfkit.title} expects rows of one length and type; use "
            f"`tf.ragged.constant` for others. {error}"
        ) from None


def _checked(layer: Layer, array: Any) -> Any:
    """Returns an array; raises an error for strings mixed with other values, as in columns of tables."""
    if isinstance(array, np.ndarray) and array.dtype == object:
        _refuse_missing(layer, array.ravel().tolist())
    return array


def _refuse_missing(layer: Layer, values: Any) -> None:
    """Raises an error for `None`, and for numbers mixed with strings, in a list or a list of lists."""
    if set(map(type, values)) <= {str, bytes}:  # A column of a table may have millions.
        return
    flat = list(
        itertools.chain.from_iterable(v if isinstance(v, (list, tuple)) else [v] for v in values)
    )
    texts = any(isinstance(value, (str, bytes)) for value in flat)
    for value in flat:
        if value is None or (texts and isinstance(value, (bool, int, float, np.number))):
            raise ValueError(
                f"`adapt()` of layer {layer._tfkit.title} expects strings, or numbers. Received: {value!r} "
                f"among {'strings' if texts else 'numbers'}. Fill missing values first, in a table with "
                "`fillna`, and turn numbers among strings into strings."
            )


def refuse_texts(layer: Layer, batch: Any) -> None:
    """Raises an error for strings in the data of a layer of numbers, even if they are numerals.

    Raises:
        ValueError: with the layer and one of the strings.
    """
    flat = batch.numpy().ravel() if isinstance(batch, tf.Tensor) else np.ravel(batch)
    if flat.size and isinstance(flat[0], (str, bytes)):
        raise ValueError(
            f"`adapt()` of layer {layer._tfkit.title} expects numbers. Received: strings, such as "
            f"{str(flat[0])!r}. Turn them into numbers, in NumPy with `.astype('float32')`, or use "
            "`StringLookup`."
        )


def _iterable(layer: Layer, data: Any) -> Iterable[Any]:
    # A `PyDataset`: by its methods, since its class is in a room above this one.
    if hasattr(data, "num_batches") and hasattr(data, "__getitem__"):
        count = data.num_batches
        return (data[index] for index in (itertools.count() if count is None else range(count)))
    if isinstance(data, Iterable):
        return data
    raise TypeError(
        f"`adapt()` of layer {layer._tfkit.title} expects an array, a tensor, a list of numbers or strings, "
        f"or an iterable of batches, such as a `tf.data.Dataset`. Received: {data!r} (of type "
        f"{type(data).__name__})"
    )


def _is_endless(data: Any) -> bool:
    if isinstance(data, tf.data.Dataset):
        return int(data.cardinality()) == tf.data.INFINITE_CARDINALITY
    return (
        hasattr(data, "num_batches") and hasattr(data, "__getitem__") and data.num_batches is None
    )
