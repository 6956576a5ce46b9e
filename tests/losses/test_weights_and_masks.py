"""All losses under every shape of weights and masks, with each reduction, in values and gradients.

Keras 3.15.1 is not the oracle here: `docs/coming-from-keras.md` lists where it gives other values. The truth
is the loss itself of repeated rows.
"""

import inspect

import numpy as np
import pytest
import tensorflow as tf

from tests import weighing
from tfkit import losses

# Arguments and data. A new loss needs a row: `test_each_loss_has_a_row`.
TABLE = {
    "BinaryCrossentropy": ({"label_smoothing": 0.1}, "labels"),
    "BinaryFocalCrossentropy": ({"apply_class_balancing": True}, "labels"),
    "CategoricalCrossentropy": ({"label_smoothing": 0.1}, "classes"),
    "CategoricalFocalCrossentropy": ({}, "classes"),
    "CategoricalGeneralizedCrossEntropy": ({}, "sparse"),
    "CategoricalHinge": ({}, "classes"),
    "CosineSimilarity": ({}, "numbers"),
    "Dice": ({"axis": -1}, "labels"),
    "Hinge": ({}, "signs"),
    "Huber": ({}, "numbers"),
    "KLDivergence": ({}, "classes"),
    "LogCosh": ({}, "numbers"),
    "LossFunctionWrapper": ({"fn": lambda y, p: tf.reduce_max(abs(y - p), -1)}, "numbers"),
    "MeanAbsoluteError": ({}, "numbers"),
    "MeanAbsolutePercentageError": ({}, "positive"),
    "MeanSquaredError": ({}, "numbers"),
    "MeanSquaredLogarithmicError": ({}, "positive"),
    "Poisson": ({}, "positive"),
    "SparseCategoricalCrossentropy": ({}, "sparse"),
    "SquaredHinge": ({}, "signs"),
    "Tversky": ({"axis": -1, "alpha": 0.7}, "labels"),
}
# Rows of these are compared with each other, or are sequences: tests of their own, below.
OF_MANY_ROWS = {"Circle", "CTC"}
UNFIT = "`sample_weight` (must have one weight for each value|has more axes than there are values)"
NAMES = sorted(TABLE)
REDUCTIONS = ["sum", "sum_over_batch_size", "mean_with_sample_weight", "none"]
ROWS = {name: weighing.pair(TABLE[name][1], weighing.ROWS) for name in NAMES}
STEPS = {name: weighing.pair(TABLE[name][1], weighing.ROWS, weighing.STEPS) for name in NAMES}


def make(name, reduction):
    return getattr(losses, name)(**TABLE[name][0], reduction=reduction)


def truth(name, data, counts, mask, reduction):
    """Returns the loss of the rows that count, each as often as it counts."""
    rows = (weighing.repeated(part, counts * mask) for part in data)
    if reduction == "none":
        size = tuple(np.shape(counts))
        flat = (weighing.repeated(part, np.ones(size)) for part in data)
        return np.reshape(make(name, "none")(*flat), size) * counts * mask
    total = float(make(name, "sum")(*rows)) if np.any(counts * mask) else 0.0
    # A mean is over all losses, those of weight 0 too: weights are factors of a loss.
    number = {"sum": 1, "sum_over_batch_size": np.sum(mask), "mean_with_sample_weight": 0}[
        reduction
    ]
    number = number or np.sum(counts * mask)
    return total / number if number else 0.0


def check(name, data, weights, mask, counts):
    included = np.ones(np.shape(counts)) if mask is None else mask
    if included.ndim < np.ndim(counts):
        included = np.broadcast_to(included[:, None], np.shape(counts))
    for reduction in REDUCTIONS:
        result = make(name, reduction)(data[0], weighing.masked(data[1], mask), weights)
        expected = truth(name, data, counts, included, reduction)
        if reduction == "none":
            result = np.reshape(result, np.shape(expected))
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6, err_msg=reduction)


def test_each_loss_has_a_row():
    public = {
        name
        for name, item in inspect.getmembers(losses)
        if inspect.isclass(item) and issubclass(item, losses.Loss)
    }
    assert public == set(TABLE) | OF_MANY_ROWS | {"Loss"}


@pytest.mark.parametrize("weights", weighing.PER_ROW)
@pytest.mark.parametrize("name", NAMES)
def test_weights(name, weights):
    given, counts = weighing.PER_ROW[weights]
    check(name, ROWS[name], given, None, counts)


@pytest.mark.parametrize("weights", [None, "rows", "column"])
@pytest.mark.parametrize("name", NAMES)
def test_masks(name, weights):
    given, counts = weighing.PER_ROW.get(weights, (None, np.ones(weighing.ROWS)))
    check(name, ROWS[name], given, weighing.ROW_MASK, counts)


@pytest.mark.parametrize("weights", weighing.PER_STEP)
@pytest.mark.parametrize("name", NAMES)
def test_weights_of_sequences(name, weights):
    given, counts = weighing.PER_STEP[weights]
    check(name, STEPS[name], given, None, counts)


@pytest.mark.parametrize("weights", [None, "rows", "column", "steps_column"])
@pytest.mark.parametrize("mask", [weighing.STEP_MASK, weighing.ROW_MASK, np.zeros(6, bool)])
@pytest.mark.parametrize("name", NAMES)
def test_masks_of_sequences(name, weights, mask):
    ones = np.ones((weighing.ROWS, weighing.STEPS))
    given, counts = weighing.PER_STEP.get(weights, (None, ones))
    check(name, STEPS[name], given, mask, counts)


@pytest.mark.parametrize("form", ["rows", "column", "mask"])
@pytest.mark.parametrize("name", NAMES)
def test_missing_labels_of_weight_zero(name, form):
    """They have no part in the value, nor in the gradient; in Keras both are NaN."""
    y_true, y_pred = ROWS[name]
    y_true = np.array(y_true, "float32")
    weights = {"rows": weighing.ROW_WEIGHTS, "column": weighing.ROW_WEIGHTS[:, None]}.get(form)
    mask = weighing.ROW_WEIGHTS > 0 if form == "mask" else None

    def value_and_gradient(labels):
        variable = tf.Variable(y_pred)
        with tf.GradientTape() as tape:
            value = make(name, "sum")(labels, weighing.masked(variable, mask), weights)
        return value, tape.gradient(value, variable)

    missing = y_true.copy()
    missing[weighing.ROW_WEIGHTS == 0] = np.nan
    for part, expected in zip(value_and_gradient(missing), value_and_gradient(y_true), strict=True):
        assert np.all(np.isfinite(part))
        np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-6)


def test_missing_labels_in_lists():
    missing, predictions = [[float("nan")], [1.0]], [[0.0], [0.0]]
    assert float(losses.MeanSquaredError()(missing, predictions, [0, 1])) == 0.5
    assert float(losses.MeanSquaredError(reduction="sum")(missing, predictions, [[0], [1]])) == 1.0


@pytest.mark.parametrize("weights", [None, [1.0, 1.0], [1.0, 0.0]])
def test_missing_labels_that_count_and_missing_predictions_are_seen(weights):
    """What a model has computed as NaN has a gradient of NaN, whatever its weight: the loss must say so."""
    missing = np.array([[np.nan], [1.0]], "float32")
    loss = losses.MeanSquaredError()
    assert np.isnan(loss(missing, np.ones((2, 1), "float32"), weights))
    assert np.isnan(loss(np.ones((2, 1), "float32"), missing[::-1], weights))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (name, part)
        for name in NAMES
        for part in ("labels", "predictions", "weights")
        if part != "labels" or TABLE[name][1] != "sparse"  # The next test is about class ids.
    ],
)
def test_nan_is_seen_however_a_loss_is_computed(name, part):
    y_true, y_pred = (np.array(each, "float32") for each in ROWS[name])
    weights = np.ones(len(y_true), "float32")
    {"labels": y_true, "predictions": y_pred, "weights": weights}[part][1:2] = np.nan

    def loss(y_true, y_pred, weights):
        return make(name, "sum_over_batch_size")(y_true, y_pred, weights)

    given = tuple(map(tf.constant, (y_true, y_pred, weights)))
    for way in (loss, tf.function(loss), tf.function(loss, jit_compile=True)):
        assert np.isnan(way(*given)), way


@pytest.mark.parametrize("name", [name for name in NAMES if TABLE[name][1] == "sparse"])
def test_class_ids_that_are_missing_or_out_of_range_are_refused(name):
    y_true, y_pred = ROWS[name]
    for wrong in (np.nan, -1, 99):
        labels = np.array(y_true, "float32")
        labels[1] = wrong
        with pytest.raises(tf.errors.InvalidArgumentError):
            make(name, "sum")(labels, y_pred)


@pytest.mark.parametrize("name", ["CategoricalCrossentropy", "CategoricalFocalCrossentropy"])
def test_smoothed_labels_of_classes_on_another_axis(name):
    """Keras 3.15.1 divides by the size of the last axis, so that labels no longer sum to 1."""
    y_true, y_pred = STEPS["CategoricalCrossentropy"]
    last = getattr(losses, name)(label_smoothing=0.3)(y_true, y_pred)
    moved = [np.moveaxis(part, -1, 1) for part in (y_true, y_pred)]
    assert moved[0].shape[1] != moved[0].shape[-1]
    other = getattr(losses, name)(label_smoothing=0.3, axis=1)(*moved)
    assert float(other) == pytest.approx(float(last), rel=1e-6)


def test_alpha_of_tversky_weighs_false_positives():
    """As its paper has it, and Keras since 3.15.1, in which alpha and beta are exchanged."""
    found = [[1.0, 1.0, 0.0, 0.0]]
    invented, missed = [[1.0, 1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0, 0.0]]
    loss = losses.Tversky(alpha=1.0, beta=0.0)
    assert float(loss(found, invented)) == pytest.approx(1 / 3, rel=1e-5)
    assert float(loss(found, missed)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("axis", [None, (1, 2)])
@pytest.mark.parametrize("name", ["Dice", "Tversky"])
def test_overlaps_leave_out_masked_steps(name, axis):
    y_true, y_pred = STEPS[name]
    mask = weighing.STEP_MASK.copy()
    mask[:] = [True, True, False]
    loss = getattr(losses, name)(axis=axis)
    expected = loss(y_true[:, :2], y_pred[:, :2])
    np.testing.assert_allclose(loss(y_true, weighing.masked(y_pred, mask)), expected, rtol=1e-6)


def test_masked_embeddings_are_compared_with_none():
    y_true, y_pred = weighing.pair("embeddings", 8)
    mask = np.array([1, 1, 1, 1, 0, 1, 1, 0], bool)
    loss = losses.Circle()
    expected = loss(y_true[mask], y_pred[mask])
    np.testing.assert_allclose(loss(y_true, weighing.masked(y_pred, mask)), expected, rtol=1e-5)


SENTENCES = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 0]])
LOGITS = weighing.floats(3, 7, 4)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_ctc_of_masked_steps_is_that_of_the_sequences_without_them(jit_compile):
    """Keras 3.15.1 refuses a mask here; since then it counts the masked steps."""
    mask = np.array([[1, 1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 1, 0, 0], [1] * 7], bool)
    loss = losses.CTC(reduction="none")
    run = tf.function(lambda x: loss(SENTENCES, weighing.masked(x, mask)), jit_compile=jit_compile)
    expected = [
        float(loss(SENTENCES[[row]], LOGITS[[row]][:, mask[row]])[0]) for row in range(len(mask))
    ]
    np.testing.assert_allclose(run(tf.constant(LOGITS)), expected, rtol=1e-5)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weights", [[2, 0, 1], [[2], [0], [1]], 2])
def test_weights_of_sequences_in_ctc(weights, reduction):
    values = np.array(losses.CTC(reduction="none")(SENTENCES, LOGITS))
    mask = np.array([[1] * 7, [1] * 5 + [0] * 2, [0] * 7], bool)
    values[1] = float(losses.CTC()(SENTENCES[[1]], LOGITS[[1], :5]))
    counts = np.broadcast_to(np.ravel(weights), 3) * [1, 1, 0]
    expected = {
        "sum": np.sum(values * counts),
        "sum_over_batch_size": np.sum(values * counts) / 2,
        "mean_with_sample_weight": np.sum(values * counts) / np.sum(counts),
        "none": values * counts,
    }[reduction]
    result = losses.CTC(reduction=reduction)(SENTENCES, weighing.masked(LOGITS, mask), weights)
    np.testing.assert_allclose(np.squeeze(result), expected, rtol=1e-5)


@pytest.mark.parametrize("weights", [np.ones(5), np.ones((6, 4)), np.ones((6, 3, 2))])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(ValueError, match=UNFIT):
        losses.MeanSquaredError()(*STEPS["MeanSquaredError"], weights)


@pytest.mark.parametrize("part", ["y_true", "y_pred"])
@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_nan_is_nan_in_all_ways(name, part):
    """A loss that passes over NaN is one of a model that has no numbers any more."""
    y_true, y_pred = (np.array(each, "float32") for each in ROWS[name])
    data = {"y_true": y_true, "y_pred": y_pred}
    # In a row whose label is another class: a softmax may have NaN in one entry alone.
    place = int(y_true.reshape(len(y_true), -1)[3].argmax()) if y_true.ndim > 1 else int(y_true[3])
    data[part].reshape(len(y_true), -1)[3, place - 1 if data[part].ndim > 1 else 0] = np.nan
    loss = make(name, "sum_over_batch_size")
    for way in (loss, tf.function(loss), tf.function(loss, jit_compile=True)):
        if part == "y_true" and TABLE[name][1] == "sparse":
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
                way(tf.constant(y_true), tf.constant(y_pred))
            break  # XLA has no checks; programs of tfkit keep them.
        assert np.isnan(way(tf.constant(y_true), tf.constant(y_pred))), way
