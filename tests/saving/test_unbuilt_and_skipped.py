"""Models that are not built in files, and weights that files leave out."""

import copy

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.interop import keras as exchange

X = np.ones((4, 3), "float32")


@tfkit.saving.register_keras_serializable("unbuilt")
class Body(tfkit.Model):
    def __init__(self, units=2, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.head = layers.Dense(units)
        self.drop = layers.Dropout(0.2)

    def call(self, inputs):
        return self.drop(self.head(inputs))


@pytest.mark.parametrize("name", ["m.h5", "m.keras"])
@pytest.mark.parametrize("make", [lambda: Body(5), lambda: tfkit.Sequential([layers.Dense(5)])])
def test_a_model_that_is_not_built_keeps_configuration_and_compile(name, make, tmp_path):
    model = make()
    model.compile(tfkit.optimizers.Adam(0.25), loss="mae", metrics=["mse"])
    model.save(tmp_path / name)
    loaded = tfkit.models.load_model(tmp_path / name)
    assert type(loaded) is type(model)
    assert not loaded.built
    assert loaded.compiled
    assert (float(loaded.optimizer.learning_rate), loaded.loss) == (0.25, "mae")
    assert list(loaded.evaluate(X, np.ones((4, 5)), verbose=0, return_dict=True)) == [
        "loss",
        "mse",
    ]


def test_keras_reads_a_model_that_is_not_built(tmp_path):
    model = tfkit.Sequential([layers.Dense(5, activation="relu")])
    model.compile("sgd", "mse")
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert not loaded.built
    assert loaded.layers[0].units == 5
    assert loaded.compiled


@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
@pytest.mark.parametrize("mode", [None, "int8"])
def test_built_layers_of_a_sequential_model_without_an_input_are_kept(tmp_path, name, mode):
    layer = layers.Dense(5)
    layer.build((None, X.shape[1]))
    if mode:
        layer.quantize(mode)
    tfkit.Sequential([layer]).save(tmp_path / name)
    np.testing.assert_array_equal(tfkit.models.load_model(tmp_path / name)(X), layer(X))
    if name == "m.keras":
        found = keras.models.load_model(tmp_path / name)(X)
        np.testing.assert_allclose(found, layer(X).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_such_a_file_of_keras_is_read(tmp_path):
    layer = keras.layers.Dense(5)
    layer.build((None, X.shape[1]))
    with pytest.warns(UserWarning, match="not yet been built"):
        keras.Sequential([layer]).save(tmp_path / "m.keras")
    found = tfkit.models.load_model(tmp_path / "m.keras")(X)
    np.testing.assert_allclose(found, layer(X).numpy(), rtol=1e-5, atol=1e-6)


def test_weights_below_a_model_that_is_not_built_are_not_lost(tmp_path):
    model = Body()
    model.head(X)
    for name in ("m.h5", "m.keras"):
        with pytest.raises(ValueError, match="is not built, but layers in it have weights"):
            model.save(tmp_path / name)
    with pytest.raises(ValueError, match="no weights yet"):
        Body().save_weights(tmp_path / "m.weights.h5")
    assert not list(tmp_path.iterdir())


def stack():
    return tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2), layers.Dense(2)])


def filled():
    model = stack()
    for index, weight in enumerate(model.weights):
        weight.assign(np.full(weight.shape, index + 1.0))
    return model


@pytest.mark.parametrize("save", [tfkit.saving.save_weights, exchange.save_weights])
def test_what_is_skipped_stays_as_it_is(save, tmp_path):
    path, target = tmp_path / "m.weights.h5", stack()
    before = target.get_weights()
    save(filled(), path)
    skip = [target.layers[0], target.layers[1].bias]
    report = target.load_weights(path, objects_to_skip=skip)
    after = target.get_weights()
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[3], before[3])
    np.testing.assert_array_equal(after[2], np.full((2, 2), 3.0))
    assert report.loaded == ["dense_1/kernel"]
    assert set(report.skipped) == {"dense/kernel", "dense/bias", "dense_1/bias"}


def test_what_the_file_leaves_out_must_be_skipped_in_loading(tmp_path):
    path, source, target = tmp_path / "m.weights.h5", filled(), stack()
    source.save_weights(path, objects_to_skip=[source.layers[0]])
    with pytest.raises(tfkit.saving.LoadError, match="missing in the file:  dense/kernel"):
        target.load_weights(path)
    target.load_weights(path, objects_to_skip=[target.layers[0]])
    np.testing.assert_array_equal(target.get_weights()[3], [4.0, 4.0])
    with pytest.raises(ValueError, match="must be a list of layers and weights"):
        target.load_weights(path, objects_to_skip=["dense"])


def test_layers_inside_of_a_skipped_one_are_skipped(tmp_path):
    path = tmp_path / "m.weights.h5"

    def nested():
        return tfkit.Sequential([stack(), layers.Dense(1)])

    source, target = nested(), nested()
    before = target.get_weights()
    source.save_weights(path)
    target.load_weights(path, objects_to_skip=[target.layers[0]])
    for index in range(4):
        np.testing.assert_array_equal(target.get_weights()[index], before[index])
    np.testing.assert_array_equal(target.get_weights()[4], source.get_weights()[4])


# --- What a configuration holds -----------------------------------------------------------------------


@tfkit.saving.register_keras_serializable("unbuilt")
def twofold(x):
    return 2 * x


@pytest.mark.parametrize(
    "value",
    [
        b"hello",
        b"\xff\x00",
        [b"a", {"b": b"c"}],
        tfkit.backend.floatx(),
    ],
)
def test_bytes_in_configurations(value):
    config = tfkit.saving.serialize_keras_object(value)
    assert tfkit.saving.deserialize_keras_object(config) == value
    if value == b"hello":
        assert config == keras.saving.serialize_keras_object(value)


def test_specs_in_configurations():

    for spec in (
        tf.TensorSpec([None, 3], "float32", name="a"),
        tf.SparseTensorSpec([3], "int64"),
        tf.RaggedTensorSpec([None, None], "int32"),
    ):
        config = tfkit.saving.serialize_keras_object(spec)
        assert config == keras.saving.serialize_keras_object(spec)
        assert tfkit.saving.deserialize_keras_object(config) == spec
    for wrong in ({"spec_name": "Popen", "config": []}, {"spec_name": "TensorSpec", "config": "x"}):
        with pytest.raises(TypeError, match="A spec in a configuration"):
            tfkit.saving.deserialize_keras_object({"class_name": "__typespec__", **wrong})


def test_a_function_that_was_written_without_its_package():
    config = {"module": "builtins", "class_name": "function", "config": "twofold"}
    assert tfkit.saving.deserialize_keras_object(config) is twofold


class Scale:
    def squared(self, y_true, y_pred):
        return tf.square(y_true - y_pred)


@tf.function
def squared(y_true, y_pred):
    return tf.square(y_true - y_pred)


@pytest.mark.parametrize("loss", [Scale().squared, squared], ids=["method", "tf.function"])
@pytest.mark.parametrize("name", ["m.h5", "m.keras"])
def test_a_loss_that_is_a_method_or_a_graph_function_is_saved_by_its_name(loss, name, tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(1)])
    model.compile("sgd", loss, metrics=[loss])
    expected = model.evaluate(X, X[:, :1], verbose=0)
    model.save(tmp_path / name)
    loaded = tfkit.saving.load_model(tmp_path / name, custom_objects={"squared": loss})
    assert loaded.evaluate(X, X[:, :1], verbose=0) == expected
    if name.endswith(".keras"):
        other = keras.saving.load_model(tmp_path / name, compile=False)
        np.testing.assert_allclose(other(X), model(X), rtol=1e-6)


@pytest.mark.parametrize("name", ["my_package>Dense", "builtins.eval"])
def test_a_built_in_does_not_stand_for_a_registered_class(name):
    config = {"class_name": "Dense", "module": "keras.layers", "config": {"units": 1}}
    assert tfkit.saving.deserialize_keras_object(config).units == 1
    with pytest.raises(ValueError, match="has not registered"):
        tfkit.saving.deserialize_keras_object({**config, "registered_name": name})


def test_a_scope_of_none():
    with tfkit.saving.custom_object_scope(None):
        assert tfkit.layers.Dense.from_config({"units": 3}).units == 3


def test_a_model_whose_step_calls_only_its_layers_is_told_how_to_be_saved(tmp_path):
    class Pair(tfkit.Model):
        def __init__(self) -> None:
            super().__init__()
            self.generator = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(3)])

    pair = Pair()
    with pytest.raises(ValueError, match=r"has 2 weights in its layers.*`self\.built = True`"):
        pair.save_weights(tmp_path / "pair.weights.h5")
    pair.built = True
    pair.save_weights(tmp_path / "pair.weights.h5")
    with pytest.raises(ValueError, match="no weights yet"):
        tfkit.Sequential([tfkit.layers.Dense(3)]).save_weights(tmp_path / "none.weights.h5")


class LeavesToCalls:
    """Makes layers in `build`, or before, that only calls build."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(3)

    def build(self, *shapes, **named):
        self.last = layers.Dense(2)
        self.built = True
        del shapes, named


@tfkit.saving.register_keras_serializable("unbuilt")
class OneInput(LeavesToCalls, tfkit.Model):
    def build(self, input_shape):
        super().build(input_shape)

    def call(self, x):
        return self.last(self.first(x))


@tfkit.saving.register_keras_serializable("unbuilt")
class TwoInputs(LeavesToCalls, tfkit.Model):
    def build(self, x_shape, y_shape):
        super().build(x_shape, y_shape)

    def call(self, x, y=None):
        return self.last(self.first(x) + y)


@tfkit.saving.register_keras_serializable("unbuilt")
class Inner(LeavesToCalls, layers.Layer):
    def build(self, input_shape):
        super().build(input_shape)

    def call(self, x):
        return self.last(self.first(x))


def copied(model, path):
    del path
    return copy.deepcopy(model)


def in_a_file(name):
    def saved_and_loaded(model, path):
        model.save(path / name)
        return tfkit.models.load_model(path / name)

    return saved_and_loaded


@pytest.mark.parametrize("again", [copied, in_a_file("m.h5"), in_a_file("m.keras")])
@pytest.mark.parametrize("make", [OneInput, TwoInputs, lambda: tfkit.Sequential([Inner()])])
def test_layers_that_only_calls_build_are_built_again(make, again, tmp_path):
    model = make()
    inputs = (X, X) if isinstance(model, TwoInputs) else (X,)
    expected = model(*inputs)
    np.testing.assert_array_equal(again(model, tmp_path)(*inputs), expected)
