"""Programs that use SHAP: what a network's outputs are due to."""

import keras
import numpy as np
import pytest
import shap

X = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
Y = (X @ np.array([[1.0], [-2.0], [0.5], [0.0]])).astype("float32")


@pytest.fixture
def model():
    keras.utils.set_random_seed(2)
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(8, "relu")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.Adam(0.05), "mse")
    model.fit(X, Y, epochs=3, shuffle=False, verbose=0)
    return model


@pytest.mark.parametrize("explainer", [shap.DeepExplainer, shap.GradientExplainer])
def test_gradients(model, explainer, record_property):
    options = {"rseed": 3} if explainer is shap.GradientExplainer else {}
    values = explainer(model, X[:12]).shap_values(X[12:15], **options)
    assert np.shape(values) == (3, 4, 1)
    record_property("values", np.asarray(values, "float64").tolist())
    if explainer is shap.DeepExplainer:
        difference = model.predict(X[12:15], verbose=0) - model.predict(X[:12], verbose=0).mean(0)
        np.testing.assert_allclose(np.sum(values, 1), difference, atol=1e-3)


@pytest.mark.parametrize("explainer", [shap.KernelExplainer, shap.PermutationExplainer])
def test_calls(model, explainer, record_property):
    def predicted(rows):
        return model.predict(np.asarray(rows, "float32"), verbose=0)[:, 0]

    explained = (
        explainer(predicted, X[:8], seed=1)
        if explainer is shap.PermutationExplainer
        else (explainer(predicted, X[:8]))
    )
    values = explained.shap_values(X[12:14])
    record_property("values", np.asarray(values, "float64").tolist())


@pytest.mark.parametrize("explainer", [shap.DeepExplainer, shap.GradientExplainer])
def test_images(explainer):
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            keras.layers.Conv2D(3, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(2, "softmax"),
        ]
    )
    images = np.random.default_rng(1).normal(size=(8, 6, 6, 1)).astype("float32")
    values = explainer(model, images[:5]).shap_values(images[5:])
    assert np.shape(values) == (3, 6, 6, 1, 2)
