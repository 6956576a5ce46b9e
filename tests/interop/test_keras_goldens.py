"""Files that were written once, by Keras 2, Keras 3 and tfkit, load for ever."""

from pathlib import Path

import h5py
import keras
import numpy as np
import pytest

import tfkit
from tests.tolerances import assert_same_sums

GOLDENS = Path(__file__).parent.parent / "goldens"
X = np.random.default_rng(0).normal(size=(8, 4, 6)).astype("float32")


def attributes(name):
    with h5py.File(GOLDENS / name) as file:
        return dict(file.attrs)


# Terms of the sums that follow on each other from inputs to outputs: features and biases, and gates.
TERMS = {
    "nested": 3 * (6 + 1) + 2 + (3 + 1) + 1,
    "recurrent": 4 * (6 + 2 + 1 + 3) + 4 * (4 + 2 + 1 + 3),
    "attention": (6 + 1) + 3 + 4 + 4 + (6 + 1),
}


@pytest.mark.parametrize("name", TERMS)
def test_models_of_keras_2(name):
    model = tfkit.saving.load_model(GOLDENS / f"keras2_{name}.h5")
    outputs = model([X] * len(model.inputs))
    expected = attributes(f"keras2_{name}.h5")["test_output"]
    assert_same_sums(outputs, expected, TERMS[name])


@pytest.mark.parametrize("name", ["adam", "sgd", "old_adam"])
def test_training_goes_on_where_keras_2_stopped(name):
    model = tfkit.saving.load_model(GOLDENS / f"keras2_{name}.h5")
    targets = [X[:, 0, :2], X[:, 0, :1]]
    history = model.fit(X[:, 0], targets, epochs=2, batch_size=4, shuffle=False, verbose=0).history
    expected = attributes(f"keras2_{name}.h5")
    # Four steps of a product, of a gradient and a mean over 4 rows, and of the update.
    terms = 4 * ((6 + 1) + 4 + 4 + 4)
    assert_same_sums(history["loss"], expected["test_loss"], terms)
    assert_same_sums(history["p_mae"], expected["test_mae"], terms)
    model.load_weights(GOLDENS / "keras2_weights.h5")
    kernel, bias = map(np.abs, model.get_layer("p").get_weights())
    output = attributes("keras2_weights.h5")["test_output"]
    assert_same_sums(model(X[:, 0])[0], output, 6 + 1, np.abs(X[:, 0]) @ kernel + bias)


@pytest.mark.parametrize("name", ["of_keras3.keras", "of_tfkit1.keras"])
@pytest.mark.parametrize("load", [tfkit.saving.load_model, keras.models.load_model])
def test_archives(name, load):
    model = load(GOLDENS / name)
    np.testing.assert_allclose(model(X), np.load(GOLDENS / f"{name}.npy"), rtol=1e-5, atol=1e-6)
    assert int(model.optimizer.iterations) == 4
    if load is tfkit.saving.load_model:  # Keras writes `False` on CPUs, whatever was asked for.
        assert model.get_compile_config()["jit_compile"] == "auto"
