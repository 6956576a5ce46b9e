"""The floor: only the products of matrices of a training step, in NumPy's BLAS.

Convolutions count as the products of their patches; the gradients of a product are two products of the same
size, of which the first layer needs only the one for its weights.
"""

import itertools
import time

import numpy as np

from benchmarks.timing import seconds

IMPORTED = time.perf_counter()


def perceptron(rows, *sizes):
    """Yields the products of dense layers, the first of which needs no gradient of its input."""
    for index, (fan_in, units) in enumerate(itertools.pairwise(sizes)):
        yield 1, rows, fan_in, units
        yield 1, fan_in, rows, units
        if index:
            yield 1, rows, units, fan_in


def inner(count, rows, fan_in, units):
    """Yields a product and those of its gradients, so many times."""
    yield count, rows, fan_in, units
    yield count, fan_in, rows, units
    yield count, rows, units, fan_in


def cnn(rows):
    yield from perceptron(rows * 26 * 26, 9, 32)
    yield from inner(1, rows * 11 * 11, 9 * 32, 64)
    yield from inner(1, rows, 1600, 10)


def resnet(rows):
    yield from perceptron(rows * 32 * 32, 27, 32)
    yield from inner(6, rows * 32 * 32, 9 * 32, 32)
    yield from inner(1, rows, 32, 10)


def recurrent(rows, gates):
    yield from perceptron(rows * 50, 32, 64 * gates)
    yield from inner(50, rows, 64, 64 * gates)
    yield from inner(1, rows, 64, 10)


def transformer(rows):
    for fan_in, units in ((128, 384), (128, 128), (128, 512), (512, 128)):
        yield from inner(2, rows * 64, fan_in, units)
    yield from inner(2 * rows * 4, 64, 32, 64)
    yield from inner(2 * rows * 4, 64, 64, 32)
    yield from inner(1, rows, 128, 10)


def vae(rows):
    yield from perceptron(rows, 784, 64)
    for fan_in, units in ((64, 64), (32, 64), (64, 784)):
        yield from inner(1, rows, fan_in, units)


PRODUCTS = {
    "mlp": lambda rows: perceptron(rows, 16, 32, 32, 10),
    "wide": lambda rows: perceptron(rows, 784, 256, 256, 10),
    "cnn": cnn,
    "resnet": resnet,
    "lstm": lambda rows: recurrent(rows, 4),
    "gru": lambda rows: recurrent(rows, 3),
    "transformer": transformer,
    "embedding": lambda rows: inner(1, rows, 640, 10),
    "vae": vae,
}


class Trained:
    """Has nothing but the products: no call, and no prediction."""

    imported = IMPORTED

    def __init__(self, work, name):
        self.num_steps = work.num_steps
        draw = np.random.default_rng(0).random
        self.products = [
            (count, draw((m, k), "float32"), draw((k, n), "float32"), np.empty((m, n), "float32"))
            for count, m, k, n in PRODUCTS[work.name](work.batch_size)
        ]

    def epoch(self):
        return seconds(self._run)

    def _run(self):
        for _ in range(self.num_steps):
            for count, a, b, out in self.products:
                for _ in range(count):
                    np.matmul(a, b, out=out)
