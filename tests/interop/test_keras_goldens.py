"""Files that were written once, by Keras 2, Keras 3 and tfkit, load for ever."""

from pathlib import Path

import h5py
import keras
import numpy as np
import pytest

import tfkit

GOLDENS = Path(__file__).parent.parent / "goldens"
X = np.random.default_rng(0).normal(size=(8, 4, 6)).astype("float32")


def attributes(name):
    with h5py.File(GOLDENS / name) as file:
        return dict(file.attrs)


@pytest.mark.parametrize("name", ["nested", "recurrent", "attention"])
def test_models_of_keras_2(name):
    model = tfkit.saving.load_model(GOLDENS / f"keras2_{name}.h5")
    outputs = model([X] * len(model.inputs))
    expected = attributes(f"keras2_{name}.h5")["test_output"]
    np.testing.assert_allclose(outputs, expected, rtol=2e-6)


@pytest.mark.parametrize("name", ["adam", "sgd", "old_adam"])
def test_training_goes_on_where_keras_2_stopped(name):
    model = tfkit.saving.load_model(GOLDENS / f"keras2_{name}.h5")
    targets = [X[:, 0, :2], X[:, 0, :1]]
    history = model.fit(X[:, 0], targets, epochs=2, batch_size=4, shuffle=False, verbose=0).history
    expected = attributes(f"keras2_{name}.h5")
    np.testing.assert_allclose(history["loss"], expected["test_loss"], rtol=1e-6)
    np.testing.assert_allclose(history["p_mae"], expected["test_mae"], rtol=1e-6)
    model.load_weights(GOLDENS / "keras2_weights.h5")
    weights = attributes("keras2_weights.h5")["test_output"]
    np.testing.assert_allclose(model(X[:, 0])[0], weights, rtol=1e-6)


@pytest.mark.parametrize("name", ["of_keras3.keras", "of_tfkit1.keras"])
@pytest.mark.parametrize("load", [tfkit.saving.load_model, keras.models.load_model])
def test_archives(name, load):
    model = load(GOLDENS / name)
    np.testing.assert_allclose(model(X), np.load(GOLDENS / f"{name}.npy"), rtol=1e-5, atol=1e-6)
    assert int(model.optimizer.iterations) == 4
