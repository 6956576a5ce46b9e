"""The first things that a user does with an installed tfkit, in the working folder: `python first_use.py`."""

import sys
from pathlib import Path

import numpy as np

import tfkit as keras

assert Path(keras.__file__).is_relative_to(sys.prefix), keras.__file__
x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential(
    [keras.Input((3,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse", metrics=["mae"])
history = model.fit(x, y, epochs=3, validation_split=0.25, verbose=0)
assert history.history["loss"][2] < history.history["loss"][0]
expected = model.predict(x, verbose=0)
for name in ("model.h5", "model.keras"):
    model.save(name)
    loaded = keras.models.load_model(name)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), expected)
    loaded.fit(x, y, verbose=0)
for name in ("model.weights.h5", "model.safetensors"):
    model.save_weights(name)
    model.load_weights(name)
model.export("exported", verbose=False)
served = keras.export.load("exported")
np.testing.assert_allclose(served(x), expected, rtol=1e-5, atol=1e-6)
