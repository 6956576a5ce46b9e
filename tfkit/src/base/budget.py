"""Limits the memory of variables, and the work of a trace, while a model is made from a file.

A configuration of 200 bytes can demand a terabyte of weights, or a loop of a billion steps. A reader of a
file gives the number of bytes of its weights and of its objects; all code that makes a variable or an
operation spends from that before it does so.
"""

from __future__ import annotations

import collections
import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import tensorflow as tf

from tfkit.src.base import context, limits

# Variables that a file does not store, such as the state of a metric, may use this much memory, or as much as
# the stored ones.
_OTHER = 1 << 26
_LARGEST = 1 << 40

Deferred = tuple[Any, Callable[[], Any]]


@contextlib.contextmanager
def limited(
    stored: int | None, config: Any, deferred: list[Deferred] | None = None
) -> Iterator[None]:
    """Context manager that limits the bytes of variables, and the operations of a trace.

    Args:
        stored: the bytes of weights in the file; `None` if it is not known.
        config: the configuration, as data.
        deferred: gets the weights that hold zeros instead of their first values, for a file has others for
            them; `None` if none has.

    Raises:
        ValueError: for a configuration that describes more than is ever read.
    """
    stored = _LARGEST if stored is None else stored
    operations = limits.OPERATIONS.most + limits.OPERATIONS_FOR_OBJECT.most * _traces(config)
    left = {
        "stored": stored,
        "other": max(stored, _OTHER),
        "operations": operations,
        "all": operations,
    }
    with context.within(budget=left, deferred_weights=deferred):
        yield


def deferred_weights() -> list[Deferred] | None:
    """Returns the list for weights that are made with zeros; `None` if no file has values for them."""
    return context.current().deferred_weights


def draw_others(deferred: list[Deferred], assigned: Iterable[Any]) -> None:
    """Draws initial values for weights for which the file has no values either.

    Args:
        deferred: the weights that were made with zeros, with the functions that draw their values.
        assigned: the variables that have values of the file.
    """
    ids = {id(variable) for variable in assigned}
    for variable, draw in deferred:
        if id(variable) not in ids:
            variable.assign(draw())


@contextlib.contextmanager
def given_back() -> Iterator[None]:
    """Context manager after which the memory of variables made inside, which it drops, does not count."""
    left = context.current().budget
    # A copy of the counts, so that what is spent inside is forgotten.
    inside = left and dict(left)
    try:
        with context.within(budget=inside):
            yield
    finally:
        if left and inside:
            # The work counts, even if its result is dropped.
            left["operations"] = inside["operations"]


def not_stored() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager for weights that some files do not store: they count as other variables."""
    return context.within(not_stored=True)


def is_limited() -> bool:
    """Whether a model is being made from a file."""
    return context.current().budget is not None


def take_operations(count: int = 1) -> None:
    """Counts operations that a trace is about to make.

    Raises:
        ValueError: if a file has led to more than its objects account for.
    """
    left = context.current().budget
    if left is None:
        return
    left["operations"] -= count
    if left["operations"] < 0:
        raise ValueError(
            f"The configuration asks for more than {left['all']:,} operations, which its objects do not "
            "account for: a loop that is unrolled, or models inside models. It is refused."
        )


def check_outputs(count: int) -> None:
    """Raises an error for a call, requested by a file, with more outputs than any honest one has."""
    if is_limited() and (excess := limits.OUTPUTS.excess(count)):
        raise ValueError(f"The configuration asks for a call with {excess}. It is refused.")


def check_repeats(count: int) -> None:
    """Raises an error for a loop in a file's function with more steps than any honest one has."""
    if is_limited() and (excess := limits.REPEATS.excess(count)):
        raise ValueError(f"The configuration asks for {excess}. It is refused.")


def check_calls(count: int) -> None:
    """Raises an error for a file's graph with more calls than can be run."""
    if is_limited() and (excess := limits.CALLS.excess(count)):
        raise ValueError(
            f"The configuration describes a model that makes {excess}: models inside call each other "
            "again and again. It is refused."
        )


def _traces(config: Any) -> int:
    """Returns how many objects a configuration describes; a layer counts again for each outer model."""
    traces = 0
    listed: collections.Counter[str] = collections.Counter()
    pending = [(config, 0)]
    while pending:
        item, models = pending.pop()
        if isinstance(item, dict):
            traces += 1
            if isinstance(item.get("layers"), (list, tuple)):
                # Each model around a layer traces its call again.
                traces += models * len(item["layers"])
                models += 1
            listed.update({key: _length(item[key]) for key in _LISTS if key in item})
        elif not isinstance(item, (list, tuple)):
            continue
        inside = item.values() if isinstance(item, dict) else item
        pending += [(each, models) for each in inside if isinstance(each, (dict, list, tuple))]
    for key, limit in _LISTS.items():
        if excess := limit.excess(listed[key]):
            raise ValueError(f"The configuration describes {excess}. It is refused.")
    return traces


_LISTS = {
    "layers": limits.LAYERS,
    "cells": limits.CELLS,
    "metrics": limits.METRICS,
    "weighted_metrics": limits.METRICS,
}


def _length(value: Any) -> int:
    """Returns the number of items in a nest of a configuration, with those in lists inside."""
    if isinstance(value, dict):
        return 1 if "class_name" in value else sum(map(_length, value.values()))
    return sum(map(_length, value)) if isinstance(value, (list, tuple)) else 1


def spend(shape: Any, dtype: str, what: str, kind: Literal["stored", "other"] = "stored") -> None:
    """Counts a variable that is about to be made.

    Args:
        shape: its sizes.
        dtype: name of its dtype.
        what: a description of it, for the message.
        kind: whether a file stores it.

    Raises:
        ValueError: if it needs more than is left, and for a TiB and more in any case.
    """
    left = context.current().budget
    # Before the memory is requested: a number in a file can be anything.
    needed = math.prod(shape) * tf.as_dtype(dtype).size
    if needed > _LARGEST:  # TensorFlow would search for the memory for seconds.
        raise ValueError(
            f"{what} would take {needed:,} bytes (shape {tuple(shape)}, {dtype}), more than any machine has."
        )
    if left is None:
        return
    kind = "other" if context.current().not_stored else kind
    if needed > left[kind]:
        raise ValueError(
            f"{what} would take {needed:,} bytes (shape {tuple(shape)}, {dtype}), but the file accounts for "
            f"no more than {left[kind]:,}. Its configuration asks for more memory than its weights need: "
            "it is damaged or malicious."
        )
    left[kind] -= needed
