"""Ten dense layers with dropout, and the area under the curve as a metric."""

import itertools

import numpy as np
import tensorflow as tf

from benchmarks.plain import constant, dense
from benchmarks.training import Training

FEATURES, UNITS, LAYERS, RATE, THRESHOLDS = 100, 128, 10, 0.2, 200


def data(rows):
    x = np.random.rand(rows, FEATURES).astype("float32")
    return x, np.random.randint(0, 2, (rows, 1)).astype("float32")


def build(keras):
    layers = [keras.Input((FEATURES,))]
    for _ in range(LAYERS):
        layers += [keras.layers.Dense(UNITS, activation="relu"), keras.layers.Dropout(RATE)]
    layers += [keras.layers.Dense(1, activation="sigmoid")]
    arguments = {"loss": "binary_crossentropy", "metrics": [keras.metrics.AUC()]}
    return keras.Sequential(layers), {"optimizer": "adam", **arguments}


class Plain:
    def __init__(self):
        sizes = [FEATURES, *[UNITS] * LAYERS]
        self.hidden = [dense(*pair) for pair in itertools.pairwise(sizes)]
        self.head = dense(UNITS, 1)
        self.weights = tf.nest.flatten([self.hidden, self.head])
        # The number of predictions of either class in each interval between thresholds.
        self.counts = constant(0, 2, THRESHOLDS)

    def loss(self, x, y, step):
        for index, (w, b) in enumerate(self.hidden):
            x = tf.nn.relu(x @ w + b)
            seed = tf.stack([index, tf.cast(step, "int32")])
            draw = tf.random.stateless_uniform(x.shape, seed, alg="philox")
            x = tf.where(draw < RATE, 0.0, x / (1 - RATE))
        w, b = self.head
        logits = x @ w + b
        self.count(y[:, 0], tf.sigmoid(logits)[:, 0])
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, logits))

    def count(self, labels, predictions):
        span = tf.cast(predictions * (THRESHOLDS - 1), "int32")
        spans = tf.one_hot(span, THRESHOLDS)
        self.counts.assign_add(tf.stack([1 - labels, labels]) @ spans)


WORKLOAD = Training(500, 100, data, build, Plain, program="xla loop")
