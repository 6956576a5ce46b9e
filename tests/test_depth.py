"""Networks of many layers, and nests of many levels: no walk recurses, or its limit is explained."""

import copy
import pickle

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit import layers, ops, tree
from tfkit.src.files.saving.errors import LoadError

ROWS = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2)
DEEP = 200  # Five frames a layer would exceed the 1,000 that Python allows.


def _stack(depth):
    return keras.Sequential([keras.Input((2,)), *(layers.Dense(2) for _ in range(depth))])


def _chain(depth):
    inputs = outputs = keras.Input((2,))
    for _ in range(depth):
        outputs = layers.Add()([outputs, outputs])
        outputs = ops.tanh(outputs)
    return keras.Model(inputs, layers.Dense(2)(outputs))


@keras.saving.register_keras_serializable("tests")
class Loops(layers.Layer):
    """Many loops, each on the result of the one before."""

    def __init__(self, depth, **kwargs):
        super().__init__(**kwargs)
        self.depth, self.dense = depth, layers.Dense(2)

    def call(self, inputs):
        for _ in range(self.depth):
            inputs = tf.while_loop(lambda x: x[0, 0] > 9, lambda x: (x - 1,), (inputs,))[0]
        return self.dense(inputs)


@keras.saving.register_keras_serializable("tests")
class Reshapes(layers.Layer):
    """Many shapes, each computed of the one before."""

    def __init__(self, depth, **kwargs):
        super().__init__(**kwargs)
        self.depth, self.dense = depth, layers.Dense(2)

    def call(self, inputs):
        for _ in range(self.depth):
            inputs = tf.reshape(tf.tanh(inputs), tf.shape(inputs))
        return self.dense(tf.ensure_shape(inputs, (None, 2)))


def _nest_of_models(depth):
    model = keras.Sequential([keras.Input((2,)), layers.Dense(2)])
    for _ in range(depth):
        model = keras.Sequential([keras.Input((2,)), model])
    return model


NETWORKS = {
    "stack": lambda: _stack(DEEP),
    "chain": lambda: _chain(DEEP),
    "loops": lambda: keras.Sequential([keras.Input((2,)), Loops(40)]),
    "shapes": lambda: keras.Sequential([keras.Input((2,)), Reshapes(DEEP)]),
}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request):
    return NETWORKS[request.param]()


@pytest.mark.parametrize("settings", [{}, {"run_eagerly": True}], ids=["compiled", "eager"])
def test_deep_networks_train(network, settings):
    network.compile("sgd", "mse", **settings)
    losses = network.fit(ROWS, 0 * ROWS, batch_size=2, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    assert network.predict(ROWS, verbose=0).shape == (4, 2)


def test_shapes_in_a_deep_network_compile_in_xla():
    model = NETWORKS["shapes"]()
    model.compile("sgd", "mse", jit_compile=True)
    assert np.isfinite(model.fit(ROWS, 0 * ROWS, batch_size=2, verbose=0).history["loss"]).all()


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_deep_networks_are_saved_and_loaded(network, suffix, tmp_path):
    expected = network(ROWS).numpy()
    network.save(tmp_path / f"model{suffix}")
    loaded = keras.models.load_model(tmp_path / f"model{suffix}")
    np.testing.assert_array_equal(loaded(ROWS).numpy(), expected)


def test_deep_networks_are_shown_and_copied(network, capsys):
    network.summary(expand_nested=True)
    assert "Trainable params" in capsys.readouterr().out
    assert keras.utils.model_to_dot(network) is not None
    copies = keras.models.clone_model(network), pickle.loads(pickle.dumps(network))
    for each in copies:
        assert len(each.weights) == len(network.weights)


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_what_is_saved_of_nested_models_is_loaded(suffix, tmp_path):
    model = _nest_of_models(40)
    model.save(tmp_path / f"model{suffix}")
    loaded = keras.models.load_model(tmp_path / f"model{suffix}")
    np.testing.assert_array_equal(loaded(ROWS).numpy(), model(ROWS).numpy())


class Around(layers.Layer):
    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, inputs):
        return self.inner(inputs)


def _layers_inside_each_other(depth):
    layer = layers.Dense(2)
    for _ in range(depth):
        layer = Around(layer)
    return layer


def test_layers_too_deep_inside_each_other_are_explained():
    layer = _layers_inside_each_other(1000)
    with pytest.raises(
        RecursionError, match=r"about 100 deep inside each other.*setrecursionlimit"
    ) as error:
        layer(ROWS)
    assert layer.weights == []
    assert len(str(error.value)) < 1_000
    for refused in (layer.get_config, lambda: pickle.dumps(layer), lambda: copy.deepcopy(layer)):
        with pytest.raises(RecursionError, match="setrecursionlimit"):
            refused()


def test_weights_of_layers_deep_inside_each_other_are_found():
    layer = _layers_inside_each_other(1000)
    below = layer
    while isinstance(below, Around):
        below = below.inner
    below.build((None, 2))
    assert len(layer.weights) == 2


class Holding(keras.Model):
    """Holds a layer that it does not call: Python 3.12 allows no call so deep, whatever its limit."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, inputs):
        return inputs


def test_weights_that_could_not_be_loaded_are_not_saved(tmp_path):
    layer = below = _layers_inside_each_other(600)
    while isinstance(below, Around):
        below = below.inner
    below.build((None, 2))
    model = Holding(layer)
    model(ROWS)
    with pytest.raises(ValueError, match="more than the 500 that are read again"):
        model.save_weights(tmp_path / "deep.weights.h5")
    assert list(tmp_path.iterdir()) == []


def _nest(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def test_data_100_levels_deep_is_trained_on():
    class First(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, inputs):
            return self.dense(tree.flatten(inputs)[0])

    model = First()
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit(_nest(100, ROWS), ROWS, verbose=0).history["loss"]).all()
    with pytest.raises(RecursionError, match=r"data at most about 100 deep.*setrecursionlimit"):
        model.fit(_nest(1000, ROWS), ROWS, verbose=0)


WALKS = {
    "flatten": tree.flatten,
    "flatten_with_path": tree.flatten_with_path,
    "map_structure": lambda nest: tree.map_structure(abs, nest),
    "pack_sequence_as": lambda nest: tree.pack_sequence_as(nest, [2]),
    "assert_same_structure": lambda nest: tree.assert_same_structure(nest, copy_of(nest)),
    "lists_to_tuples": tree.lists_to_tuples,
    "serialize": keras.saving.serialize_keras_object,
    "deserialize": keras.saving.deserialize_keras_object,
}


def copy_of(nest):
    return _nest(1000, nest)


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_nests_of_1000_levels_are_explained(walk):
    with pytest.raises((RecursionError, LoadError), match=r"setrecursionlimit|nested too deeply"):
        walk(_nest(1000, 1))
