"""Tools that people bring, for real: each runs a program that uses it with models of tfkit."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

_spec = importlib.util.spec_from_file_location(
    "environments", Path(__file__).with_name("environments.py")
)
environments = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(environments)

START = """
import tfkit
tfkit.interop.stand_in_for_keras()
import numpy as np
import tensorflow as tf
x = np.random.default_rng(0).random((64, 3)).astype("float32")
y = x.sum(axis=1)
"""

NAMES = """
import keras, keras.layers, keras._tf_keras.keras
from keras import ops, losses as losses_module
from keras.src.saving.saving_lib import load_model, save_model
from keras.src.layers.convolutional.conv2d import Conv2D
from keras.src.layers.layer import Layer
from keras.src.backend.tensorflow import convert_to_tensor
assert convert_to_tensor is tfkit.ops.convert_to_tensor
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.config import floatx
from keras.src.ops.operation import Operation
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDataset
from keras.src.backend import any_symbolic_tensors, standardize_data_format
from keras.src.legacy.backend import int_shape
from keras.src.utils.backend_utils import in_tf_graph
from tensorflow.keras import backend as K
from tensorflow.keras.preprocessing.text import Tokenizer
assert Conv2D is tfkit.layers.Conv2D and Layer is tfkit.Layer and KerasTensor is tfkit.KerasTensor
assert floatx() == "float32" and Operation is tfkit.Operation and PyDataset is tfkit.utils.PyDataset
assert any_symbolic_tensors(([tfkit.Input((3,))],)) and not any_symbolic_tensors((x,))
assert standardize_data_format(None) == standardize_data_format("channels_last") == "channels_last"
assert not in_tf_graph() and int_shape(tf.zeros((2, 3))) == (2, 3) and K.sum(x).shape == ()
for missing in ("keras.src.layers.layer.NoSuchLayer", "keras.src.engine.base_layer.Layer"):
    place, name = missing.rsplit(".", 1)
    try:
        exec(f"from {place} import {name}")
    except ImportError:
        continue
    raise AssertionError(missing)
from tensorflow.keras.models import Model
assert keras.Model is tfkit.Model is Model is tf.keras.Model
assert keras.layers.Dense is tfkit.layers.Dense and ops.relu is tfkit.ops.relu
assert keras.version().startswith("3.") and keras.__version__.startswith("3.")
try:
    keras.losses.NoSuchLoss
except AttributeError as error:
    assert "`tfkit.losses` has no `NoSuchLoss`" in str(error)
import io
file = io.BytesIO()
model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
save_model(model, file)
file.seek(0)
assert np.array_equal(load_model(file)(x), model(x))
print("done")
"""

LATE = """
import keras
import tfkit
try:
    tfkit.interop.stand_in_for_keras()
except RuntimeError as error:
    assert "before any import of Keras" in str(error)
    print("refused")
"""

TUNER = """
import keras, keras_tuner
def build(hp):
    layers = [keras.Input((3,)), keras.layers.Dense(hp.Int("units", 2, 8, step=2)), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(hp.Float("rate", 1e-3, 1e-1, sampling="log")), "mse")
    return model
tuner = keras_tuner.RandomSearch(build, objective="val_loss", max_trials=2, directory="tuned")
tuner.search(x, y, epochs=2, validation_data=(x, y), verbose=0)
best = tuner.get_best_models(1)[0]
assert isinstance(best, tfkit.Sequential) and best.predict(x, verbose=0).shape == (64, 1)
assert tuner.get_best_hyperparameters()[0].get("units") == best.layers[0].units
print("done")
"""

SCIKERAS = """
import pickle
from scikeras.wrappers import KerasClassifier
def build(width=4):
    layers = [tfkit.Input((3,)), tfkit.layers.Dense(width, "relu"), tfkit.layers.Dense(1, "sigmoid")]
    return tfkit.Sequential(layers)
labels = (y > 1.5).astype(int)
fitted = KerasClassifier(build, loss="binary_crossentropy", epochs=2, verbose=0, width=8).fit(x, labels)
assert fitted.predict_proba(x).shape == (64, 2)
other = pickle.loads(pickle.dumps(fitted))
assert (other.predict(x) == fitted.predict(x)).all()
print("done")
"""

MLFLOW = """
import mlflow
mlflow.set_tracking_uri("sqlite:///runs.db")
mlflow.tensorflow.autolog(log_models=False)
model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
model.compile("adam", "mse")
with mlflow.start_run() as run:
    history = model.fit(x, y, epochs=3, verbose=0)
    logged = mlflow.tensorflow.log_model(model, name="model")
data = mlflow.get_run(run.info.run_id).data
assert abs(data.metrics["loss"] - history.history["loss"][-1]) < 1e-6
assert data.params["epochs"] == "3" and data.params["opt_name"]
loaded = mlflow.tensorflow.load_model(logged.model_uri)
assert np.array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
print("done")
"""


def test_keras_is_tfkit_where_it_stands_in(tmp_path):
    assert environments.run(START + NAMES, tmp_path).endswith("done\n")


def test_standing_in_comes_before_keras(tmp_path):
    assert environments.run(LATE, tmp_path).endswith("refused\n")


@pytest.mark.parametrize(
    ("module", "program"),
    [("keras_tuner", TUNER), ("scikeras", SCIKERAS), ("mlflow", MLFLOW)],
    ids=["keras_tuner", "scikeras", "mlflow"],
)
def test_libraries_that_train_keras_models(module, program, tmp_path):
    environments.needs(module, "tools")
    assert environments.run(START + program, tmp_path).endswith("done\n")


class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([keras.layers.Dense(2)])

    def call(self, inputs):
        return {"a": self.inner(inputs), "b": inputs}


def build_pair():
    model = Pair()
    model(np.zeros((4, 3), "float32"))
    return model


def build_two_lists():
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    return keras.Model([a, b], [keras.layers.Dense(2)(a), keras.layers.Add()([a, b])])


def build_two_dicts():
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    return keras.Model({"p": a, "q": b}, {"u": keras.layers.Dense(2)(a), "v": b})


SIGNATURES = {
    "sequential": (
        lambda: keras.Sequential([keras.Input((3,), name="x"), keras.layers.Dense(2)]),
        ["inputs"],
        ["output_0"],
    ),
    "subclassed": (build_pair, ["inputs"], ["a", "b"]),
    "lists": (build_two_lists, ["inputs", "inputs_1"], ["output_0", "output_1"]),
    "dicts": (build_two_dicts, ["inputs", "inputs_1"], ["u", "v"]),
}


@pytest.mark.parametrize("case", SIGNATURES)
def test_tensorflow_saves_a_signature_with_the_names_of_keras(case, tmp_path):
    build, inputs, outputs = SIGNATURES[case]
    model = build()
    tf.saved_model.save(model, str(tmp_path))
    signature = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    given = {name: np.random.rand(4, 3).astype("float32") for name in inputs}
    results = signature(**{name: tf.constant(value) for name, value in given.items()})
    values = list(given.values())
    expected = model({"p": values[0], "q": values[1]} if case == "dicts" else
                     values if len(values) > 1 else values[0])  # fmt: skip
    assert sorted(results) == outputs
    for name, tensor in zip(outputs, tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(results[name], tensor, rtol=1e-6)


def test_a_signature_names_later_arguments_after_themselves(tmp_path):
    class Sum(keras.Model):
        def call(self, x, y):
            return x + y

    model = Sum()
    model(np.ones((2, 3), "float32"), np.ones((2, 3), "float32"))
    tf.saved_model.save(model, str(tmp_path))
    signature = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    x = tf.ones((2, 3))
    assert signature(inputs=x, y=2 * x)["output_0"].numpy().tolist() == [[3.0] * 3] * 2


@pytest.mark.parametrize(
    "inner",
    [
        [],
        [keras.layers.Conv2D(4, 3, padding="same"), keras.layers.MaxPooling2D()],
        [keras.layers.Conv2DTranspose(2, 3, 2, "same"), keras.layers.DepthwiseConv2D(2)],
        [keras.layers.RandomFlip(), keras.layers.SeparableConv2D(4, 3, 2)],
    ],
    ids=["dense", "convolution", "transposed", "separable"],
)
def test_tensorflow_lite_converts_a_model(inner):
    interpreter = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="pip install 'tfkit-dl[formats]'"
    )
    after = [keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((6, 6, 3), name="x"), *inner, *after])
    content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    runner = interpreter.Interpreter(model_content=content).get_signature_runner("serving_default")
    x = np.linspace(0, 1, 108, dtype="float32").reshape(1, 6, 6, 3)
    (result,) = runner(x=x).values()
    np.testing.assert_allclose(result, model(x, training=False), rtol=1e-5, atol=1e-6)
