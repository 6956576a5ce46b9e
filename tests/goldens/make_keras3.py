"""Makes the archives beside it: one that Keras wrote, and one that tfkit wrote. Committed for ever."""

from pathlib import Path

import keras
import numpy as np

import tfkit

HERE = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(8, 4, 6)).astype("float32")


def make(framework, path):
    """A small trained model, with what it gives for `X` in a file beside it."""
    framework.utils.set_random_seed(1)
    layers = framework.layers
    a = framework.Input((4, 6), name="a")
    h = layers.GRU(2, return_sequences=True)(a)
    h = layers.BatchNormalization()(layers.Dropout(0.1, seed=1)(h))
    model = framework.Model(a, layers.Dense(1, name="head")(framework.ops.mean(h, axis=1)))
    model.compile(framework.optimizers.SGD(1e-2, momentum=0.9), "mse", metrics=["mae"])
    model.fit(X, X[:, 0, :1], epochs=2, batch_size=4, shuffle=False, verbose=0)
    model.save(HERE / path)
    np.save(HERE / f"{path}.npy", np.asarray(model(X)))


if __name__ == "__main__":
    make(keras, "of_keras3.keras")
    make(tfkit, "of_tfkit1.keras")
