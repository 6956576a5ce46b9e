import collections

import keras
import pytest

import tfkit
from tfkit import tree

Point = collections.namedtuple("Point", ["x", "y"])
NESTS = {
    "leaf": 5,
    "none": None,
    "list": [1, [2, 3], (4,)],
    "dict": {"b": 1, "a": {"c": None, "d": [2]}},
    "namedtuple": [Point(1, (2, 3))],
    "default": collections.defaultdict(int, {"b": 1, "a": 2}),
    "empty": [[], (), {}],
    "deque": collections.deque([1, [2]], maxlen=4),
    "ordered": collections.OrderedDict([("b", 1), ("a", [2])]),
    "keys of two types": {"a": 1, 2: 3},
    "not nests": [
        range(3),
        {1: 2}.keys(),
        {1: 2}.values(),
        {3},
        b"bytes",
        bytearray(b"1"),
        memoryview(b"1"),
    ],
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
def test_nests_are_seen_as_keras_sees_them(nest):
    results = [
        (
            library.tree.is_nested(nest),
            library.tree.flatten(nest),
            library.tree.flatten_with_path(nest),
            library.tree.map_structure(lambda x: (x, 1), nest),
            library.tree.map_structure(lambda x: (x, 1), nest, none_is_leaf=False),
            library.tree.lists_to_tuples(nest),
            library.tree.pack_sequence_as(nest, library.tree.flatten(nest)),
        )
        for library in (tfkit, keras)
    ]
    assert results[0] == results[1]
    for ours, theirs in zip(results[0][3:], results[1][3:], strict=True):
        assert type(ours) is type(theirs)
        assert getattr(ours, "maxlen", None) == getattr(theirs, "maxlen", None)


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
@pytest.mark.parametrize("top_down", [True, False])
def test_nests_are_visited_in_the_order_of_keras(nest, top_down):
    orders = []
    for library in (tfkit, keras):
        visited = []
        assert library.tree.traverse(visited.append, nest, top_down) == nest
        orders.append(visited)
    assert orders[0] == orders[1]


def test_traverse_puts_results_in_place():
    for library in (tfkit, keras):
        none = library.tree.MAP_TO_NONE

        def change(item, none=none):
            return none if item == 1 else "tuple" if isinstance(item, tuple) else None

        assert library.tree.traverse(change, {"a": [1, 2], "b": (1,)}) == {
            "a": [None, 2],
            "b": "tuple",
        }


SHAPES = [(2, 3), [None, 3], {"a": (1,), "b": [(2, 3), (4,)]}, [], (), None, [None, None]]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes_are_leaves(shapes):
    def describe(shape):
        return None if shape == (1,) else ("shape", shape)

    got = tfkit.tree.map_shape_structure(describe, shapes)
    assert got == keras.tree.map_shape_structure(describe, shapes)


def test_equal_keys_of_mappings_meet_whatever_their_order():
    ordered, plain = collections.OrderedDict([("b", 1), ("a", 2)]), {"a": 3, "b": 4}
    for one, other in ((ordered, plain), (plain, ordered), (ordered, ordered)):
        got, expected = (
            library.tree.map_structure(lambda x, y: (x, y), one, other)
            for library in (tfkit, keras)
        )
        assert got == expected
        assert list(got) == list(expected)
    changed = tree.map_structure_up_to(ordered, str, ordered)
    assert changed == collections.OrderedDict([("b", "1"), ("a", "2")])


@pytest.mark.parametrize(("leaves", "message"), [([1], "Too few"), ([1, 2, 3], "Too many")])
def test_as_many_leaves_as_the_structure_holds(leaves, message):
    with pytest.raises(ValueError, match=f"{message} leaves for the structure, which holds 2"):
        tree.pack_sequence_as({"a": 0, "b": 0}, leaves)
    with pytest.raises(TypeError, match="must be a list of leaves"):
        tree.pack_sequence_as({"a": 0, "b": 0}, "ab")


def test_map_structure_up_to_stops_at_the_shallow_leaves():
    for library in (tfkit, keras):
        got = library.tree.map_structure_up_to(
            {"a": 0, "b": [0]}, lambda x, y: (x, y), {"a": [1, 2], "b": [3]}, {"a": 4, "b": [[5]]}
        )
        assert got == {"a": ([1, 2], 4), "b": [(3, [5])]}


SAME = [([1, 2], [3, 4]), ({"a": 1}, collections.OrderedDict(a=2)), ([None], [1]), (1, "a")]
DIFFERENT = [([1], (1,)), ([1, 2], [1]), ([1], 1), ({"a": 1}, {"b": 1}), ([[1]], [1])]


@pytest.mark.parametrize(("a", "b"), SAME, ids=str)
def test_equal_forms_pass(a, b):
    for library in (tfkit, keras):
        library.tree.assert_same_structure(a, b)
        library.tree.map_structure(lambda x, y: None, a, b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=str)
def test_different_forms_are_refused_as_keras_refuses_them(a, b):
    for library in (tfkit, keras):
        with pytest.raises(ValueError):  # noqa: PT011
            library.tree.assert_same_structure(a, b)
        with pytest.raises(ValueError):  # noqa: PT011
            library.tree.map_structure(lambda x, y: None, a, b)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((1, 2), 3, r"Expected a tuple\. Received: one value, 3"),
        ({"a": [1]}, {"a": (1,)}, r"Expected a list at \['a'\]\. Received: a tuple"),
        ([1, 2], [1], r"Expected a list with the keys \[0, 1\]\. Received: those with \[0\]"),
        ({"a": 1}, {"b": 1}, r"Expected a dict with the keys \['a'\]"),
    ],
)
def test_errors_say_where_two_forms_differ(a, b, message):
    with pytest.raises(ValueError, match=message):
        tfkit.tree.assert_same_structure(a, b)


def test_paths_are_compared_without_the_containers():
    for library in (tfkit, keras):
        library.tree.assert_same_paths([1, (2,)], (3, Point(4, 5)[:1]))
        with pytest.raises(ValueError, match="paths"):
            library.tree.assert_same_paths([1, 2], [1])


def test_errors_say_what_was_passed():
    with pytest.raises(ValueError, match="at least one structure"):
        tree.map_structure(len)
    with pytest.raises(ValueError, match="at least one structure"):
        tree.map_structure_up_to([1], len)
    with pytest.raises(ValueError, match=r"Expected one as deep as \[1, 2\]. Received: \(\[1\],\)"):
        tree.map_structure_up_to([1, 2], len, [1])
    with pytest.raises(ValueError, match=r"Only in the first: \[\(1,\)\]"):
        tree.assert_same_paths([1, 2], [1])


class Items(collections.UserList):
    """A list of other attributes."""


@pytest.mark.parametrize("kind", [collections.UserList, Items])
def test_what_only_behaves_as_a_list_is_a_leaf(kind):
    value = kind([1, 2])
    for library in (tfkit, keras):
        assert not library.tree.is_nested(value)
        assert library.tree.flatten([value, 3]) == [value, 3]
        assert library.tree.map_structure(type, [value]) == [kind]
