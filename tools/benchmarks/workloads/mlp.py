"""A tiny multilayer perceptron, for which the framework is nearly all of the cost."""

import numpy as np
import tensorflow as tf

from benchmarks.plain import class_loss, dense
from benchmarks.training import Training


def data(rows):
    return np.random.rand(rows, 16).astype("float32"), np.random.randint(0, 10, rows)


def build(keras):
    layers = [
        keras.Input((16,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(10),
    ]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.Sequential(layers), {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self):
        self.weights = dense(16, 32) + dense(32, 32) + dense(32, 10)

    def loss(self, x, y, step):
        w1, b1, w2, b2, w3, b3 = self.weights
        x = tf.nn.relu(x @ w1 + b1)
        x = tf.nn.relu(x @ w2 + b2)
        return class_loss(y, x @ w3 + b3)


WORKLOAD = Training(32, 3000, data, build, Plain, program="xla loop")
