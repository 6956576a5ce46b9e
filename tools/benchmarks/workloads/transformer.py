"""Transformer blocks over vectors, normalized before attention and feed-forward part.

Reference: Vaswani et al. (2017), "Attention Is All You Need".
"""

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import class_loss, constant, dense
from benchmarks.training import Training

LENGTH, WIDTH, HEADS, HIDDEN, BLOCKS = 64, 128, 4, 512, 2


def data(rows):
    x = np.random.rand(rows, LENGTH, WIDTH).astype("float32")
    return x, np.random.randint(0, 10, rows)


def build_model(keras, blocks):
    layers = keras.layers
    x = inputs = keras.Input((LENGTH, WIDTH))
    for _ in range(blocks):
        y = layers.LayerNormalization()(x)
        x = layers.add([x, layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(HIDDEN, activation="gelu")(y)
        x = layers.add([x, layers.Dense(WIDTH)(y)])
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def build(keras):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return build_model(keras, BLOCKS), {"optimizer": "adam", "loss": loss}


class Plain:
    def __init__(self, blocks=BLOCKS):
        self.blocks = [self.block() for _ in range(blocks)]
        self.head = dense(WIDTH, 10)
        self.weights = tf.nest.flatten([self.blocks, self.head])

    def block(self):
        def norm():
            return [constant(1, WIDTH), constant(0, WIDTH)]

        attention = dense(WIDTH, 3 * WIDTH) + dense(WIDTH, WIDTH)
        return norm(), attention, norm(), dense(WIDTH, HIDDEN) + dense(HIDDEN, WIDTH)

    def attend(self, x, weights):
        w_in, b_in, w_out, b_out = weights
        parts = tf.reshape(x @ w_in + b_in, [-1, LENGTH, 3, HEADS, WIDTH // HEADS])
        query, key, value = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(query, key, transpose_b=True) * (WIDTH // HEADS) ** -0.5
        mixed = tf.transpose(tf.nn.softmax(scores) @ value, [0, 2, 1, 3])
        return tf.reshape(mixed, [-1, LENGTH, WIDTH]) @ w_out + b_out

    def __call__(self, x):
        for norm_1, attention, norm_2, (w1, b1, w2, b2) in self.blocks:
            x += self.attend(normalize(x, *norm_1), attention)
            hidden = tf.nn.gelu(normalize(x, *norm_2) @ w1 + b1)
            x += hidden @ w2 + b2
        w, b = self.head
        return tf.reduce_mean(x, 1) @ w + b

    def loss(self, x, y, step):
        return class_loss(y, self(x))


def normalize(x, scale, offset):
    """Returns the normalization of Ba et al. (2016), "Layer Normalization"."""
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * scale + offset


WORKLOAD = Training(32, 20, data, build, Plain, program="xla step")
