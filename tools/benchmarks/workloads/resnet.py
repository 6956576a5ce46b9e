"""A stem and three residual blocks of two convolutions each, all with batch normalization.

Reference: He et al. (2016), "Deep Residual Learning for Image Recognition".
"""

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, constant, dense, glorot
from benchmarks.training import Training

FILTERS, BLOCKS = 32, 3


def data(rows):
    return np.random.rand(rows, 32, 32, 3).astype("float32"), np.random.randint(0, 10, rows)


def build(keras):
    layers = keras.layers

    def convolve(x):
        x = layers.Conv2D(FILTERS, 3, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = keras.Input((32, 32, 3))
    x = layers.ReLU()(convolve(inputs))
    for _ in range(BLOCKS):
        y = layers.ReLU()(convolve(x))
        x = layers.ReLU()(layers.add([x, convolve(y)]))
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.Model(inputs, outputs), {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self):
        self.convolutions = [self.convolution(3)]
        self.convolutions += [self.convolution(FILTERS) for _ in range(2 * BLOCKS)]
        self.head = dense(FILTERS, 10)
        trained = [
            variable
            for kernel, scale, offset, *_ in self.convolutions
            for variable in (kernel, scale, offset)
        ]
        self.weights = trained + self.head

    def convolution(self, channels):
        """Returns kernel, scale and offset, moving mean and variance."""
        numbers = [constant(value, FILTERS) for value in (1, 0, 0, 1)]
        return [glorot(3, 3, channels, FILTERS), *numbers]

    def convolve(self, x, weights, training):
        kernel, scale, offset, moving_mean, moving_variance = weights
        x = tf.nn.conv2d(x, kernel, 1, "SAME")
        if not training:
            factor = scale * tf.math.rsqrt(moving_variance + 1e-3)
            return x * factor + (offset - moving_mean * factor)
        x, mean, variance = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, epsilon=1e-3)
        moving_mean.assign_add((mean - moving_mean) * 0.01)
        moving_variance.assign_add((variance - moving_variance) * 0.01)
        return x

    def __call__(self, x, training=False):
        stem, *rest = self.convolutions
        x = tf.nn.relu(self.convolve(x, stem, training))
        for first, second in zip(rest[::2], rest[1::2], strict=True):
            inner = tf.nn.relu(self.convolve(x, first, training))
            x = tf.nn.relu(x + self.convolve(inner, second, training))
        w, b = self.head
        return tf.reduce_mean(x, [1, 2]) @ w + b

    def loss(self, x, y, step):
        return class_loss(y, self(x, training=True))


WORKLOAD = Training(32, 12, data, build, Plain, program="graph loop")
