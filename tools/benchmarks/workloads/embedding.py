"""A large table of which a step reads little and Adam updates everything."""

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, dense
from benchmarks.training import Training

WORDS, WIDTH, LENGTH = 50000, 32, 20


def data(rows):
    return np.random.randint(0, WORDS, (rows, LENGTH), "int32"), np.random.randint(0, 10, rows)


def build(keras):
    layers = [
        keras.Input((LENGTH,), dtype="int32"),
        keras.layers.Embedding(WORDS, WIDTH),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.Sequential(layers), {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self):
        table = tf.random.uniform([WORDS, WIDTH], -0.05, 0.05)
        self.weights = [tf.Variable(table), *dense(LENGTH * WIDTH, 10)]

    def __call__(self, x):
        table, w, b = self.weights
        return tf.reshape(tf.gather(table, x), [-1, LENGTH * WIDTH]) @ w + b

    def loss(self, x, y, step):
        return class_loss(y, self(x))


WORKLOAD = Training(64, 100, data, build, Plain, program="graph loop")
