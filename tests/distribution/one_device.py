"""Compares layers, losses and metrics under two replicas with one device.

Run it by `python -m tests.distribution.one_device`; arguments are names of layers, or `losses`, `metrics`.

Prints a line for each case: the largest difference of weights, losses and predictions, or the refusal.
"""

import contextlib
import functools
import sys

import numpy as np
import tensorflow as tf

import tfkit as keras
from tests.conformance.table import CASES, Integers, Pixels
from tfkit import layers

ROWS = 5  # Two batches of 3 and 2: replicas have 1 and 2 rows, and 1 and 1.
PLAIN = contextlib.nullcontext()


def two_replicas():
    """A strategy of two logical CPUs."""
    cpus = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def widened(inputs):
    """The inputs of a row of the table, with as many rows as a batch."""
    if isinstance(inputs, tuple) and all(isinstance(it, int) for it in inputs):
        return (ROWS, *inputs[1:])
    if isinstance(inputs, (tuple, list)):
        return type(inputs)(map(widened, inputs))
    if isinstance(inputs, Integers):
        return Integers((ROWS, *inputs.shape[1:]), inputs.below)
    return Pixels((ROWS, *inputs.shape[1:])) if isinstance(inputs, Pixels) else inputs


def as_tuples(data):
    """Nested lists as tuples: a dataset takes a list for an array."""
    return tuple(map(as_tuples, data)) if isinstance(data, (list, tuple)) else data


class Around(keras.Model):
    """A trained scale of the inputs, and a layer: so gradients go through the layer, too."""

    def __init__(self, layer, takes_list):
        super().__init__()
        self.layer, self.takes_list = layer, takes_list
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, inputs):
        inputs = tf.nest.map_structure(
            lambda x: x * tf.cast(self.scale, x.dtype) if x.dtype.is_floating else x, inputs
        )
        if not isinstance(inputs, tuple):
            outputs = self.layer(inputs)
        else:
            outputs = self.layer(list(inputs)) if self.takes_list else self.layer(*inputs)
        # One output for each row, without a mask.
        flat = [
            tf.reshape(tf.cast(it, "float32"), [tf.shape(it)[0], -1])
            for it in tf.nest.flatten(outputs)
        ]
        return tf.concat(flat, 1) * self.scale


def around(case):
    return Around(case.make(layers), isinstance(case.inputs, list))


def one_loss(y_true, y_pred):
    """A loss for each row of any output."""
    return tf.reduce_mean(tf.square(y_pred - 0.5), axis=-1)


def trained(make, data, scope):
    """The numbers of a training and a prediction."""
    keras.utils.set_random_seed(3)
    with scope:
        model = make()
        model.compile(keras.optimizers.SGD(0.1), one_loss)
    keras.utils.set_random_seed(4)
    x = data[0] if len(data) == 1 else tuple(data)
    x = as_tuples(x)
    y = np.zeros((ROWS, 1), "float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(3)
    found = model.fit(dataset, verbose=0).history["loss"]
    outputs = model.predict(tf.data.Dataset.from_tensor_slices((x,)).batch(3), verbose=0)
    return [*found, *map(np.asarray, tf.nest.flatten(outputs)), *model.get_weights()]


def difference(make, data, strategy):
    """The largest difference between two replicas and one device; `None` if both refuse."""
    expected = trained(make, data, PLAIN)
    found = trained(make, data, strategy.scope())
    return max(
        float(np.max(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")), initial=0))
        for a, b in zip(found, expected, strict=True)
    )


def main(*names):
    """Prints a line for each layer."""
    strategy = two_replicas()
    for case in CASES:
        if names and case.layer not in names:
            continue
        widened_case = type(case)(case.layer, case.arguments, widened(case.inputs))
        make = functools.partial(around, case)
        try:
            result = f"{difference(make, widened_case.data(), strategy):.1e}"
        except Exception as error:
            result = f"{type(error).__name__}: {str(error)[:300]!r}"
        print(case, result, sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
