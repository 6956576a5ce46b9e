"""Programs that use MLflow with models: its callback, its autologging, and models in its store of files."""

import os

import keras
import mlflow
import numpy as np
import pytest
import tensorflow as tf
from mlflow.models import infer_signature

X = np.random.default_rng(0).normal(size=(48, 4)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
# Otherwise a process finds out what a model imports; one test lets it.
NEEDED = ["tensorflow"]


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    mlflow.set_experiment("a")
    keras.utils.set_random_seed(1)
    yield
    mlflow.tensorflow.autolog(disable=True)
    mlflow.keras.autolog(disable=True)
    if mlflow.active_run():
        mlflow.end_run()


def model(**options):
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(1)]
    )
    model.compile(**{"optimizer": keras.optimizers.Adam(0.01), "loss": "mse", **options})
    return model


def functional():
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    joined = keras.layers.Concatenate()([left, right])
    model = keras.Model({"left": left, "right": right}, keras.layers.Dense(1)(joined))
    model.compile("sgd", "mse")
    return model


def fit(model, **options):
    options = {"epochs": 2, "batch_size": 16, "shuffle": False, "verbose": 0, **options}
    return model.fit(X, Y, **options)


def logged(record_property, run_id=None):
    """Returns the last run, whose metrics and names of parameters are compared."""
    run = mlflow.get_run(run_id) if run_id else mlflow.last_active_run()
    metrics = {name: float(value) for name, value in run.data.metrics.items()}
    record_property("metrics", metrics)
    # `fit` of tfkit has one more argument.
    record_property("parameters", sorted(run.data.params.keys() - {"resume"}))
    return run


@pytest.mark.parametrize("every_epoch", [True, False])
def test_callback_of_keras(every_epoch, record_property):
    callback = mlflow.keras.MlflowCallback(
        log_every_epoch=every_epoch, log_every_n_steps=None if every_epoch else 2
    )
    with mlflow.start_run() as run:
        fit(model(metrics=["mae"]), callbacks=[callback], validation_data=(X, Y))
    found = logged(record_property, run.info.run_id)
    assert "loss" in found.data.metrics
    record_property("optimizer", found.data.params.get("optimizer_name", ""))


@pytest.mark.parametrize("every_epoch", [True, False])
def test_callback_of_tensorflow(every_epoch, record_property):
    with mlflow.start_run() as run:
        callback = mlflow.tensorflow.MlflowCallback(
            log_every_epoch=every_epoch, log_every_n_steps=None if every_epoch else 2
        )
        fit(model(metrics=["mae"]), callbacks=[callback])
    logged(record_property, run.info.run_id)


@pytest.mark.parametrize("place", ["keras", "tensorflow"])
@pytest.mark.parametrize("models", [False, True])
def test_autologging(place, models, record_property):
    getattr(mlflow, place).autolog(log_models=models, silent=True)
    made = model(metrics=["mae"])
    fit(made, validation_split=0.25)
    run = logged(record_property)
    assert run.info.status == "FINISHED"
    assert run.data.params["epochs"] == "2"
    found = mlflow.search_logged_models(output_format="list") if models else []
    record_property("models", len(found))
    for each in found:
        loaded = mlflow.pyfunc.load_model(each.model_uri)
        np.testing.assert_allclose(loaded.predict(X), made.predict(X, verbose=0), rtol=1e-5)


def test_autologging_of_early_stopping(record_property):
    mlflow.tensorflow.autolog(log_models=False, silent=True)
    stop = keras.callbacks.EarlyStopping("loss", patience=1, restore_best_weights=True)
    fit(model(optimizer=keras.optimizers.SGD(1.5)), epochs=6, callbacks=[stop])
    run = logged(record_property)
    assert run.data.params["patience"] == "1"
    assert "stopped_epoch" in run.data.metrics


@pytest.mark.parametrize("data", ["dataset", "sequence", "generator"])
def test_autologging_of_data(data, record_property):
    mlflow.tensorflow.autolog(log_models=False, silent=True)

    class Rows(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return X[index * 16 : index * 16 + 16], Y[index * 16 : index * 16 + 16]

    made = {
        "dataset": lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(16),
        "sequence": Rows,
        "generator": lambda: (Rows()[index % 3] for index in range(6)),
    }
    steps = {"steps_per_epoch": 3} if data == "generator" else {}
    model().fit(made[data](), epochs=2, shuffle=False, verbose=0, **steps)
    logged(record_property)


def test_autologging_within_a_run_and_of_a_functional_model(record_property):
    mlflow.tensorflow.autolog(log_models=False, silent=True)
    with mlflow.start_run() as run:
        functional().fit({"left": X, "right": X}, Y, epochs=2, shuffle=False, verbose=0)
    logged(record_property, run.info.run_id)


@pytest.mark.parametrize("place", ["keras", "tensorflow"])
@pytest.mark.parametrize("kind", [model, functional])
def test_models_in_a_folder(place, kind, tmp_path):
    module = getattr(mlflow, place)
    made = kind()
    data = X if kind is model else {"left": X, "right": X}
    expected = made.predict(data, verbose=0)
    signature = infer_signature(data, expected)
    module.save_model(made, os.fspath(tmp_path / "m"), signature=signature, pip_requirements=NEEDED)
    loaded = module.load_model(os.fspath(tmp_path / "m"))
    assert isinstance(loaded, keras.Model)
    np.testing.assert_allclose(loaded.predict(data, verbose=0), expected, rtol=1e-6)
    served = mlflow.pyfunc.load_model(os.fspath(tmp_path / "m"))
    np.testing.assert_allclose(served.predict(data), expected, rtol=1e-5)


@pytest.mark.parametrize("place", ["keras", "tensorflow"])
def test_models_in_a_run(place, record_property):
    module = getattr(mlflow, place)
    made = model()
    fit(made)
    if place == "keras":
        example = {"signature": infer_signature(X, made.predict(X, verbose=0))}
    else:
        example = {"input_example": X[:2], "pip_requirements": NEEDED}
    with mlflow.start_run():
        info = module.log_model(made, name="model", **example)
    assert info.signature.inputs.inputs[0].shape == (-1, 4)
    loaded = module.load_model(info.model_uri)
    np.testing.assert_allclose(loaded.predict(X, verbose=0), made.predict(X, verbose=0), rtol=1e-6)
    # Training goes on with the state of the optimizer.
    record_property("loss", fit(loaded, epochs=1).history["loss"])


def test_exported_models(tmp_path):
    made = model()
    expected = made.predict(X, verbose=0)
    path = os.fspath(tmp_path / "m")
    mlflow.keras.save_model(
        made,
        path,
        save_exported_model=True,
        signature=infer_signature(X, expected),
        pip_requirements=NEEDED,
    )
    served = mlflow.pyfunc.load_model(path)
    np.testing.assert_allclose(np.asarray(served.predict(X)), expected, rtol=1e-5)


def test_models_of_own_classes(tmp_path):
    class Doubled(keras.layers.Layer):
        def call(self, x):
            return 2.0 * x

    made = keras.Sequential([keras.Input((4,)), Doubled(), keras.layers.Dense(1)])
    path = os.fspath(tmp_path / "m")
    mlflow.tensorflow.save_model(
        made, path, custom_objects={"Doubled": Doubled}, pip_requirements=NEEDED
    )
    loaded = mlflow.tensorflow.load_model(path)
    np.testing.assert_allclose(loaded.predict(X, verbose=0), made.predict(X, verbose=0), rtol=1e-6)


def test_checkpoints(record_property):
    callback_class = mlflow.tensorflow.MlflowModelCheckpointCallback
    with mlflow.start_run() as run:
        made = model(loss=keras.losses.MeanSquaredError())
        callback = callback_class(monitor="loss", mode="min", save_best_only=True)
        fit(made, callbacks=[callback])
    loaded = mlflow.tensorflow.load_checkpoint(run_id=run.info.run_id)
    np.testing.assert_allclose(loaded.predict(X, verbose=0), made.predict(X, verbose=0), rtol=1e-5)


def test_weights_as_an_artifact(tmp_path):
    made = model()
    with mlflow.start_run() as run:
        made.save_weights("w.weights.h5")
        mlflow.log_artifact("w.weights.h5")
        mlflow.log_dict(made.get_config(), "config.json")
        mlflow.log_text("\n".join(_summary(made)), "summary.txt")
    folder = mlflow.artifacts.download_artifacts(run_id=run.info.run_id)
    other = model()
    other.load_weights(os.path.join(folder, "w.weights.h5"))
    np.testing.assert_allclose(other.predict(X, verbose=0), made.predict(X, verbose=0), rtol=1e-6)


def _summary(model):
    lines = []
    model.summary(print_fn=lambda line, line_break=False: lines.append(line))
    return lines
