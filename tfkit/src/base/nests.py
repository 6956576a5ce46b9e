"""The table of the types that are nests, which all functions on nests share.

Items keep their own order here; `tf.nest` sorts the keys of all mappings, and `tfkit.tree` sorts them except
in an `OrderedDict`. Messages describe nests by `brief`: arrays by their shapes, long strings cut.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
from collections import UserDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, MappingView, MutableMapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

# Types that are recognized without TensorFlow, which takes half a microsecond.
_PLAIN = frozenset((list, tuple, dict))
_LEAVES = frozenset((type(None), bool, int, float, str, bytearray, memoryview, np.ndarray))


def is_nested(structure: Any) -> bool:
    """Whether `structure` is a nest, and not a leaf; `opened` returns its kind."""
    kind = type(structure)
    # The exact type: a subclass of `list` may be anything, and TensorFlow decides.
    return kind in _PLAIN or (kind not in _LEAVES and tf.nest.is_nested(structure))


class Form(NamedTuple):
    """A nest without its items.

    Attributes:
        kind: its type.
        keys: the keys of a mapping in their order, the fields of a named tuple or `attrs` class, or the
            number of items of a list or tuple.
        extra: further data that its type needs.
    """

    kind: Any
    keys: Any
    extra: Any = None

    def is_described(self) -> bool:
        """Whether equal forms make equal nests, so that they are interchangeable."""
        if self.extra is None:
            return True
        if isinstance(self.extra, _Prototype):
            return False
        if isinstance(self.extra, _Factory) and not self.extra.is_known:
            return False
        try:
            hash(self)
        except TypeError:
            return False
        return True


class _Prototype:
    """A nest with its own attributes, which cannot be made from its items alone."""

    def __init__(self, structure: Any) -> None:
        self._structure = structure

    def filled(self, keys: Any, children: list[Any]) -> Any:
        """Returns a copy with other items."""
        kind = type(self._structure)
        if isinstance(self._structure, tuple):
            result = kind(*children) if isinstance(keys, tuple) else kind(children)
            # A tuple cannot be copied and then changed.
            vars(result).update(vars(self._structure))
            return result
        result = copy.copy(self._structure)
        if isinstance(result, list):
            result[:] = children
        else:
            for key, child in zip(keys, children, strict=True):
                result[key] = child
        return result


class _Factory:
    """The factory of a `defaultdict`; a function that is defined again counts as the same one."""

    def __init__(self, make: Any) -> None:
        self.make = make
        code = getattr(make, "__code__", None)
        # Without a closure the code says everything about a function such as `lambda: 0`.
        is_alone = not (getattr(make, "__closure__", None) or getattr(make, "__defaults__", None))
        self.is_known = make is None or isinstance(make, type) or (code is not None and is_alone)
        self._key = code if code is not None and is_alone else make

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Factory) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def opened(structure: Any) -> tuple[Form, list[Any]]:
    """Returns the form of a nest, and its items in their own order.

    `is_nested` defines the nests for all of tfkit: lists, tuples, named tuples, mappings of any type,
    classes of `attrs`, and classes with TensorFlow's method `__tf_flatten__`. A
    dataclass without that is a leaf.

    Example:
        >>> opened({"b": 1, "a": 2})
        (Form(kind=<class 'dict'>, keys=('b', 'a'), extra=None), [1, 2])
    """
    kind = type(structure)
    if kind is list or kind is tuple:
        return Form(kind, len(structure)), list(structure)
    if kind is dict:
        return Form(kind, tuple(structure)), list(structure.values())
    if isinstance(structure, Mapping):
        keys = tuple(structure)
        if not isinstance(structure, MutableMapping):
            kind = dict  # TensorFlow makes no read-only ones.
        form = Form(kind, keys, _extra_of_mapping(structure))
        return form, [structure[key] for key in keys]
    if hasattr(structure, "__tf_flatten__"):
        metadata, components = structure.__tf_flatten__()
        return Form(kind, len(components), metadata), list(components)
    if isinstance(structure, MappingView):
        views = list(iter(structure))  # type: ignore[call-overload]
        return Form(list, len(views)), views
    fields = field_names(structure)
    if fields is not None and not isinstance(structure, tuple):
        return Form(kind, fields), [getattr(structure, name) for name in fields]
    extra = _Prototype(structure) if getattr(structure, "__dict__", None) else None
    if kind is deque:
        extra = structure.maxlen
    return Form(kind, len(structure) if fields is None else fields, extra), list(structure)


def closed(form: Form, children: list[Any]) -> Any:
    """Returns a nest of the given form with the given items: the inverse of `opened`."""
    kind, keys, extra = form
    if kind is list or kind is tuple:
        return kind(children)
    if kind is dict:
        return dict(zip(keys, children, strict=True))
    if isinstance(extra, _Prototype):
        return extra.filled(keys, children)
    if issubclass(kind, defaultdict):
        return kind(extra.make, zip(keys, children, strict=True))
    if issubclass(kind, Mapping):
        return kind(dict(zip(keys, children, strict=True)))
    if hasattr(kind, "__tf_unflatten__"):
        return kind.__tf_unflatten__(extra, tuple(children))
    if kind is deque:
        return deque(children, extra)
    return kind(*children) if isinstance(keys, tuple) else kind(children)


def items(structure: Any) -> list[tuple[Any, Any]]:
    """Returns the items of a nest in their own order, each with its key, field name or index."""
    form, children = opened(structure)
    keys = form.keys if isinstance(form.keys, tuple) else range(form.keys)
    return list(zip(keys, children, strict=True))


def children(structure: Any) -> Any:
    """Returns the items of a nest in their own order."""
    kind = type(structure)
    if kind is list or kind is tuple:
        return structure
    return structure.values() if kind is dict else opened(structure)[1]


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """Returns the same nest with `function` applied to each of its items, which may be nests again."""
    kind = type(structure)
    if kind is list or kind is tuple:
        return kind([function(child) for child in structure])
    if kind is dict:
        return {key: function(child) for key, child in structure.items()}
    form, children = opened(structure)
    return closed(form, [function(child) for child in children])


def with_tuples(structure: Any) -> Any:
    """Returns the same nest with tuples instead of lists, which datasets do not have."""
    if not is_nested(structure):
        return structure
    structure = mapped(with_tuples, structure)
    return tuple(structure) if isinstance(structure, list) else structure


def leaves(structure: Any) -> list[Any]:
    """Returns the leaves of a nest as `tf.nest.flatten` does, which is slow for a single leaf."""
    return tf.nest.flatten(structure) if is_nested(structure) else [structure]


def with_leaves(function: Callable[[Any], Any], structure: Any) -> Any:
    """Returns the same nest with `function` applied to each leaf, like `tf.nest.map_structure`."""
    kind = type(structure)
    if kind is list or kind is tuple:
        return kind([with_leaves(function, child) for child in structure])
    if is_nested(structure):
        return tf.nest.map_structure(function, structure)
    return function(structure)


def field_names(structure: Any) -> tuple[str, ...] | None:
    """Returns the fields of a named tuple or of an object of an `attrs` class; `None` for anything else."""
    if isinstance(structure, tuple):
        return getattr(structure, "_fields", None)
    attributes = getattr(type(structure), "__attrs_attrs__", None)
    return None if attributes is None else tuple(attribute.name for attribute in attributes)


def _extra_of_mapping(structure: Any) -> Any:
    """Returns what a mapping needs to be made again, apart from its items."""
    if type(structure) is UserDict or not isinstance(structure, MutableMapping):
        return None
    if getattr(structure, "__dict__", None):
        return _Prototype(structure)
    return _Factory(structure.default_factory) if isinstance(structure, defaultdict) else None


_MOST = 200


def brief(value: Any) -> str:
    """Returns a one-line description of a value.

    Arrays and tensors are shown by type, shape and dtype, also within a nest; everything else by its `repr`,
    of which 200 characters are shown at most.
    """
    shown = _shown(value).replace("\n", " ")
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}..."


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        sizes = "unknown" if getattr(shape, "rank", 0) is None else tuple(shape)
        dtype = getattr(value.dtype, "name", value.dtype)
        return f"<{type(value).__name__} of shape {sizes} and dtype {dtype}>"
    if isinstance(value, dict):
        items = [f"{key!r}: {_shown(item)}" for key, item in list(value.items())[:_MOST]]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)) and is_nested(value):
        items = [_shown(item) for item in value[:_MOST]]
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)})"
    return repr(value)


# --- Layers, models or data that are nested too deeply for Python's stack ------------------------------

Function = TypeVar("Function", bound=Callable[..., Any])

_REMEDY = "sys.setrecursionlimit"


def explain_depth(error: RecursionError) -> None:
    """Adds the remedy to Python's message, once."""
    message = str(error)
    if _REMEDY not in message:
        error.args = (
            f"{message}. Expected layers, models and data at most about 100 deep inside each other, and no "
            f"layer that calls itself. `{_REMEDY}` allows more: Python's limit is now "
            f"{sys.getrecursionlimit():,} calls.",
        )


def bounded(function: Function) -> Function:
    """Makes a recursive function explain an argument that is nested too deeply for Python's stack."""

    @functools.wraps(function)
    def entry(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RecursionError as error:
            explain_depth(error)
            raise

    return entry  # type: ignore[return-value]


def plain_sizes(shape: Iterable[Any]) -> tuple[Any, ...]:
    """Returns a shape with integers of NumPy and tensors that hold one as Python's; the rest is unchanged."""
    return tuple(map(_as_size, shape))


def _as_size(size: Any) -> Any:
    if size is None or type(size) is int:
        return size
    try:
        return operator.index(size)
    except (TypeError, AttributeError):  # An `AttributeError` for a tensor of floats.
        return size
