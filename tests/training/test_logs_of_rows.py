"""Logs of a user's own step that have a value for each row: batches differ in their shapes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.arange(20, dtype="float32").reshape(10, 2)
PARTS = {
    "rows": lambda x: x[:, 0],
    "table": lambda x: tf.boolean_mask(x, x > 7),
    "mean": tf.reduce_mean,
}


def trained(library, mode, data, **options):
    class Model(library.Model):
        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            return {**super().train_step(data), **self.test_step(data)}

        def test_step(self, data):
            return {name: part(data[0]) for name, part in PARTS.items()}

    model = Model()
    model.compile("sgd", "mse", **options)
    arguments = {"verbose": 0, **data}
    if mode == "train":
        return model.fit(**arguments, shuffle=False).history
    return model.evaluate(**arguments, return_dict=True)


@pytest.mark.parametrize("mode", ["train", "test"])
@pytest.mark.parametrize("kind", ["arrays", "dataset"])
@pytest.mark.parametrize("options", [{"jit_compile": True}, {"run_eagerly": True}, {}])
def test_the_epoch_has_the_log_of_its_last_batch(mode, kind, options):
    size = 4
    data = {"x": X, "y": X[:, :1], "batch_size": size}
    if kind == "dataset":
        data = {"x": tf.data.Dataset.from_tensor_slices((X, X[:, :1])).batch(size)}
    ours = trained(tfkit, mode, data, **options)
    last = X[(len(X) - 1) // size * size :]
    for name, part in PARTS.items():
        value = ours[name][0] if mode == "train" else ours[name]
        np.testing.assert_allclose(value, part(last), err_msg=name)
    if options == {}:
        theirs = trained(keras, mode, data)
        for name in PARTS:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, err_msg=name)


class Nested:
    def train_step(self, data):
        value = tf.reduce_sum(data[0])
        return {"zeta": value, "means": {"z": value, "a": value}, "loss": value}


@pytest.mark.parametrize("library", [tfkit, keras])
def test_logs_are_in_the_order_of_the_names_that_the_step_has_given(library):
    inputs = library.Input((2,))
    model = type("Own", (Nested, library.Model), {})(inputs, library.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    history = model.fit(X, X[:, :1], verbose=0).history
    assert list(history) == ["loss", "a", "z", "zeta"]
