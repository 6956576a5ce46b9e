"""What your own `get_compile_config` returns may hold objects, as in Keras: files hold their names."""

import json

import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

X, Y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")


def classes(library):
    """Returns a model whose `compile` has arguments of its own, and a loss."""
    register = library.saving.register_keras_serializable("own_compile")

    @register
    def halved(y_true, y_pred):
        return library.ops.sum(library.ops.square(y_pred - y_true), axis=1) / 2

    @register
    class Own(library.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.dense = library.layers.Dense(2)

        def call(self, inputs):
            return self.dense(inputs)

        def compile(self, optimizer, loss_fn, measures):
            super().compile(optimizer=optimizer, loss=loss_fn, metrics=measures)
            self.own_optimizer, self.loss_fn, self.measures = optimizer, loss_fn, measures

        def get_compile_config(self):
            return {
                "optimizer": self.own_optimizer,
                "loss_fn": self.loss_fn,
                "measures": self.measures,
            }

        def compile_from_config(self, config):
            read = library.saving.deserialize_keras_object
            self.compile(**{key: read(value) for key, value in config.items()})

    return Own, halved


def made(library):
    own, halved = classes(library)
    model = own()
    model.compile(library.optimizers.SGD(0.25), halved, ["mae", halved])
    model.fit(X, Y, verbose=0)
    return model, halved


@pytest.fixture(autouse=True)
def only_here():
    yield
    keras.saving.get_custom_objects().clear()
    tfkit.saving.get_custom_objects().clear()


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_a_file_may_hold_none(tmp_path, name):
    own, halved = classes(tfkit)
    own.get_compile_config = lambda self: None
    model = own()
    model.compile("sgd", halved, [])
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / name)
    assert not tfkit.models.load_model(tmp_path / name).compiled


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_a_file_holds_objects(tmp_path, name):
    model, halved = made(tfkit)
    model.save(tmp_path / name)
    loaded = tfkit.models.load_model(tmp_path / name)
    assert loaded.loss_fn is halved
    assert list(loaded.measures) == ["mae", halved]
    assert float(loaded.optimizer.learning_rate) == 0.25
    assert loaded.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)


def test_keras_reads_the_file(tmp_path):
    model, _ = made(tfkit)
    model.save(tmp_path / "model.keras")
    _, halved = classes(keras)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.loss_fn is halved
    np.testing.assert_allclose(loaded.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-6)


def test_the_file_of_keras_is_read(tmp_path):
    model, _ = made(keras)
    model.save(tmp_path / "model.keras")
    _, halved = classes(tfkit)
    assert tfkit.models.load_model(tmp_path / "model.keras").loss_fn is halved


def test_so_does_json():
    for library in (tfkit, keras):
        model, _ = made(library)
        config = library.saving.serialize_keras_object(model)["compile_config"]
        assert config["loss_fn"]["config"] in ("halved", "own_compile>halved")
        assert json.loads(json.dumps(config))["measures"][0] == "mae"
