"""Without a `batch_size`, the steps that are asked for divide the rows of arrays among them, as in Keras."""

import keras
import numpy as np
import pytest
import scipy.sparse
import tensorflow as tf

import tfkit

ROWS = np.eye(10, 3, dtype="float32")
DATA = {"x": ROWS, "y": ROWS[:, :1]}
VALIDATION = {"validation_data": (ROWS[1:], ROWS[1:, :1])}
CALLS = [
    ("fit", {**DATA, "steps_per_epoch": 3, "epochs": 2}),
    ("fit", {**DATA, "steps_per_epoch": 3, "batch_size": 2}),
    ("fit", {**DATA, **VALIDATION, "steps_per_epoch": 5, "validation_steps": 3}),
    ("fit", {**DATA, "validation_split": 0.5, "validation_steps": 2}),
    ("fit", {**DATA, **VALIDATION, "steps_per_epoch": 2, "validation_batch_size": 7}),
    ("evaluate", {**DATA, "steps": 3}),
    ("predict", {"x": ROWS, "steps": 3}),
    ("predict", {"x": tf.constant(ROWS), "steps": 3}),
    ("predict", {"x": ROWS, "steps": 3, "batch_size": 2}),
]


@pytest.mark.parametrize(("method", "arguments"), CALLS)
def test_batches_have_the_sizes_that_keras_gives_them(method, arguments):
    def sizes(library):
        found = []

        class Noting(library.Model):
            def __init__(self):
                super().__init__()
                self.dense = library.layers.Dense(1)

            def call(self, inputs):
                found.append(int(inputs.shape[0]))
                return self.dense(inputs)

        model = Noting()
        model.compile("sgd", "mse", run_eagerly=True)
        model(ROWS)
        found.clear()
        getattr(model, method)(**arguments, verbose=0)
        return found

    assert sizes(tfkit) == sizes(keras)


def test_sparse_rows_are_divided_too():
    model = tfkit.Sequential([tfkit.Input((3,), sparse=True), tfkit.layers.Dense(1)])
    assert model.predict(scipy.sparse.csr_matrix(ROWS), steps=3, verbose=0).shape == (10, 1)
