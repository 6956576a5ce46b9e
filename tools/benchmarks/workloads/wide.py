"""A perceptron for images of digits, of whose cost the products of matrices are most."""

import functools

import numpy as np

from benchmarks.training import Training
from benchmarks.workloads import mlp

PIXELS, UNITS = 784, 256


def data(rows):
    return np.random.rand(rows, PIXELS).astype("float32"), np.random.randint(0, 10, rows)


def build(keras):
    return mlp.build(keras, PIXELS, UNITS)


WORKLOAD = Training(
    128, 300, data, build, functools.partial(mlp.Plain, PIXELS, UNITS), program="xla loop"
)
