"""`predict` of one row and of many with a small perceptron."""

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.plain import dense
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
        predict = self.function(framework)
        one = np.random.rand(1, 64).astype("float32")
        many = np.random.rand(100 if quick else 10000, 64).astype("float32")
        measures = {}
        for name, rows, most in (("one row", one, 200), ("10,000 rows", many, 50)):
            predict(rows)  # traces
            measures[name] = repeat(lambda: predict(rows), quick, most)  # noqa: B023
        return measures | {"memory": peak_memory()}

    def function(self, framework):
        """Returns a function from NumPy arrays to NumPy arrays."""
        if FRAMEWORKS[framework].module:
            model = build_model(FRAMEWORKS[framework].load())
            return lambda rows: model.predict(rows, verbose=0)
        spec = tf.TensorSpec([None, 64])
        call = tf.function(Plain(), input_signature=[spec]).get_concrete_function()
        return lambda rows: call(tf.constant(rows)).numpy()


WORKLOAD = Predict()
