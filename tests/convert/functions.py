"""Calls as a user writes them, which no layer of the tables makes: for JAX and for PyTorch."""

import numpy as np
import tensorflow as tf

from tfkit import layers, ops

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(4, 6)).astype("float32")
CUBES = DRAWS.normal(size=(2, 4, 5)).astype("float32")
WHOLE = DRAWS.integers(-9, 9, (4, 6)).astype("int32")


def nested_loops(x):
    def outer(i, a):
        def inner(j, b):
            return j + 1, b + tf.cast(i * j, tf.float32) * x

        return i + 1, tf.while_loop(lambda j, b: j < 3, inner, [tf.constant(0), a])[1]

    return tf.while_loop(lambda i, a: i < 2, outer, [tf.constant(0), tf.zeros_like(x)])[1]


def branches(x):
    index = tf.cast(tf.argmax(x[0]) % 3, tf.int32)
    chosen = tf.switch_case(index, [lambda: x, lambda: -x, lambda: x * x])
    return tf.cond(tf.reduce_sum(x) > 0, lambda: chosen * 2, lambda: chosen - 1)


def matmul_twice(x):
    product = tf.matmul(x, tf.ones((6, 6)))
    return product + tf.nn.bias_add(product, tf.range(6.0))


def numbers(x):
    return tf.maximum(x, 0.5) + tf.minimum(0.0, x) + 2.0**x + 1 / (2 + x * x) + (3 - x) % 2.0


FUNCTIONS = {
    "nested loops": (nested_loops, [X]),
    "branches": (branches, [X]),
    "map_fn": (lambda x: tf.map_fn(lambda r: tf.reduce_sum(r) * r, x), [X]),
    "scan": (lambda x: ops.scan(lambda c, r: (c + r, c * r), ops.zeros(6), x)[1], [X]),
    "numbers": (numbers, [X]),
    "integers": (lambda x: (x // 3, x % 3, -x // 2, tf.maximum(x, 2), 5 - x), [WHOLE]),
    "checked": (lambda x: tf.debugging.check_numerics(x, "x") * 2, [X]),
    "product and row": (lambda x: tf.matmul(x, tf.ones((6, 6))) + x[:, :1], [X]),
    "product and cube": (lambda x: tf.matmul(x, tf.ones((6, 6))) + tf.ones((2, 4, 6)), [X]),
    "row and product": (lambda x: tf.matmul(x[:1], tf.ones((6, 6))) + x, [X]),
    "product twice": (matmul_twice, [X]),
    "einsum of three": (lambda x: tf.einsum("ab,cb,cd->ad", x, x, x), [X]),
    "einsum turned": (lambda x: tf.einsum("ab,cb->ca", x, x * 2), [X]),
    "einsum of batches": (lambda x: tf.einsum("abc,abd->bdc", x, x[..., :2]), [CUBES]),
    "einsum of sums": (lambda x: tf.einsum("ab,cd->ac", x, x), [X]),
    "bands": (lambda x: tf.linalg.diag_part(x, k=(-1, 1)), [CUBES]),
    "set bands": (lambda x: tf.linalg.set_diag(x, x[:, :3, :4], k=(-1, 1)), [CUBES]),
    "made bands": (lambda x: tf.linalg.diag(x[:, :3], k=(-1, 1), padding_value=3.0), [CUBES]),
    "segments": (lambda x: ops.segment_max(x, tf.constant([0, 2, 0, -1]), 3), [X]),
    "normal": (lambda x: x + tf.random.stateless_normal((4, 6), [1, 2]), [X]),
    "Fourier": (lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex64))), [X]),
    "Cholesky": (
        lambda x: tf.linalg.cholesky(tf.matmul(x, x, transpose_a=True) + tf.eye(6)),
        [X],
    ),
}


class Function(layers.Layer):
    """A function of tensors as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, *inputs):
        return self.function(*inputs)


class Counter(layers.Layer):
    """A layer that counts its calls and adds to rows of a table; one matrix is used twice."""

    def build(self, input_shape):
        self.count = self.add_weight((), "zeros", trainable=False)
        self.table = self.add_weight((3, 6), "zeros", trainable=False)
        self.matrix = self.add_weight((6, 6), "glorot_uniform")

    def call(self, x):
        self.count.assign_add(1.0)
        self.table.scatter_add(tf.IndexedSlices(x[:2], tf.constant([0, 2])))
        once = tf.matmul(x, self.matrix)
        return tf.matmul(once, self.matrix, transpose_b=True) * self.count + self.table[2]
