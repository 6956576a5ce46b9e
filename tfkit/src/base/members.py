"""Finds the members in an attribute by walking through its containers.

Containers are the nests of `nests.py`, sets, queues, dataclasses, and plain `tf.Module`s. Nothing is
wrapped, so what a user stores is not changed, and what is appended to a list later is found like the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.names import escaped, words
from tfkit.src.base.nests import brief

# The attributes in which TensorFlow 2.21 keeps what it knows about the members of a `tf.Module`. Exact names:
# all others are the user's, such as `_self_attention` and `_name_embedding`, whatever they begin with.
TRACKING = words("""
    _self_name_based_restores _self_saveable_object_factories _self_setattr_tracking
    _self_unconditional_checkpoint_dependencies _self_unconditional_deferred_dependencies
    _self_unconditional_dependency_names _self_update_uid
""")
TENSORFLOWS = TRACKING | {"_name", "_name_scope"}
# The attributes in which tfkit keeps its bookkeeping of layers, models and metrics.
OWN = words("""
    _tfkit _tfkit_added_variables _tfkit_auto_named _tfkit_compiled_loss _tfkit_float_shape
    _tfkit_graph _tfkit_in_turn _tfkit_input_shape_argument _tfkit_known_size
    _tfkit_loss_tracker _tfkit_metrics _tfkit_own_loss _tfkit_own_changes _tfkit_programs
    _tfkit_settings _tfkit_stack _tfkit_states _tfkit_why_untraced
""")
BOOKKEEPING = TENSORFLOWS | OWN
# Names that hold no members: bookkeeping, and settings of each layer that tfkit reads or replaces.
RESERVED = BOOKKEEPING | {
    "_dtype_policy",
    "_trainable",
    "autocast",
    "input_spec",
    "supports_masking",
}
# Types of most attributes, which hold no members: the walk need not begin.
PLAIN = frozenset((bool, int, float, str, type(None)))
_WITHOUT_KEYS = (set, frozenset, deque)


@contextlib.contextmanager
def kept_on_error(*owners: Any) -> Iterator[None]:
    """Context manager: after an error, objects have their attributes, and lists their items, as before."""
    before = [
        {name: (it, list(it) if isinstance(it, list) else None) for name, it in vars(owner).items()}
        for owner in owners
    ]
    try:
        yield
    except BaseException:
        for owner, attributes in zip(owners, before, strict=True):
            for name in vars(owner).keys() - attributes.keys() - TRACKING:
                delattr(owner, name)
            for name, (value, items) in attributes.items():
                if vars(owner).get(name) is not value and name not in TRACKING:
                    setattr(owner, name, value)
                if items is None or len(items) == len(value):
                    continue
                if type(value) is list:
                    value[:] = items
                else:  # A list of TensorFlow's that has lost items could not be saved any more.
                    setattr(owner, name, items)
        raise


class Helper:
    """The base of losses, metrics and optimizers: objects that an attribute may hold, and a copy keeps."""


class MetricBase(Helper):
    """The base of metrics, by which layers find the metrics among their members."""

    take_part: Callable[[], None]


class SeedBase:
    """The base of seed generators: members whose state is one more variable of the layer that holds them."""

    state: tf.Variable


class Owner(Helper):
    """The base of optimizers: a member whose own members do not belong to the layer that holds it."""


class Alias(property):
    """A property that sets an attribute of a different name, under which a member is found."""


class derived_property(property):
    """A property that makes its value of other attributes: no member is searched for in it."""


class View:
    """The base of objects that give access to a variable, such as its `value`, and are not members."""

    __slots__ = ()


def holds_members(value: Any) -> bool:
    """Whether `value` is a type that is searched for members, or a member itself."""
    return not isinstance(value, View) and (
        isinstance(value, (tf.Module, tf.Variable, *_WITHOUT_KEYS))
        or nests.is_nested(value)
        or _is_dataclass(value)
    )


def container_sizes(attributes: dict[str, Any]) -> dict[str, int]:
    """Returns the number of items of each list and dict in attributes, with those in items of their kind."""
    return {
        name: _size(value)
        for name, value in attributes.items()
        if isinstance(value, (list, dict)) and name not in BOOKKEEPING
    }


def _size(container: Any) -> int:
    items = container.values() if isinstance(container, dict) else container
    # Without a look at each item of long lists, such as words.
    is_nested = isinstance(next(iter(items), None), (list, dict))
    inside = [_size(it) for it in items if isinstance(it, (list, dict))] if is_nested else []
    return len(container) + sum(inside)


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
    # Only containers around this one: a member in two lists has two paths, and a loop would have
    # infinitely many.
    if id(value) in inside or isinstance(value, View):
        return
    items: Iterator[tuple[Any, Any]]
    if nests.is_nested(value):
        items = iter(nests.items(value))
    elif isinstance(value, _WITHOUT_KEYS):
        # A set has no order that is the same in the next process; the order in which members were
        # made is.
        items = enumerate(value if isinstance(value, deque) else sorted(value, key=made))
    elif isinstance(value, tf.Module):
        items = ((name, item) for name, item in vars(value).items() if name not in TENSORFLOWS)
    elif _is_dataclass(value):
        fields = dataclasses.fields(value)
        items = ((field.name, getattr(value, field.name, None)) for field in fields)
    else:
        return
    inside = inside | {id(value)}
    for key, item in items:
        # First the types of the items of long lists, such as words: the whole question takes 2 us for each.
        if type(item) not in PLAIN and holds_members(item):
            yield from walk(f"{path}/{escaped(key)}", item, is_member, made, inside)


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def check_settable(cls: type, name: str, value: Any) -> None:
    """Raises an error for an attribute that tfkit computes, instead of Python's about a missing setter.

    Raises:
        AttributeError: that proposes a name.
    """
    defined = getattr(cls, name, None)
    if not isinstance(defined, property) or defined.fset is not None:
        return
    if getattr(defined.fget, "__module__", "").startswith("tfkit."):
        raise AttributeError(
            f"Attribute `{name}` of {cls.__name__} cannot be set: tfkit computes it. Choose a different "
            f"name, such as `my_{name.lstrip('_')}`. Received: {brief(value)}"
        )
