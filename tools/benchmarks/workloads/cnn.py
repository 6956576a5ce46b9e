"""Two convolutions with pooling and a dense layer: small images."""

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, constant, dense, glorot
from benchmarks.training import Training


def data(rows):
    return np.random.rand(rows, 28, 28, 1).astype("float32"), np.random.randint(0, 10, rows)


def build(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self):
        first = [glorot(3, 3, 1, 32), constant(0, 32)]
        second = [glorot(3, 3, 32, 64), constant(0, 64)]
        self.weights = first + second + dense(5 * 5 * 64, 10)

    def __call__(self, x):
        k1, b1, k2, b2, w, b = self.weights
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k1, 1, "VALID"), b1))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k2, 1, "VALID"), b2))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return tf.reshape(x, [-1, 5 * 5 * 64]) @ w + b

    def loss(self, x, y, step):
        return class_loss(y, self(x))


WORKLOAD = Training(128, 30, data, build, Plain, program="graph loop")
