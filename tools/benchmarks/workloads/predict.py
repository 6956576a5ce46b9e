"""`predict` of one row and of many with a small perceptron."""

import functools

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.plain import dense, in_batches
from benchmarks.timing import peak_memory, repeat


def build_model(keras):
    layers = [
        keras.Input((64,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ]
    return keras.Sequential(layers)


class Plain:
    def __init__(self):
        self.weights = dense(64, 32) + dense(32, 32) + dense(32, 1)

    def __call__(self, x):
        w1, b1, w2, b2, w3, b3 = self.weights
        return tf.nn.relu(tf.nn.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


class Predict:
    def measure(self, framework, kind, quick):
        at_once, batched = self.functions(framework)
        one = np.random.rand(1, 64).astype("float32")
        many = np.random.rand(100 if quick else 10000, 64).astype("float32")
        runs = [("one row", at_once, one, 200), ("10,000 rows", batched, many, 50)]
        if framework == "plain":
            runs.append(("10,000 rows at once", at_once, many, 50))
        measures = {}
        for name, predict, rows, most in runs:
            predict(rows)  # traces
            measures[name] = repeat(lambda: predict(rows), quick, most)  # noqa: B023
        return measures | {"memory": peak_memory()}

    def functions(self, framework):
        """Returns functions from NumPy arrays to NumPy arrays: for few rows, and for many in batches."""
        if FRAMEWORKS[framework].module:
            model = build_model(FRAMEWORKS[framework].load())
            predict = functools.partial(model.predict, verbose=0)
            return predict, predict
        plain = Plain()
        return numpy_function(plain), numpy_function(in_batches(plain))


def numpy_function(compute):
    """Returns a compiled function from NumPy arrays to NumPy arrays."""
    spec = tf.TensorSpec([None, 64])
    call = tf.function(compute, input_signature=[spec], autograph=False).get_concrete_function()
    return lambda rows: call(tf.constant(rows)).numpy()


WORKLOAD = Predict()
