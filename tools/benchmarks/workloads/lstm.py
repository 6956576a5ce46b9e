"""One LSTM over 50 steps.

Reference: Hochreiter, Schmidhuber (1997), "Long Short-Term Memory".
"""

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, dense, glorot
from benchmarks.training import Training

STEPS, FEATURES, UNITS = 50, 32, 64


def data(rows):
    x = np.random.rand(rows, STEPS, FEATURES).astype("float32")
    return x, np.random.randint(0, 10, rows)


def build(keras):
    return classifier(keras, keras.layers.LSTM(UNITS))


def classifier(keras, recurrent):
    """Returns a model with a recurrent layer, and how it is compiled."""
    layers = [keras.Input((STEPS, FEATURES)), recurrent, keras.layers.Dense(10)]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.Sequential(layers), {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self):
        self.cell = [*dense(FEATURES, 4 * UNITS), glorot(UNITS, 4 * UNITS)]
        self.head = dense(UNITS, 10)
        self.weights = self.cell + self.head

    def __call__(self, x):
        kernel, bias, recurrent = self.cell
        # The projection of all steps at once leaves one small product for each step.
        projected = tf.transpose(x @ kernel + bias, [1, 0, 2])

        def advance(state, gates):
            h, c = state
            i, f, g, o = tf.split(gates + h @ recurrent, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(c), c

        zeros = tf.zeros([tf.shape(x)[0], UNITS])
        h, _ = tf.scan(advance, projected, (zeros, zeros))
        w, b = self.head
        return h[-1] @ w + b

    def loss(self, x, y, step):
        return class_loss(y, self(x))


WORKLOAD = Training(64, 60, data, build, Plain, program="xla step")
