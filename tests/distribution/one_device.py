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


def targets(name):
    """Targets and a width of predictions for a loss or a metric."""
    draws = np.random.default_rng(1)
    classes = draws.integers(0, 3, 9)
    if "Sparse" in name:
        return classes, 3
    if any(it in name for it in ("Categorical", "Top", "F", "OneHot", "Focal", "Tversky", "Dice")):
        return np.eye(3, dtype="float32")[classes], 3
    return (classes[:, None] > 1).astype("float32"), 1


def measured(name, made, strategy):
    """The largest difference of a training with a loss or a metric."""
    x = np.random.default_rng(0).normal(size=(9, 4)).astype("float32")
    y, width = targets(name)
    found = []
    for scope in (PLAIN, strategy.scope()):
        keras.utils.set_random_seed(3)
        with scope:
            activation = "softmax" if width > 1 else "sigmoid"
            model = keras.Sequential([keras.Input((4,)), layers.Dense(width, activation)])
            instance = made()
            is_loss = isinstance(instance, keras.losses.Loss)
            loss = instance if is_loss else lambda y, p: tf.reduce_mean(p**2, -1)
            model.compile(keras.optimizers.SGD(0.1), loss, metrics=[] if is_loss else [instance])
        logs = model.fit(x, y, 5, epochs=2, shuffle=False, verbose=0).history.values()
        found.append([*map(np.asarray, logs), *model.get_weights()])
    return max(float(np.max(np.abs(a - b))) for a, b in zip(*found, strict=True))


ARGUMENTS = {
    "MeanIoU": {"num_classes": 2},
    "BinaryIoU": {},
    "IoU": {"num_classes": 2, "target_class_ids": [0]},
    "OneHotIoU": {"num_classes": 3, "target_class_ids": [0]},
    "OneHotMeanIoU": {"num_classes": 3},
    "PrecisionAtRecall": {"recall": 0.5},
    "RecallAtPrecision": {"precision": 0.5},
    "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5},
    "MeanMetricWrapper": {"fn": keras.losses.mean_squared_error},
}


def results(names, strategy):
    """Yields the name of each case, and a function that returns its difference."""
    for case in CASES:
        if not names or case.layer in names:
            wide = type(case)(case.layer, case.arguments, widened(case.inputs))
            yield (
                str(case),
                functools.partial(
                    lambda case, wide: difference(
                        functools.partial(around, case), wide.data(), strategy
                    ),
                    case,
                    wide,
                ),
            )
    for kind, base in (("losses", keras.losses.Loss), ("metrics", keras.metrics.Metric)):
        module = getattr(keras, kind)
        for name in dir(module) if not names or kind in names else ():
            made = getattr(module, name)
            if isinstance(made, type) and issubclass(made, base) and made is not base:
                made = functools.partial(made, **ARGUMENTS.get(name, {}))
                yield f"{kind}.{name}", functools.partial(measured, name, made, strategy)


def main(*names):
    """Prints a line for each case."""
    for name, compute in results(names, two_replicas()):
        try:
            result = f"{compute():.1e}"
        except Exception as error:
            result = f"{type(error).__name__}: {str(error)[:300]!r}"
        print(name, result, sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
