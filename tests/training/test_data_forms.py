"""The nests in which data arrive in steps and in `call` are those of Keras: lists become tuples."""

import collections

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

ROWS = np.ones((4, 2), "float32")


def form(data):
    """Returns the types of a nest, without its tensors."""
    if isinstance(data, dict):
        return type(data).__name__, [(key, form(value)) for key, value in data.items()]
    if isinstance(data, (list, tuple)):
        return type(data).__name__, [form(item) for item in data]
    return "tensor"


def forms_of(library, x, y):
    """Returns the nests that a model's methods receive."""
    seen = {}

    class Model(library.Model):
        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1)

        def call(self, inputs):
            seen["call"] = form(inputs)
            return self.dense(tf.nest.flatten(inputs)[0])

        def train_step(self, data):
            seen["train_step"] = form(data)
            return {"sum": tf.reduce_sum(tf.nest.flatten(data)[0])}

        def test_step(self, data):
            seen["test_step"] = form(data)
            return {"sum": tf.reduce_sum(tf.nest.flatten(data)[0])}

        def predict_step(self, data):
            seen["predict_step"] = form(data)
            return self(library.utils.unpack_x_y_sample_weight(data)[0])

    model = Model()
    model.compile("sgd", run_eagerly=True)
    model.fit(x, y, verbose=0)
    model.evaluate(x, y, verbose=0)
    model.predict(x, verbose=0)
    return seen


@pytest.mark.parametrize(
    "x",
    [
        [ROWS],
        [ROWS, ROWS],
        (ROWS, ROWS),
        [ROWS, [ROWS, ROWS]],
        {"a": [ROWS, ROWS]},
        [{"a": ROWS}, ROWS],
        collections.OrderedDict(b=ROWS, a=[ROWS]),
    ],
    ids=["one", "list", "tuple", "nested", "in a dict", "of dicts", "in an ordered dict"],
)
@pytest.mark.parametrize("y", [None, ROWS, [ROWS, {"b": [ROWS]}]], ids=["-", "array", "list"])
def test_lists_are_tuples(x, y):
    assert forms_of(tfkit, x, y) == forms_of(keras, x, y)


def test_so_are_lists_of_sparse_rows():
    sparse = tf.sparse.from_dense(ROWS)
    with pytest.raises(TypeError, match="tuple"):
        forms_of_sparse([sparse, ROWS])


def forms_of_sparse(x):
    class Model(tfkit.Model):
        def train_step(self, data):
            raise TypeError(type(data[0]).__name__)

    model = Model()
    model.compile("sgd", run_eagerly=True)
    model.fit(x, verbose=0)
