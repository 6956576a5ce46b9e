"""Members in containers are known by key and index, whatever their order and their names."""

import json
import string

import h5py
import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import tfkit
from tfkit import layers
from tfkit.src.base.registry import serialization
from tfkit.src.core import tracking
from tfkit.src.files.saving.json_nest import from_json, to_json

SETTINGS = hypothesis.settings(
    max_examples=15,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)


class Leaf(layers.Layer):
    """One weight."""

    def __init__(self, value=0.0):
        super().__init__()
        self.w = self.add_weight(shape=(2,), initializer="zeros", name="w")
        self.w.assign([value, -value])
        self.built = True


class Holder(layers.Layer):
    """Attributes, set in the order given."""

    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)
        self.built = True


# --- Nests of containers ----------------------------------------------------------------------------------

KEYS = st.one_of(
    st.text(string.printable + "äß%/.", max_size=6),
    st.sampled_from([".", "..", "", "a/b", "a%2Fb", "%", "vars", "w", "\0", "日本"]),
)
SHAPES = st.recursive(
    st.just("leaf"),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3),
        st.tuples(inner, inner),
        st.lists(inner, min_size=1, max_size=2).map(lambda items: ("holder", items)),
    ),
    max_leaves=8,
)


def nest(shape, values):
    """Layers in containers as `shape` says, each with a value of its own."""
    if shape == "leaf":
        return Leaf(next(values))
    if isinstance(shape, dict):
        return {key: nest(inner, values) for key, inner in shape.items()}
    if isinstance(shape, tuple) and shape[0] == "holder":
        return Holder(items=[nest(inner, values) for inner in shape[1]])
    return type(shape)(nest(inner, values) for inner in shape)


def reordered(value):
    """The same containers, dicts filled from the other end."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    if isinstance(value, (list, tuple)):
        return type(value)(reordered(item) for item in value)
    return value


@SETTINGS
@hypothesis.given(SHAPES)
def test_nests_of_layers_come_back_by_path(tmp_path, shape):
    model = tfkit.Model()
    model.parts, model.built = nest(shape, iter(range(1, 100))), True
    other = tfkit.Model()
    other.parts, other.built = reordered(nest(shape, iter([0.0] * 100))), True
    path = tmp_path / "nest.weights.h5"
    model.save_weights(path)
    report = other.load_weights(path)
    before, after = tracking.named_state(model), tracking.named_state(other)
    assert sorted(report.loaded) == sorted(before) == sorted(after)
    assert len(before) == len(model.weights)
    for name, variable in before.items():
        np.testing.assert_array_equal(after[name], variable)


def test_attributes_and_weights_of_one_shape_in_another_order(tmp_path):
    def build(names):
        model = tfkit.Model()
        model.inner = Holder(**{name: Leaf(ord(name)) for name in names})
        for name in names:
            weight = model.add_weight(shape=(3,), name=f"x{name}")
            weight.assign([ord(name)] * 3)
        model.built = True
        return model

    first, second = build("abc"), build("cba")
    for weight in second.weights:
        weight.assign(weight * 0)
    first.save_weights(tmp_path / "m.weights.h5")
    second.load_weights(tmp_path / "m.weights.h5")
    for name in "abc":
        assert float(getattr(second.inner, name).w[0]) == ord(name)
    values = {
        path: float(w[0]) for path, w in tracking.named_state(second).items() if path[0] == "x"
    }
    assert values == {f"x{name}": ord(name) for name in "abc"}


def test_a_weight_whose_label_is_an_attribute(tmp_path):
    model = Holder(blocks=[Leaf(1.0)])
    model.built = False
    model.add_weight(shape=(), name="blocks").assign(5.0)
    model.built = True
    assert set(tracking.named_state(model)) == {"blocks_1", "blocks/0/w"}


def test_keys_that_read_the_same_are_refused(tmp_path):
    model = tfkit.Model()
    model.parts, model.built = {1: Leaf(), "1": Leaf()}, True
    with pytest.raises(ValueError, match=r"'parts/1/w'.*1 and '1'"):
        model.save_weights(tmp_path / "m.weights.h5")


# --- Sizes and dtypes -------------------------------------------------------------------------------------


def test_many_layers_with_long_names(tmp_path):
    """Few of the 5,000 that were tried by hand."""

    def build(value):
        model = tfkit.Model()
        model.parts = {
            f"layer_{index:03d}_".ljust(60, "x"): Leaf(value * index) for index in range(150)
        }
        model.built = True
        return model

    model, other = build(1.0), build(0.0)
    model.save_weights(tmp_path / "m.weights.h5")
    other.load_weights(tmp_path / "m.weights.h5")
    assert [float(w[0]) for w in other.weights] == list(range(150))
    short = tfkit.Model()
    short.parts, short.built = {}, True
    with pytest.raises(tfkit.saving.LoadError, match="and 130 more") as caught:
        short.load_weights(tmp_path / "m.weights.h5")
    assert len(str(caught.value).splitlines()) == 23


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "bool", "uint32", "complex64"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (5, 7), (40_000,)])
def test_every_dtype_bit_for_bit(dtype, shape, tmp_path):
    def build():
        layer = layers.Layer()
        layer.w = layer.add_weight(shape=shape, dtype=dtype, initializer="zeros", name="w")
        model = tfkit.Sequential([layer])
        model.built = layer.built = True
        return model

    model, other = build(), build()
    bits = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 200, shape)
    model.weights[0].assign(np.asarray(bits).astype(model.weights[0].dtype.as_numpy_dtype))
    model.save_weights(tmp_path / "m.weights.h5")
    other.load_weights(tmp_path / "m.weights.h5")
    assert other.weights[0].numpy().tobytes() == model.weights[0].numpy().tobytes()
    other.weights[0].assign(
        model.weights[0]
    )  # A variable in shared memory is a variable like others.
    with h5py.File(tmp_path / "m.weights.h5") as file:
        (name,) = file["weights"]
        assert file[f"weights/{name}/w"].attrs["dtype"] == dtype


# --- Configurations ---------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8)
)
ARRAYS = st.builds(
    lambda values, dtype: np.asarray(values).astype(dtype),
    st.lists(st.integers(0, 100), max_size=4),
    st.sampled_from(["float32", "int8", "bool", "float64", "uint16"]),
)
UNITS = st.builds(
    layers.Dense,
    st.integers(1, 9),
    activation=st.sampled_from(["relu", None, "tanh"]),
    kernel_initializer=st.just("zeros"),  # Glorot's draws a seed.
)
VALUES = st.recursive(
    st.one_of(
        NUMBERS,
        ARRAYS,
        UNITS,
        st.just(...),
        st.builds(slice, st.integers(), st.none(), st.integers()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(
            st.text(max_size=4).filter(lambda key: key != "class_name"), inner, max_size=3
        ),
    ),
    max_leaves=8,
)


def check_same(value, other):
    assert type(value) is type(other)
    if isinstance(value, dict):
        assert list(value) == list(other)
        for key in value:
            check_same(value[key], other[key])
    elif isinstance(value, (list, tuple)):
        assert len(value) == len(other)
        for one, two in zip(value, other, strict=True):
            check_same(one, two)
    elif isinstance(value, layers.Layer):
        assert value.get_config() == other.get_config()
    elif isinstance(value, np.ndarray):
        assert value.dtype == other.dtype
        np.testing.assert_array_equal(value, other)
    else:
        assert value == other or (value != value and other != other)


@SETTINGS
@hypothesis.given(VALUES)
def test_configurations_come_back(value):
    data = to_json(serialization.serialize_keras_object(value))
    text = json.dumps(data)
    check_same(value, serialization.deserialize_keras_object(from_json(text)))
