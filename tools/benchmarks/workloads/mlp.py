"""A tiny multilayer perceptron, for which the framework is nearly all of the cost."""

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, dense
from benchmarks.training import Training


def data(rows):
    return np.random.rand(rows, 16).astype("float32"), np.random.randint(0, 10, rows)


def build(keras, features=16, units=32):
    layers = [
        keras.Input((features,)),
        keras.layers.Dense(units, activation="relu"),
        keras.layers.Dense(units, activation="relu"),
        keras.layers.Dense(10),
    ]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.Sequential(layers), {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self, features=16, units=32):
        self.weights = dense(features, units) + dense(units, units) + dense(units, 10)

    def __call__(self, x):
        w1, b1, w2, b2, w3, b3 = self.weights
        x = tf.nn.relu(x @ w1 + b1)
        x = tf.nn.relu(x @ w2 + b2)
        return x @ w3 + b3

    def loss(self, x, y, step):
        return class_loss(y, self(x))


WORKLOAD = Training(32, 3000, data, build, Plain, program="xla loop")
