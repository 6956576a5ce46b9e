"""Layers that say themselves what a file keeps of them, by the hooks that Keras gives them."""

import os

import keras
import numpy as np
import pytest

import tfkit

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")


def program(keras):
    """A program as it is written for Keras; it runs with `keras` and with `tfkit`."""

    @keras.saving.register_keras_serializable("hooks")
    class Table(keras.layers.Layer):
        """Keeps its kernel as numbers of 16 bits, and a table that is no weight."""

        def build(self, input_shape):
            self.kernel = self.add_weight(shape=(input_shape[-1], 3), name="kernel")
            self.seen = np.zeros(2, "int64")

        def call(self, x):
            return keras.ops.matmul(x, self.kernel)

        def save_own_variables(self, store):
            store["half"] = np.asarray(self.kernel).astype("float16")
            store["seen"] = self.seen

        def load_own_variables(self, store):
            self.seen = np.array(store["seen"])
            self.kernel.assign(np.array(store["half"], "float32"))

    @keras.saving.register_keras_serializable("hooks")
    class Wide(keras.layers.Layer):
        """Its size is no argument of the constructor: `get_build_config` tells it."""

        def set_up(self, width):
            self.width = width
            self.w = self.add_weight(shape=(width,), initializer="ones", name="w")
            self.built = True

        def call(self, x):
            return x * self.w

        def get_build_config(self):
            return {"width": self.width}

        def build_from_config(self, config):
            self.set_up(config["width"])

    @keras.saving.register_keras_serializable("hooks")
    class Net(keras.Model):
        """Its `compile` takes an argument more."""

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.table, self.wide, self.head = Table(), Wide(), keras.layers.Dense(1)
            self.wide.set_up(3)

        def call(self, x):
            return self.head(self.wide(self.table(x)))

        def compile(self, optimizer, factor, **kwargs):
            super().compile(optimizer=optimizer, loss="mse", **kwargs)
            self.factor = factor

        def get_compile_config(self):
            optimizer = keras.saving.serialize_keras_object(self.optimizer)
            return {"optimizer": optimizer, "factor": self.factor}

        def compile_from_config(self, config):
            optimizer = keras.saving.deserialize_keras_object(config["optimizer"])
            self.compile(optimizer=optimizer, factor=config["factor"])

    return Net


@pytest.fixture(scope="module")
def net_class():
    return program(tfkit)


@pytest.fixture
def net(net_class):
    model = net_class()
    model.compile("adam", factor=7)
    model.fit(X, X[:, :1], verbose=0)
    model.table.seen[:] = [3, 5]
    return model


def check_same(loaded, model):
    kernel = np.asarray(model.table.kernel).astype("float16").astype("float32")
    np.testing.assert_array_equal(loaded.table.kernel, kernel)
    assert loaded.table.seen.tolist() == [3, 5]
    for name in ("head", "wide"):
        before, after = getattr(model, name).get_weights(), getattr(loaded, name).get_weights()
        for a, b in zip(before, after, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_whole_model_with_all_hooks_comes_back(net, tmp_path):
    net.save(tmp_path / "net.h5")
    loaded = tfkit.models.load_model(tmp_path / "net.h5")
    check_same(loaded, net)
    assert loaded.factor == 7
    assert loaded.wide.width == 3
    assert int(loaded.optimizer.iterations) == 1
    assert type(loaded.optimizer) is type(net.optimizer)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_the_same_program_does_the_same_in_keras(net, tmp_path):
    oracle = program(keras)()
    oracle.compile("adam", factor=7)
    oracle(X)
    net(X)
    oracle.set_weights(net.get_weights())
    oracle.table.seen[:] = [3, 5]
    oracle.save(tmp_path / "net.keras")
    theirs = keras.models.load_model(tmp_path / "net.keras")
    check_same(theirs, oracle)
    net.save(tmp_path / "net.h5")
    ours = tfkit.models.load_model(tmp_path / "net.h5")
    assert (theirs.factor, theirs.wide.width) == (ours.factor, ours.wide.width)
    for a, b in zip(theirs.get_weights(), ours.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_weights_alone(net, net_class, tmp_path):
    net.save_weights(tmp_path / "net.weights.h5")
    other = net_class()
    other(X)
    other.load_weights(tmp_path / "net.weights.h5")
    check_same(other, net)


def test_what_a_hook_refuses_changes_nothing(net, net_class, tmp_path):
    path = tmp_path / "net.weights.h5"
    net.save_weights(path)

    class Strict(type(net.table)):
        def load_own_variables(self, store):
            super().load_own_variables({**store, "half": np.zeros((4, 3))})
            raise KeyError("version")

    other = net_class()
    other.table = Strict()
    other(X)
    before, kernel = other.get_weights(), other.table.kernel.numpy()
    with pytest.raises(tfkit.saving.LoadError, match=r"'table' \(of type Strict\).*'version'"):
        other.load_weights(path)
    for a, b in zip(before, other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    other.load_weights(path, skip_mismatch=True)
    np.testing.assert_array_equal(other.table.kernel, kernel)
    np.testing.assert_array_equal(other.head.kernel, net.head.kernel)


def test_the_default_hooks_and_what_they_refuse():
    layer, other = tfkit.layers.BatchNormalization(), tfkit.layers.BatchNormalization()
    oracle = keras.layers.BatchNormalization()
    for each in (layer, other, oracle):
        each.build((None, 3))
    store, keras_store = {}, {}
    layer.set_weights([np.full(3, i, "float32") for i in range(4)])
    oracle.set_weights(layer.get_weights())
    layer.save_own_variables(store)
    oracle.save_own_variables(keras_store)
    assert list(store) == list(keras_store)
    for key, value in store.items():
        np.testing.assert_array_equal(value, keras_store[key])
    other.load_own_variables(store)
    np.testing.assert_array_equal(other.moving_variance, [3, 3, 3])
    del store["3"]
    with pytest.raises(ValueError, match="4 variables of its own"):
        other.load_own_variables(store)
    with pytest.raises(ValueError, match="4 variables"):
        oracle.load_own_variables({key: keras_store[key] for key in store})


def test_what_cannot_be_stored(net, tmp_path):
    net.table.seen = np.array(["a", "b"])
    with pytest.raises(ValueError, match=r"'table' \(of type Table\) cannot store 'seen'"):
        net.save_weights(tmp_path / "net.weights.h5")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("method", ["save_assets", "load_assets"])
def test_assets_are_refused_with_a_way_out(method, tmp_path):
    layer_class = type("Vocabulary", (tfkit.layers.Dense,), {method: lambda self, path: None})
    model = tfkit.Sequential([tfkit.Input((4,)), layer_class(2, name="words")])
    with pytest.raises(
        ValueError,
        match=rf"'words' \(of type Vocabulary\) defines `{method}\(\)`.*save_own_variables",
    ):
        model.save(tmp_path / "m.h5")
    assert os.listdir(tmp_path) == []
    model.save_weights(tmp_path / "m.weights.h5")


def test_a_compile_of_ones_own_without_hooks_is_left_to_the_user(tmp_path):
    @tfkit.saving.register_keras_serializable("hooks")
    class Plain(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.dense = tfkit.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def compile(self, optimizer, factor):
            super().compile(optimizer, "mse")

    model = Plain()
    assert model.get_compile_config() is None
    model.compile("sgd", 3)
    model(X)
    model.save(tmp_path / "plain.h5")
    with pytest.warns(UserWarning, match=r"'plain.*' is not compiled.*compile_from_config"):
        loaded = tfkit.models.load_model(tmp_path / "plain.h5")
    assert not loaded.compiled
    np.testing.assert_array_equal(loaded.dense.kernel, model.dense.kernel)


def test_what_is_built_by_a_call_that_needs_a_vocabulary_is_built_before_the_vocabulary_is_read(
    tmp_path,
):
    @tfkit.saving.register_keras_serializable("hooks")
    class Tags(tfkit.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.lookup = tfkit.layers.StringLookup(output_mode="multi_hot")
            self.dense = tfkit.layers.Dense(2)

        def call(self, x):
            return self.dense(self.lookup(x))

    tags, x = Tags(), np.array([["a", "c"], ["b", "?"]], object)
    tags.lookup.adapt(["a", "b", "c"])
    model = tfkit.Sequential([tfkit.Input((2,), dtype="string"), tags])
    model.save(tmp_path / "tags.h5")
    loaded = tfkit.models.load_model(tmp_path / "tags.h5")
    np.testing.assert_array_equal(loaded(x), model(x))
