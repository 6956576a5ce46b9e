"""What a nest is, for all who walk through one: calls, steps, members, files, exports."""

import collections
import dataclasses
import functools
import math
import types

import attr
import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.base import nests
from tfkit.src.symbolic import descriptions

Pair = collections.namedtuple("Pair", ["b", "a"])


@attr.s
class Attributes:
    b = attr.ib()
    a = attr.ib()


class Items(dict):
    """A mapping of the user's."""


class Tagged(dict):
    """A mapping with an attribute of its own."""

    tag = None


@dataclasses.dataclass
class Data:
    b: tf.Tensor
    a: tf.Tensor


def with_default(**items):
    result = collections.defaultdict(lambda: 7)
    result.update(items)
    return result


def tagged(**items):
    result = Tagged(items)
    result.tag = "mine"
    return result


KINDS = {
    "list": lambda b, a: [b, a],
    "tuple": lambda b, a: (b, a),
    "dict": lambda b, a: {"b": b, "a": a},
    "OrderedDict": lambda b, a: collections.OrderedDict(b=b, a=a),
    "defaultdict": lambda b, a: with_default(b=b, a=a),
    "subclass": lambda b, a: Items(b=b, a=a),
    "UserDict": lambda b, a: collections.UserDict(b=b, a=a),
    "named tuple": Pair,
    "attrs": Attributes,
    "nested": lambda b, a: Pair([b], collections.OrderedDict(x=(a,))),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
ROWS = np.arange(6, dtype="float32").reshape(2, 3)


def doubled(nest):
    return nests.mapped(doubled, nest) if nests.is_nested(nest) else nest * 2.0


class Doubles(keras.Model):
    """Gives a nest as it got it, its numbers doubled."""

    _tfkit_not_read_in_calls = keras.Model._tfkit_not_read_in_calls | {"calls"}

    def __init__(self):
        super().__init__()
        self.calls = 0

    def call(self, nest):
        self.calls += 1
        return doubled(nest)


@every_kind
def test_a_direct_call_is_compiled_and_gives_the_same_type(make):
    model = Doubles()
    for factor in (1.0, 2.0, 3.0, 4.0):
        outputs = model(make(ROWS * factor, ROWS))
        assert type(outputs) is type(make(0, 0))
        expected = tf.nest.flatten(make(ROWS * factor * 2, ROWS * 2))
        for value, number in zip(tf.nest.flatten(outputs), expected, strict=True):
            np.testing.assert_array_equal(value, number)
        if isinstance(outputs, collections.abc.Mapping):
            assert list(outputs) == ["b", "a"]
    assert model.calls == 2  # Plain Python, then the trace.


@every_kind
def test_what_a_form_is_made_of_makes_it_again(make):
    nest = make(1, 2)
    form, items = nests.opened(nest)
    again = nests.closed(form, items)
    assert again == nest
    assert type(again) is type(nest)
    assert form.is_described()
    assert form == nests.opened(make(3, 4))[0]


def test_a_default_factory_and_attributes_are_kept():
    outputs = [Doubles()(with_default(b=ROWS, a=ROWS)) for _ in range(3)][-1]
    assert outputs["missing"] == 7
    model = Doubles()
    for _ in range(3):  # A function that was made anew with other values is another one.
        outputs = model(collections.defaultdict(functools.partial(int, 5), b=ROWS))
        assert outputs["missing"] == 5
    assert model.calls == 3
    model = Doubles()
    for _ in range(3):
        outputs = model(tagged(b=ROWS, a=ROWS))
        assert (type(outputs), outputs.tag) == (Tagged, "mine")
    # It may hold anything, so no trace can stand for another of its kind.
    assert model.calls == 3


def test_a_read_only_mapping_is_a_dict_to_the_layer():
    outputs = [Doubles()(types.MappingProxyType({"b": ROWS})) for _ in range(3)][-1]
    assert type(outputs) is dict


def test_a_dataclass_is_a_leaf():
    class Sum(keras.Model):
        def call(self, x, data=None):
            return x + data.b + data.a

    model = Sum()
    for number in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(model(ROWS, data=Data(number, 1.0)), ROWS + number + 1)
    assert not nests.is_nested(Data(1, 2))


def test_zero_and_minus_zero_are_two_constants():
    class Signed(keras.Model):
        def call(self, x, by=1.0):
            return x * math.copysign(1.0, by)

    model = Signed()
    x = tf.ones(2)
    signs = [float(model(x, by=by)[0]) for by in (0.0, 0.0, -0.0, -0.0, 0.0)]
    assert signs == [1, 1, -1, -1, 1]


def test_calls_with_nan_are_of_one_kind():
    class Filled(keras.Model):
        def call(self, x, by=1.0):
            return x * 0 + by

    model = Filled()
    for _ in range(5):
        assert np.isnan(model(tf.ones(2), by=float("nan"))).all()
    assert len(model._tfkit.direct._kinds) == 1


@every_kind
def test_masks_travel_with_all_of_them(make):
    class Masked(keras.layers.Layer):
        def call(self, nest):
            return doubled(nest)

    embedding = keras.layers.Embedding(5, 2, mask_zero=True)
    masked, plain = embedding(np.array([[1, 0, 2]])), tf.ones((1, 3, 2))
    layer = Masked()
    layer.supports_masking = True
    outputs = tf.nest.flatten(layer(make(plain, masked)))
    inputs = tf.nest.flatten(make("plain", "masked"))
    for name, output in zip(inputs, outputs, strict=True):
        mask = getattr(output, "_keras_mask", None)
        assert (mask is not None) == (name == "masked")


CONTAINERS = {
    **KINDS,
    "MappingProxyType": lambda b, a: types.MappingProxyType({"b": b, "a": a}),
    "deque": lambda b, a: collections.deque([b, a]),
    "set": lambda b, a: {b, a},
    "frozenset": lambda b, a: frozenset([b, a]),
    "dataclass": Data,
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_layers_and_metrics_are_found_in_all_of_them(make):
    class Holds(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = make(keras.layers.Dense(2), keras.layers.Dense(3))

    found = [member for _, member in Holds()._tfkit_members()]
    assert [each.units for each in found] == [2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_take_all_of_them_and_keep_their_type_except_for_lists(kind):
    seen, make = [], KINDS[kind]

    class Fits(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, nest):
            seen.append(type(nest))
            return self.dense(tf.add_n(tf.nest.flatten(nest)))

    model = Fits()
    model.compile("sgd", "mse")
    x = make(np.ones((8, 3), "float32"), np.ones((8, 3), "float32"))
    model.fit(x, np.ones((8, 1)), verbose=0)
    assert model.predict(x, verbose=0).shape == (8, 1)
    # As in Keras, lists of data are tuples in steps.
    assert set(seen) == {tuple if type(x) is list else type(x)}


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("kwargs", [{}, {"training": True}])
@pytest.mark.parametrize("num_args", [0, 1, 2])
def test_the_description_of_a_call_is_that_of_its_arguments(num_args, kwargs, has_mask):
    x = tf.ones((2, 3))
    if has_mask:
        x._keras_mask = tf.ones((2,), "bool")
    args = (x, [x, 1.5])[:num_args]
    whole, tensors = [], []
    description = descriptions.describe_call(args, kwargs, tensors)
    assert description == descriptions.describe((args, kwargs), whole)
    assert [id(tensor) for tensor in tensors] == [id(tensor) for tensor in whole]
    assert len(tensors) == num_args * (1 + has_mask)
    again = descriptions.rebuild(description, iter(tensors))
    assert len(again[0]) == num_args
    assert again[1] == kwargs
