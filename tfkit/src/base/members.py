"""Finds the members in an attribute by walking through its containers.

That is nests as `nests.py` has them, sets and queues, dataclasses, and plain `tf.Module`s. Nothing is
wrapped, so what a user stores is not changed, and what is appended to a list later is found like the rest.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.names import escaped

# The bookkeeping of TensorFlow and tfkit.
NOT_MEMBERS = ("_self_", "_tfkit", "_name", "_scope_name")
# Types of most attributes, which hold no members: the walk need not begin.
PLAIN = frozenset((bool, int, float, str, type(None)))
_WITHOUT_KEYS = (set, frozenset, deque)


class View:
    """The base of objects that give access to a variable, such as its `value`, and are no members."""

    __slots__ = ()


def holds_members(value: Any) -> bool:
    """Whether `value` is a type that is searched for members, or a member itself."""
    return not isinstance(value, View) and (
        isinstance(value, (tf.Module, tf.Variable, *_WITHOUT_KEYS))
        or nests.is_nested(value)
        or _is_dataclass(value)
    )


def walk(
    path: str,
    value: Any,
    is_member: Callable[[Any], bool],
    made: Callable[[Any], int] = lambda member: getattr(member, "made", 0),
    inside: frozenset[int] = frozenset(),
) -> Iterator[tuple[str, Any]]:
    """Yields the members in one attribute, each with its path: `blocks/0`.

    Args:
        path: name of the attribute.
        value: its value.
        is_member: whether an object is a member, at which the walk stops.
        made: when a member was made, as a number: the order of a set's.
        inside: the containers that are being walked, against cycles.
    """
    if is_member(value) and not isinstance(value, View):
        yield path, value
        return
    if id(value) in inside or isinstance(value, View):
        return
    items: Iterator[tuple[Any, Any]]
    if nests.is_nested(value):
        items = iter(nests.items(value))
    elif isinstance(value, _WITHOUT_KEYS):
        items = enumerate(value if isinstance(value, deque) else sorted(value, key=made))
    elif isinstance(value, tf.Module):
        items = (
            (name, item) for name, item in vars(value).items() if not name.startswith(NOT_MEMBERS)
        )
    elif _is_dataclass(value):
        fields = dataclasses.fields(value)
        items = ((field.name, getattr(value, field.name, None)) for field in fields)
    else:
        return
    inside = inside | {id(value)}
    for key, item in items:
        if holds_members(item):
            yield from walk(f"{path}/{escaped(key)}", item, is_member, made, inside)


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
