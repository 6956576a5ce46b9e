"""After a refused call, an object holds what it held before, and works like one that was never refused."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tests.snapshots import changes, snapshot

layers, metrics, optimizers = keras.layers, keras.metrics, keras.optimizers
x = np.arange(12.0, dtype="float32").reshape(3, 4)
y_true, y_pred = np.array([[0.0], [1.0], [1.0]]), np.array([[0.2], [0.8], [0.4]])


class Fails:
    """Batches, of which the second one raises an error."""

    def __iter__(self):
        yield x
        raise ZeroDivisionError("of the user")


def optimizer(cls, is_built, **options):
    def make():
        variables = [
            keras.Variable(np.ones((2, 2)), name="a"),
            keras.Variable(np.ones(3), name="b"),
        ]
        made = cls(**options)
        if is_built:
            made.build(variables)
        return made, variables

    return make


def scaled(is_built):
    return optimizer(lambda: optimizers.LossScaleOptimizer(optimizers.Adam()), is_built)


def updated(made):
    optimizer, variables = made
    optimizer.apply([tf.ones((2, 2)), tf.ones(3)], variables)
    return [*variables, *optimizer.variables]


OPTIMIZERS = {
    "Adam": optimizer(optimizers.Adam, False),
    "built Adam": optimizer(optimizers.Adam, True),
    "averaging SGD": optimizer(
        optimizers.SGD, False, momentum=0.5, use_ema=True, gradient_accumulation_steps=2
    ),
    "Muon": optimizer(optimizers.Muon, False),
    "scaled": scaled(False),
    "built scaled": scaled(True),
}
GRADIENT = tf.ones((2, 2))
REFUSED_BY_OPTIMIZERS = {
    "few gradients": (lambda it, v: it.apply([GRADIENT], v), "one gradient for each variable"),
    "a shape": (lambda it, v: it.apply([GRADIENT, tf.ones(4)], v), r"'b' must .* shape \(4,\)"),
    "no gradient": (lambda it, v: it.apply([None, None], v), "No gradients provided"),
    "strings": (
        lambda it, v: it.apply([GRADIENT, tf.constant(["a"] * 3)], v),
        "'b' must hold numbers",
    ),
    "an array of strings": (lambda it, v: it.apply([GRADIENT, np.array(["a"] * 3)], v), "numbers"),
    "a string": (lambda it, v: it.apply([GRADIENT, "a"], v), "must hold numbers. Received: 'a'"),
    "no variable": (
        lambda it, v: it.apply([GRADIENT, GRADIENT], [v[0], 3]),
        "in place of a variable: 3",
    ),
    "a number for pairs": (lambda it, v: it.apply_gradients(3), "Expected pairs .* Received: 3"),
    "a number among pairs": (
        lambda it, v: it.apply_gradients([(GRADIENT, v[0]), 3]),
        "Received: 3",
    ),
    "stored shapes": (
        lambda it, v: it.load_own_variables(
            {str(index): np.ones(9) for index in range(len(it.variables))}
        ),
        r"has shape \(\), .* \(9,\)",
    ),
    "stored strings": (
        lambda it, v: it.load_own_variables(
            {str(i): 7 if i == 0 else "a" for i in range(len(it.variables))}
        ),
        "holds numbers of dtype float32|which is not compatible",
    ),
    "slots of a number": (
        lambda it, v: it.add_optimizer_variables([v[0], 3], "m"),
        "Expected a list of variables",
    ),
}
REFUSED_BY_BUILD = {
    "a string": (lambda it, v: it.build("ab"), "Expected a list of variables. Received: 'ab'"),
    "a number": (lambda it, v: it.build([v[0], 3]), "Expected a list of variables"),
    "None": (lambda it, v: it.build(None), "Expected a list of variables. Received: None"),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    make = OPTIMIZERS[name]
    expected = updated(make())
    refused = REFUSED_BY_OPTIMIZERS | ({} if "built" in name else REFUSED_BY_BUILD)
    for wrong, message in refused.values():
        made = make()
        before = snapshot(*made)
        with pytest.raises((ValueError, TypeError), match=message):
            wrong(*made)
        assert changes(before, snapshot(*made)) == []
        for one, other in zip(expected, updated(made), strict=True):
            np.testing.assert_array_equal(one, other)


METRICS = {
    "MeanSquaredError": metrics.MeanSquaredError,
    "AUC": metrics.AUC,
    "AUC of labels": lambda: metrics.AUC(multi_label=True),
    "F1Score": lambda: metrics.F1Score(threshold=0.5),
    "R2Score": metrics.R2Score,
    "BinaryIoU": metrics.BinaryIoU,
    "Recall": metrics.Recall,
}
BATCHES = {
    "rows": (y_true, y_pred[:2], None),
    "columns": (np.ones((3, 2)), np.ones((3, 3)), None),
    "strings": (np.array(["a"] * 3), y_pred, None),
    "weights": (y_true, y_pred, np.ones(7)),
    "axes of weights": (y_true, y_pred, np.ones((3, 2, 2))),
    "weights of strings": (y_true, y_pred, "a"),
    "nothing": (None, y_pred, None),
}


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_metrics(name, started):
    for batch in BATCHES.values():
        metric, other = METRICS[name](), METRICS[name]()
        for each in (metric, other) if started else ():
            each.update_state(y_true, y_pred)
        before = snapshot(metric)
        with pytest.raises(Exception):  # noqa: B017, PT011
            metric.update_state(*batch)
        assert changes(before, snapshot(metric)) == []
        for each in (metric, other):
            each.update_state(y_true, y_pred)
        np.testing.assert_array_equal(metric.result(), other.result())


class Late(layers.Layer):
    """A layer that fails after it has built a part of itself, for inputs of 7 columns."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(3), layers.Dense(2)

    def build(self, input_shape):
        self.size = input_shape[-1]
        self.scale = self.add_weight(shape=(self.size,), initializer="ones")
        self.first.build(input_shape)
        if self.size == 7:
            raise ZeroDivisionError("of the user")

    def call(self, inputs):
        return self.second(self.first(inputs * self.scale))


def built(layer, width=4):
    layer.build((None, width))
    return layer


LAYERS = {
    "a call": (Late, lambda it: it(np.ones((2, 7))), ZeroDivisionError),
    "a build": (Late, lambda it: it.build((None, 7)), ZeroDivisionError),
    "a symbolic call": (Late, lambda it: it(keras.Input((7,))), ZeroDivisionError),
    "shapes": (Late, lambda it: it.compute_output_shape((None, 7)), ZeroDivisionError),
    "a layer later": (
        lambda: keras.Sequential([layers.Dense(7), Late()]),
        lambda it: it(x),
        ZeroDivisionError,
    ),
    "stored shapes": (
        lambda: built(layers.Dense(3)),
        lambda it: it.load_own_variables({"0": np.ones((4, 3)), "1": np.ones(9)}),
        ValueError,
    ),
    "stored strings": (
        lambda: built(layers.Dense(1)),
        lambda it: it.load_own_variables({"0": np.ones((4, 1)), "1": ["a"]}),
        ValueError,
    ),
    "no weights": (lambda: built(layers.Dense(3)), lambda it: it.set_weights(None), TypeError),
    "a second build": (
        lambda: built(layers.Normalization()),
        lambda it: it.build((None, 7)),
        ValueError,
    ),
    "a failing iterable": (layers.Normalization, lambda it: it.adapt(Fails()), ZeroDivisionError),
    "no rows": (layers.Normalization, lambda it: it.adapt(np.ones((0, 4))), ValueError),
    "widths that differ": (
        layers.Normalization,
        lambda it: it.adapt(iter([np.ones((2, 4)), np.ones((2, 3))])),
        ValueError,
    ),
    "bins of a failing iterable": (
        lambda: layers.Discretization(num_bins=2),
        lambda it: it.adapt(Fails()),
        ZeroDivisionError,
    ),
    "a vocabulary with repetitions": (
        lambda: layers.StringLookup(vocabulary=["a", "b"]),
        lambda it: it.set_vocabulary(["c", "c"]),
        ValueError,
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, wrong, error = LAYERS[name]
    layer = make()
    before = snapshot(layer)
    with pytest.raises(error):
        wrong(layer)
    assert changes(before, snapshot(layer)) == []
    if isinstance(layer, Late):
        assert layer(np.ones((2, 5))).shape == (2, 2)
    if isinstance(layer, (layers.Normalization, layers.Discretization)):
        layer.adapt(x)
        assert layer(x).shape == x.shape


def test_a_dict_for_a_layer_of_tensors_is_named():
    with pytest.raises(
        ValueError, match=r"expects a tensor. Received: a dict with the keys \['a'\]"
    ):
        keras.Sequential([layers.Dense(1)])({"a": x})
