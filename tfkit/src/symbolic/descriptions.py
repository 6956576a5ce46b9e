"""Hashable descriptions of nests without their tensors: equal ones can share one trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.symbolic.masking import get_mask, set_mask

# Values that a trace may treat as constants; they are compared together with their types.
_PRIMITIVES = (type(None), bool, int, str, bytes)
_ARGUMENTS = nests.Form(tuple, 2)
_NO_KEYWORDS = (nests.Form, nests.Form(dict, ()))


class NotDescribed(Exception):
    """A nest contains something that a trace cannot hold."""


def describe(value: Any, tensors: list[tf.Tensor]) -> Any:
    """Returns a hashable description of a nest, and appends its tensors and their masks to `tensors`."""
    # Only the rank of a tensor: a trace fits many sizes, and `specs_of` adds those that it is made for. A
    # mask comes right after its tensor, here and in `rebuild`.
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
        return (float, repr(value))  # 0.0 differs from -0.0 here, and NaN is equal to NaN.
    # With its type, as 1 == True, but not for a branch in `call`.
    if isinstance(value, _PRIMITIVES):
        return (type(value), value)
    if nests.is_nested(value):
        form, items = nests.opened(value)
        # A user's class of nests may have its own state, which a description would miss.
        if form.is_described():
            return (nests.Form, form, *[describe(item, tensors) for item in items])
    raise NotDescribed(f"its arguments or results contain a {type(value).__name__}")


def describe_call(args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[tf.Tensor]) -> Any:
    """Returns `describe((args, kwargs), tensors)`, in less time: each direct call needs it."""
    items = [describe(arg, tensors) for arg in args]
    # The same nest that `describe` would return, since `rebuild` reads both.
    positional = (nests.Form, nests.Form(tuple, len(args)), *items)
    return (
        nests.Form,
        _ARGUMENTS,
        positional,
        describe(kwargs, tensors) if kwargs else _NO_KEYWORDS,
    )


def rebuild(description: Any, tensors: Iterator[tf.Tensor]) -> Any:
    """Returns the nest that was described, with the given tensors in it."""
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
    """Returns specs of the tensors of a description, with the given shapes."""
    return list(map(tf.TensorSpec, shapes, _dtypes(description)))


def _dtypes(description: Any) -> Iterator[tf.DType]:
    """Yields the dtypes of the tensors of a description, in order."""
    kind = description[0]
    if kind is tf.Tensor:
        yield description[1]
        if description[3]:
            yield from _dtypes(description[3])
    elif kind is nests.Form:
        for item in description[2:]:
            yield from _dtypes(item)


def append_logits(results: list[tf.Tensor]) -> list[int]:
    """Appends the logits that results of a trace were made of, and returns the indices of these results."""
    noted = [getattr(result, "_keras_logits", None) for result in results]
    indices = [index for index, logits in enumerate(noted) if isinstance(logits, tf.Tensor)]
    results += [noted[index] for index in indices]
    return indices


def with_logits(values: Sequence[tf.Tensor], indices: list[int]) -> Sequence[tf.Tensor]:
    """Returns the values of such a trace without the logits, which are noted on them as in the trace."""
    count = len(values) - len(indices)
    for index, logits in zip(indices, values[count:], strict=True):
        values[index]._keras_logits = logits
    return values[:count]
