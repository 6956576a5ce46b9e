"""Programs that use keras-tcn: layers of dilated convolutions, ready models, and their files."""

import keras
import numpy as np
import pytest
from tcn import TCN, compiled_tcn

X = np.random.default_rng(0).normal(size=(12, 16, 3)).astype("float32")
Y = X.sum(axis=(1, 2))[:, None]

OPTIONS = {
    "default": {},
    "sequences": {"return_sequences": True},
    "valid": {"padding": "same", "dilations": (1, 3)},
    "stacks": {"nb_stacks": 2, "dilations": (1, 2), "kernel_size": 2},
    "no skips": {"use_skip_connections": False, "return_sequences": True},
    "batch norm": {"use_batch_norm": True},
    "layer norm": {"use_layer_norm": True, "activation": "tanh"},
    "dropout": {"dropout_rate": 0.3},
    "backwards": {"go_backwards": True, "return_state": True},
}


def note(record, **values):
    for name, value in values.items():
        record(name, np.asarray(value, "float64").round(5).tolist())


@pytest.mark.parametrize("option", OPTIONS)
def test_a_layer_in_training(option, record_property):
    keras.utils.set_random_seed(1)
    options = {"nb_filters": 6, "dilations": (1, 2, 4), **OPTIONS[option]}
    inputs = keras.Input((16, 3))
    layer = TCN(**options)
    outputs = layer(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
    model.compile("sgd", "mse")
    y = np.repeat(Y[:, None], 16, axis=1) if outputs.shape[1:] == (16, 6) else Y
    history = model.fit(X, y, epochs=2, batch_size=6, shuffle=False, verbose=0).history["loss"]
    assert np.isfinite(history).all()
    note(record_property, field=layer.receptive_field, count=model.count_params())
    if option != "dropout":
        note(record_property, loss=history, outputs=model.predict(X, verbose=0).ravel()[:20])


@pytest.mark.parametrize("option", ["default", "layer norm"])
def test_a_file(option, tmp_path, record_property):
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [
            keras.Input((16, 3)),
            TCN(**{"nb_filters": 6, "dilations": (1, 2, 4), **OPTIONS[option]}),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", custom_objects={"TCN": TCN})
    np.testing.assert_allclose(loaded.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-5)
    model.save_weights(tmp_path / "m.weights.h5")
    loaded.load_weights(tmp_path / "m.weights.h5")
    note(record_property, outputs=loaded.predict(X, verbose=0))


def test_a_ready_model(record_property):
    keras.utils.set_random_seed(3)
    model = compiled_tcn(
        num_feat=3,
        num_classes=4,
        nb_filters=5,
        kernel_size=2,
        dilations=[1, 2, 4],
        nb_stacks=1,
        max_len=16,
        output_len=1,
        regression=True,
        opt="adam",
        lr=0.01,
    )
    history = model.fit(X, Y, epochs=2, shuffle=False, verbose=0).history
    note(record_property, loss=history["loss"], outputs=model.predict(X, verbose=0))


def test_stacked_layers_of_text(record_property):
    keras.utils.set_random_seed(4)
    model = keras.Sequential(
        [
            keras.Input((20,), dtype="int32"),
            keras.layers.Embedding(50, 8),
            TCN(6, dilations=(1, 2), return_sequences=True),
            TCN(6, dilations=(1, 2)),
            keras.layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    words = np.random.default_rng(1).integers(0, 50, (16, 20))
    history = model.fit(words, words[:, 0] % 2, epochs=3, shuffle=False, verbose=0).history
    note(record_property, loss=history["loss"], accuracy=history["accuracy"])
