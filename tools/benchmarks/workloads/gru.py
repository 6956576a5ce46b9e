"""One GRU over 50 steps.

Reference: Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder"; the reset gate is
applied after the product, as in cuDNN.
"""

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, dense
from benchmarks.training import Training
from benchmarks.workloads.lstm import FEATURES, UNITS, classifier, data


def build(keras):
    return classifier(keras, keras.layers.GRU(UNITS))


class Plain:
    def __init__(self):
        self.cell = dense(FEATURES, 3 * UNITS) + dense(UNITS, 3 * UNITS)
        self.head = dense(UNITS, 10)
        self.weights = self.cell + self.head

    def __call__(self, x):
        kernel, bias, recurrent, offset = self.cell
        projected = tf.transpose(x @ kernel + bias, [1, 0, 2])

        def advance(h, gates):
            z, r, g = tf.split(gates, 3, axis=1)
            z_h, r_h, g_h = tf.split(h @ recurrent + offset, 3, axis=1)
            z = tf.sigmoid(z + z_h)
            g = tf.tanh(g + tf.sigmoid(r + r_h) * g_h)
            return z * h + (1 - z) * g

        h = tf.scan(advance, projected, tf.zeros([tf.shape(x)[0], UNITS]))
        w, b = self.head
        return h[-1] @ w + b

    def loss(self, x, y, step):
        return class_loss(y, self(x))


WORKLOAD = Training(64, 60, data, build, Plain, program="xla step")
