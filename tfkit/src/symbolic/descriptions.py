"""Nests as hashable descriptions, with the tensors taken out: equal ones may be answered by one trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.symbolic.masking import get_mask, set_mask

_PRIMITIVES = (type(None), bool, int, str, bytes)


class NotDescribed(Exception):
    """A nest holds what a trace cannot hold."""


def describe(value: Any, tensors: list[tf.Tensor]) -> Any:
    """A hashable description of a nest; its tensors, and the masks on them, are appended to `tensors`."""
    if isinstance(value, tf.Tensor):
        tensors.append(value)
        mask = get_mask(value)
        return (
            tf.Tensor,
            value.dtype,
            value.shape.rank,
            mask is not None and describe(mask, tensors),
        )
    if isinstance(value, float):
        return (float, repr(value))  # Which tells 0.0 from -0.0, and one NaN is like the other.
    if isinstance(value, _PRIMITIVES):
        return (type(value), value)
    if nests.is_nested(value):
        form, items = nests.opened(value)
        if form.is_described():
            return (nests.Form, form, *(describe(item, tensors) for item in items))
    raise NotDescribed(f"it takes or gives a {type(value).__name__}")


def rebuild(description: Any, tensors: Iterator[tf.Tensor]) -> Any:
    """The nest that was described, with `tensors` in their places."""
    kind = description[0]
    if kind is tf.Tensor:
        tensor = next(tensors)
        if description[3]:
            set_mask(tensor, rebuild(description[3], tensors))
        return tensor
    if kind is nests.Form:
        return nests.closed(description[1], [rebuild(item, tensors) for item in description[2:]])
    return float(description[1]) if kind is float else description[1]


def specs_of(description: Any, shapes: list[tf.TensorShape]) -> list[tf.TensorSpec]:
    """Specs of the tensors of a description, which have the given shapes."""
    return list(map(tf.TensorSpec, shapes, _dtypes(description)))


def _dtypes(description: Any) -> Iterator[tf.DType]:
    """The dtypes of the tensors of a description, in order."""
    kind = description[0]
    if kind is tf.Tensor:
        yield description[1]
        if description[3]:
            yield from _dtypes(description[3])
    elif kind is nests.Form:
        for item in description[2:]:
            yield from _dtypes(item)
