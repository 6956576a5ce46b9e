"""Metrics and losses of a model with weights and masks: in `evaluate`, `fit` and steps, in graphs and in XLA.

One model has all of them at once, so that each way to run costs one trace. The values must be those of the
metric alone with repeated rows.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests import weighing
from tests.losses import test_weights_and_masks as all_losses
from tests.metrics import test_weights_and_masks as all_metrics
from tfkit import layers, metrics


class Scale(layers.Layer):
    """Something to train, which keeps the mask."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.factor = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        return x * self.factor


ARE_OF_IDS = {name for name, row in all_metrics.TABLE.items() if row[1] == "sparse"}
# Targets are vectors of 4, like the predictions: metrics of other data compute something with them, too.
OF_VECTORS = [name for name in all_metrics.NAMES if name not in ARE_OF_IDS]
OF_SEQUENCES = [name for name in OF_VECTORS if name in all_metrics.SEQUENCES]
ROWS = weighing.pair("classes", weighing.ROWS)
STEPS = weighing.pair("classes", weighing.ROWS, weighing.STEPS)
DATA = {
    "rows": (ROWS, weighing.ROW_MASK, weighing.ROW_WEIGHTS, weighing.ROW_WEIGHTS, OF_VECTORS),
    "column": (ROWS, None, weighing.ROW_WEIGHTS[:, None], weighing.ROW_WEIGHTS, OF_VECTORS),
    "steps": (STEPS, weighing.STEP_MASK, *[weighing.STEP_WEIGHTS] * 2, OF_SEQUENCES),
    # One metric of each kind, for XLA.
    "some": (
        STEPS,
        weighing.STEP_MASK,
        *[weighing.STEP_WEIGHTS] * 2,
        ["AUC", "IoU", "MeanSquaredError", "RootMeanSquaredError", "Precision"],
    ),
    "ids": (
        (ROWS[0].argmax(-1), ROWS[1]),
        weighing.ROW_MASK,
        *[weighing.ROW_WEIGHTS] * 2,
        sorted(ARE_OF_IDS),
    ),
}


def masked_model(y_pred, mask, outputs=None):
    """Returns a model whose outputs are its inputs, and inputs whose masked rows or steps are 0."""
    x = np.where(True if mask is None else mask[..., None], y_pred, 0).astype("float32")
    inputs = tfkit.Input(x.shape[1:])
    output = Scale()(layers.Masking()(inputs))
    return tfkit.Model(inputs, output if outputs is None else outputs(output)), x


def check(given, names, data, counts):
    for metric, name in zip(given, names, strict=True):
        expected = all_metrics.truth(name, data, counts)
        np.testing.assert_allclose(metric.result(), expected, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("form", "jit_compile"), [*((form, False) for form in DATA), ("ids", True), ("some", True)]
)
def test_all_metrics_of_a_model(form, jit_compile):
    data, mask, weights, counts, names = DATA[form]
    model, x = masked_model(data[1], mask)
    y, ones = data[0], np.ones(np.shape(counts))
    included = ones if mask is None else mask
    plain, weighed = ([all_metrics.make(name) for name in names] for _ in range(2))
    for metric in plain[:5]:
        metric.update_state(y[1:3], data[1][1:3])  # Used before: `fit` begins at zero all the same.
    model.compile(
        tfkit.optimizers.SGD(0.0),
        "sparse_categorical_crossentropy" if form == "ids" else "mse",
        metrics=plain,
        weighted_metrics=weighed,
        jit_compile=jit_compile,
    )
    options = {"sample_weight": weights, "batch_size": 4, "verbose": 0}
    runs = [
        lambda: model.fit(x, y, shuffle=False, epochs=2, **options),
        lambda: model.evaluate(x, y, **options),
        lambda: model.train_on_batch(x, y, sample_weight=weights),
    ]
    for run in runs if form in ("ids", "some") else runs[1:2]:
        run()
        check(plain, names, data, included)
        check(weighed, names, data, included * counts)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("form", ["column", "steps"])
def test_all_losses_of_a_model(form, jit_compile):
    data, mask, weights, counts, _ = DATA[form]
    names = [name for name, row in all_losses.TABLE.items() if row[1] != "sparse"]
    given = {name: all_losses.make(name, "sum_over_batch_size") for name in names}

    def outputs(output):
        return {name: layers.Activation("linear", name=name)(output) for name in names}

    model, x = masked_model(data[1], mask, outputs)
    model.compile(tfkit.optimizers.SGD(0.0), given, jit_compile=jit_compile)
    y = dict.fromkeys(names, data[0])
    included = np.ones(np.shape(counts)) if mask is None else mask
    expected = {
        name: all_losses.truth(name, data, counts, included, "sum_over_batch_size")
        for name in names
    }
    options = {"sample_weight": dict.fromkeys(names, weights), "verbose": 0, "batch_size": 6}
    if jit_compile:
        logs = model.evaluate(x, y, return_dict=True, **options)
    else:
        logs = {key: values[0] for key, values in model.fit(x, y, **options).history.items()}
    for name in names:
        assert logs[f"{name}_loss"] == pytest.approx(expected[name], rel=2e-5), name
    assert logs["loss"] == pytest.approx(sum(expected.values()), rel=2e-5)


# --- One metric in several places ----------------------------------------------------------------


def classifier():
    model = tfkit.Sequential([tfkit.Input((weighing.SIZE,)), Scale()])
    return model, *ROWS[::-1]


@pytest.mark.parametrize("argument", ["metrics", "weighted_metrics"])
@pytest.mark.parametrize("name", ["CategoricalAccuracy", "AUC", "F1Score"])
def test_a_metric_begins_at_zero_wherever_it_was_used_before(name, argument):
    def fresh():
        return float(np.mean(all_metrics.make(name)(y, x)))

    def measured(model):
        model.evaluate(x, y, verbose=0)
        return float(np.mean(metric.result()))

    metric = all_metrics.make(name)
    model, x, y = classifier()
    metric.update_state(1 - y, x)
    model.compile("sgd", "mse", **{argument: [metric]})
    assert measured(model) == pytest.approx(fresh())
    metric.update_state(1 - y, x)
    model.compile("sgd", "mse", **{argument: [metric]})
    model.fit(x, y, verbose=0)
    model.set_weights([np.ones(())])
    assert measured(model) == pytest.approx(fresh())
    other, _, _ = classifier()
    other.compile("sgd", "mse", **{argument: [metric]})
    assert measured(other) == pytest.approx(fresh())
    assert measured(model) == pytest.approx(fresh())
    other.compile("sgd", "mse", **{argument: [metric]})
    other.train_on_batch(x, y)
    other.set_weights([np.ones(())])
    assert np.mean(other.test_on_batch(x, y)[1]) == pytest.approx(fresh())


# --- Losses of one number a sample after a masked layer -------------------------------------------


def test_ctc_after_a_masked_layer_is_trained():
    """Keras 3.15.1 refuses it, with words about a `sample_weight` that nobody has passed."""
    x = weighing.floats(4, 6, 3)
    x[:, 4:] = 0.0
    y = np.array([[1, 2], [2, 0], [1, 1], [2, 1]])

    def made(steps):
        tfkit.utils.set_random_seed(1)
        model = tfkit.Sequential(
            [tfkit.Input((steps, 3)), layers.Masking(), layers.LSTM(5, return_sequences=True)]
        )
        model.compile(tfkit.optimizers.SGD(0.1), "ctc")
        return model

    padded, short = made(6), made(4)
    losses = [
        model.fit(x[:, :steps], y, epochs=2, shuffle=False, verbose=0).history["loss"]
        for model, steps in ((padded, 6), (short, 4))
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    for mine, other in zip(padded.weights, short.weights, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-6)


def test_a_loss_of_samples_after_a_masked_layer_leaves_out_samples_without_steps():
    def per_sample(y_true, y_pred):
        return tf.reduce_mean(tf.abs(y_true - y_pred), axis=(1, 2))

    x = np.ones((3, 2, 4), "float32") * np.array([1.0, 0.0, 3.0])[:, None, None]
    model, x = masked_model(x, None)
    model.compile("sgd", per_sample, weighted_metrics=[per_sample])
    assert model.evaluate(x, np.zeros_like(x), verbose=0) == pytest.approx([2.0, 2.0])


# --- Missing labels, and weights of classes -------------------------------------------------------


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("weights", [[1.0, 0.0, 1.0, 1.0], [[1.0], [0.0], [1.0], [1.0]]])
def test_missing_labels_of_weight_zero_do_not_spoil_a_training(weights, jit_compile):
    """In Keras the loss, and after the first step all weights, are NaN."""
    x, weights = weighing.floats(4, 3), np.array(weights)
    y = np.array([[1.0], [np.nan], [0.0], [1.0]])

    def trained(y):
        tfkit.utils.set_random_seed(2)
        model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(1)])
        model.compile("adam", "mse", weighted_metrics=["mae"], jit_compile=jit_compile)
        history = model.fit(x, y, sample_weight=weights, epochs=2, shuffle=False, verbose=0).history
        return [*history["loss"], *history["mae"], *np.ravel(model.get_weights()[0])]

    np.testing.assert_allclose(trained(y), trained(np.nan_to_num(y)), rtol=1e-6)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True, True]),
        np.array([[True], [False], [True], [True]]),
        np.array([1.0, 0.0, 1.0, 1.0]),
        np.array([1, 0, 1, 1], "uint8"),
        np.eye(2)[[1, 0, 1, 1]],
        np.eye(2, dtype=bool)[[1, 0, 1, 1]],
    ],
    ids=lambda labels: f"{labels.dtype}-{labels.shape}",
)
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 1.0], [[1.0], [2.0], [0.0], [1.0]]])
def test_weights_of_classes(labels, weights):
    """Of labels of each kind, and together with weights of samples of each shape."""
    x = np.array([[1.0], [2.0], [3.0], [4.0]], "float32")
    model = tfkit.Sequential(
        [tfkit.Input((1,)), layers.Dense(labels.shape[-1] if labels.ndim > 1 else 1)]
    )
    model.compile(tfkit.optimizers.SGD(0.0), "mse")
    values = np.mean((model.predict(x, verbose=0) - labels.reshape(4, -1)) ** 2, axis=-1)
    factors = np.array([5.0, 1.0, 5.0, 5.0]) * (1.0 if weights is None else np.ravel(weights))
    history = model.fit(
        x,
        labels,
        class_weight={1: 5.0},
        sample_weight=None if weights is None else np.array(weights),
        verbose=0,
    ).history
    assert history["loss"][0] == pytest.approx(np.mean(values * factors), rel=1e-5)


def test_weights_of_classes_of_strings_are_refused():
    model = tfkit.Sequential([tfkit.Input((1,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"targets of dtype string.*layers\.StringLookup"):
        model.fit(np.ones((2, 1)), np.array(["a", "b"]), class_weight={0: 1.0}, verbose=0)


def test_negative_labels_have_no_weight_of_a_class():
    x, y = np.ones((2, 1), "float32"), np.array([-1.0, 1.0])
    model = tfkit.Sequential([tfkit.Input((1,)), layers.Dense(1, kernel_initializer="zeros")])
    model.compile(tfkit.optimizers.SGD(0.0), "mse")
    history = model.fit(x, y, class_weight={0: 7.0, 1: 3.0}, verbose=0).history
    assert history["loss"][0] == pytest.approx((1 + 3) / 2)


# --- Keras beside it ------------------------------------------------------------------------------


def test_root_mean_squared_error_of_masked_steps():
    """3.56 in Keras 3.15.1, whose mask is lost; 1.0 is the error of the steps that count."""
    y_true = np.zeros((1, 3, 1), "float32")
    y_pred = np.array([[[1.0], [1.0], [6.0]]], "float32")
    mask = np.array([[True, True, False]])
    assert float(metrics.RootMeanSquaredError()(y_true, weighing.masked(y_pred, mask))) == 1.0
    assert float(keras.metrics.RootMeanSquaredError()(y_true, weighing.masked(y_pred, mask))) > 3
