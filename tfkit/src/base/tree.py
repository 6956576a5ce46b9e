"""Nests of lists, tuples and dicts: visiting, flattening, rebuilding.

Dicts are visited in the order of their sorted keys, an `OrderedDict` in its own order.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.nests import bounded, brief


class MAP_TO_NONE:
    """A marker that a function passed to `traverse` returns to put `None` into the result.

    `None` itself means that `traverse` does not change the item.

    Example:
        >>> traverse(lambda x: MAP_TO_NONE if x == 1 else None, [1, 2])
        [None, 2]
    """


def is_nested(structure: Any) -> bool:
    """Returns whether an object is a nest: a list, tuple, mapping or the like, and not a leaf.

    Strings, arrays, tensors and `None` are leaves, and so are objects that only behave as a list does; an
    empty list is a nest.

    Args:
        structure: any object.

    Returns:
        A Python bool.

    Example:
        >>> is_nested([1, 2]), is_nested({}), is_nested("text"), is_nested(None)
        (True, True, False, False)
    """
    return (
        nests.is_nested(structure)
        and not isinstance(structure, MappingView)
        and (isinstance(structure, (list, tuple, deque)) or not isinstance(structure, Sequence))
    )


@bounded
def flatten(structure: Any) -> list[Any]:
    """Returns the leaves of a nest, in order.

    Items of dicts are in the order of their sorted keys, items of an `OrderedDict` in their own order.

    Args:
        structure: a nest of lists, tuples, named tuples and dicts, or a single leaf.

    Returns:
        A list. A single leaf gives a list that contains only this leaf.

    Example:
        >>> flatten({"b": 3, "a": [1, (2, None)]})
        [1, 2, None, 3]
        >>> flatten(5)
        [5]
    """
    return list(_leaves(structure))


def _leaves(structure: Any) -> Iterator[Any]:
    if is_nested(structure):
        for _, child in _children(structure):
            yield from _leaves(child)
    else:
        yield structure


@bounded
def flatten_with_path(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Returns the leaves of a nest, each with the keys and indices that lead to it.

    Args:
        structure: a nest of lists, tuples, named tuples and dicts, or a single leaf.

    Returns:
        A list of pairs `(path, leaf)`, in the order of `flatten`. A path is a tuple; the path of a
        single leaf is empty.

    Example:
        >>> flatten_with_path({"b": 7, "a": [5, 6]})
        [(('a', 0), 5), (('a', 1), 6), (('b',), 7)]
    """
    if not is_nested(structure):
        return [((), structure)]
    return [
        ((key, *path), leaf)
        for key, child in _children(structure)
        for path, leaf in flatten_with_path(child)
    ]


@bounded
def map_structure(func: Callable[..., Any], *structures: Any, none_is_leaf: bool = True) -> Any:
    """Returns a nest of the same form with a function applied to its leaves.

    With several nests, the function gets the leaves at the same position together.

    Args:
        func: a function of one leaf of each nest.
        *structures: nests of one form.
        none_is_leaf: whether `func` is called for `None`, too; if not, `None` is kept.
            Default: `True`.

    Returns:
        A nest of the form of the first one.

    Raises:
        ValueError: without nests, and for nests of different forms.

    Example:
        >>> map_structure(lambda x: 2 * x, {"a": 1, "b": [2, 3]})
        {'a': 2, 'b': [4, 6]}
        >>> map_structure(lambda x, y: x + y, (1, 2), (10, 20))
        (11, 22)
    """
    if not structures:
        raise ValueError("Pass at least one structure. Received: none")
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    return _mapped(func, structures, none_is_leaf)


def _mapped(func: Callable[..., Any], structures: Any, none_is_leaf: bool) -> Any:
    first = structures[0]
    if not is_nested(first):
        return None if first is None and not none_is_leaf else func(*structures)
    if isinstance(first, Mapping):  # Equal keys, in different orders.
        columns = [[structure[key] for structure in structures] for key in _keys(first)]
    else:
        columns = [list(column) for column in zip(*map(nests.children, structures), strict=True)]
    return _with_children(first, [_mapped(func, column, none_is_leaf) for column in columns])


@bounded
def map_structure_up_to(shallow_structure: Any, func: Callable[..., Any], *structures: Any) -> Any:
    """Returns a nest of the form of a shallow one, with a function applied at its leaves.

    It is `map_structure` that goes only as deep as `shallow_structure`.

    Args:
        shallow_structure: nest that decides how deep to go.
        func: a function of one part of each nest, which may be a nest itself.
        *structures: nests that have the form of the shallow one, and may go deeper.

    Returns:
        A nest of the form of `shallow_structure`.

    Raises:
        ValueError: without nests, and for nests of a different structure.

    Example:
        >>> map_structure_up_to([0, 0], len, [[1, 2], [3]])
        [2, 1]
    """
    if not structures:
        raise ValueError("Pass at least one structure. Received: none")
    if not is_nested(shallow_structure):
        return func(*structures)
    shallow = _children(shallow_structure)
    deep = [_children(structure) if is_nested(structure) else [] for structure in structures]
    keys = [key for key, _ in shallow]
    if any([key for key, _ in children] != keys for children in deep):
        raise ValueError(
            f"Structures differ in form. Expected one as deep as {shallow_structure}. Received: {structures}"
        )
    mapped = [
        map_structure_up_to(child, func, *(children[i][1] for children in deep))
        for i, (_, child) in enumerate(shallow)
    ]
    return _with_children(shallow_structure, mapped)


@bounded
def pack_sequence_as(structure: Any, flat_sequence: list[Any]) -> Any:
    """Returns a nest of a given form with the leaves of a list: the inverse of `flatten`.

    Args:
        structure: nest whose form is taken; its leaves do not matter.
        flat_sequence: leaves in the order of `flatten`.

    Returns:
        A nest of the form of `structure`.

    Raises:
        TypeError: when `flat_sequence` is not a list or tuple.
        ValueError: when the numbers of leaves differ.

    Example:
        >>> pack_sequence_as({"b": 0, "a": [0, 0]}, [1, 2, 3])
        {'b': 3, 'a': [1, 2]}
    """
    if not isinstance(flat_sequence, Sequence) or isinstance(flat_sequence, (str, bytes)):
        raise TypeError(f"`flat_sequence` must be a list of leaves. Received: {flat_sequence!r}")
    count = len(flatten(structure))
    if len(flat_sequence) != count:
        few = "few" if len(flat_sequence) < count else "many"
        raise ValueError(
            f"Too {few} leaves for the structure, which holds {count}. "
            f"Received: {len(flat_sequence)} leaves, structure={structure}"
        )
    leaves = iter(flat_sequence)
    return _mapped(lambda _: next(leaves), [structure], none_is_leaf=True)


@bounded
def assert_same_structure(a: Any, b: Any) -> None:
    """Raises `ValueError` unless two nests have the same form.

    Types of containers, keys and numbers of items must be equal; leaves do not matter.

    Args:
        a: a nest of lists, tuples, named tuples and dicts, or a single leaf.
        b: a nest of lists, tuples, named tuples and dicts, or a single leaf.

    Raises:
        ValueError: when the forms differ, such as a list and a tuple.

    Example:
        >>> assert_same_structure({"a": [1, 2]}, {"a": ["x", "y"]})
    """
    # With equal leaves, so that only the forms are compared.
    forms = [_mapped(lambda _: ".", [structure], none_is_leaf=True) for structure in (a, b)]
    try:
        tf.nest.assert_same_structure(*forms)
    except (TypeError, ValueError):
        raise ValueError(f"The two structures differ. {_difference(a, b)}") from None


def _difference(a: Any, b: Any, path: str = "") -> str:
    """Returns where two nests first differ, and how."""
    at = f" at {path}" if path else ""
    if not nests.is_nested(a) or not nests.is_nested(b) or type(a) is not type(b):
        if nests.is_nested(a) or nests.is_nested(b):
            found, wanted = (
                f"a {type(each).__name__}" if nests.is_nested(each) else f"one value, {brief(each)}"
                for each in (b, a)
            )
            return f"Expected {wanted}{at}. Received: {found}"
        return ""
    ours, theirs = dict(nests.items(a)), dict(nests.items(b))
    if ours.keys() != theirs.keys():
        kind = type(a).__name__
        return (
            f"Expected a {kind} with the keys {list(ours)}{at}. Received: those with {list(theirs)}"
        )
    parts = (_difference(item, theirs[key], f"{path}[{key!r}]") for key, item in ours.items())
    return next(filter(None, parts), "")


@bounded
def assert_same_paths(a: Any, b: Any) -> None:
    """Raises `ValueError` unless the leaves of two nests have equal paths.

    Unlike for `assert_same_structure`, a list and a tuple of equal length are alike.

    Args:
        a: a nest of lists, tuples, named tuples and dicts, or a single leaf.
        b: a nest of lists, tuples, named tuples and dicts, or a single leaf.

    Raises:
        ValueError: when a path is in one of the nests only; the message names it.

    Example:
        >>> assert_same_paths({"a": [1, 2]}, {"a": (3, 4)})
    """
    a_paths, b_paths = ({path for path, _ in flatten_with_path(nest)} for nest in (a, b))
    if a_paths != b_paths:
        raise ValueError(
            "`a` and `b` don't have the same paths. Only in the first: "
            f"{sorted(a_paths - b_paths, key=str)}. Only in the second: {sorted(b_paths - a_paths, key=str)}"
        )


@bounded
def traverse(func: Callable[[Any], Any], structure: Any, top_down: bool = True) -> Any:
    """Returns a nest in which each nest and leaf is replaced by the result of a function.

    Args:
        func: a function of a nest or a leaf. `None` does not change it, `MAP_TO_NONE` puts `None`
            there.
        structure: a nest of lists, tuples, named tuples and dicts, or a single leaf.
        top_down: whether a nest is visited before its items. The result of `func` for it is
            then final, and its items are not visited. Default: `True`.

    Returns:
        A nest, or the result of `func` for the whole.

    Example:
        >>> traverse(lambda x: sum(x) if isinstance(x, list) else None, {"a": [1, 2], "b": 3})
        {'a': 3, 'b': 3}
    """
    # Children come first, so that the function sees the changed nest.
    if not top_down:
        structure = _traverse_children(func, structure, top_down)
    result = func(structure)
    if result is None:
        return _traverse_children(func, structure, top_down) if top_down else structure
    return None if result is MAP_TO_NONE else result


@bounded
def lists_to_tuples(structure: Any) -> Any:
    """Returns a nest with tuples in place of lists.

    Args:
        structure: a nest of lists, tuples, named tuples and dicts, or a single leaf.

    Returns:
        A nest of the same form otherwise.

    Example:
        >>> lists_to_tuples({"a": [1, [2, 3]]})
        {'a': (1, (2, 3))}
    """
    return traverse(lambda x: tuple(x) if isinstance(x, list) else None, structure, top_down=False)


@bounded
def map_shape_structure(func: Callable[[Any], Any], structure: Any) -> Any:
    """Returns a nest with a function applied to each shape in it.

    A shape is a list or tuple of integers and `None`, which `map_structure` would take apart.

    Args:
        func: a function of a shape.
        structure: a nest of shapes.

    Returns:
        A nest of the results of `func`.

    Example:
        >>> map_shape_structure(len, {"a": (None, 3), "b": (2, 3, 4)})
        {'a': 2, 'b': 3}
    """

    def visit(item: Any) -> Any:
        is_shape = isinstance(item, (list, tuple)) and all(
            size is None or isinstance(size, int) for size in item
        )
        if is_nested(item) and not is_shape:
            return None
        result = func(item)
        return MAP_TO_NONE if result is None else result

    return traverse(visit, structure)


def _keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """Returns the keys in the order in which a nest is traversed."""
    if isinstance(mapping, OrderedDict):
        return list(mapping)
    try:
        return sorted(mapping)
    except TypeError:  # Keys of several types: one type after the other.
        return sorted(mapping, key=lambda key: (type(key).__qualname__, key))


def _children(structure: Any) -> list[tuple[Any, Any]]:
    """Returns the items of a nest, each with its key or index."""
    if isinstance(structure, Mapping):
        return [(key, structure[key]) for key in _keys(structure)]
    return list(enumerate(nests.children(structure)))


def _with_children(structure: Any, children: list[Any]) -> Any:
    """Returns a nest of the same form with other items, in the order of `_children`."""
    form, _ = nests.opened(structure)
    # Children are in the order of sorted keys, and the form has the dict's own.
    if isinstance(structure, Mapping):
        by_key = dict(zip(_keys(structure), children, strict=True))
        children = [by_key[key] for key in form.keys]
    return nests.closed(form, children)


def _traverse_children(func: Callable[[Any], Any], structure: Any, top_down: bool) -> Any:
    if not is_nested(structure):
        return structure
    children = [traverse(func, child, top_down) for _, child in _children(structure)]
    return _with_children(structure, children)
