"""All metrics under every shape of weights and masks, in all ways to use them.

Keras 3.15.1 is not the oracle here: it gives other values for many of these cases, which
`docs/coming-from-keras.md` lists. The truth is the metric itself of repeated rows.
"""

import inspect
import warnings

import numpy as np
import pytest
import tensorflow as tf

from tests import weighing
from tfkit import metrics

# Arguments, data, and whether it accepts sequences. A new metric needs a row: `test_each_metric_has_a_row`.
TABLE = {
    "Accuracy": ({}, "ids", True),
    "AUC": ({}, "binary", True),
    "BinaryAccuracy": ({}, "labels", True),
    "BinaryCrossentropy": ({"label_smoothing": 0.1}, "labels", True),
    "BinaryIoU": ({"dtype": "float32"}, "binary", True),
    "CategoricalAccuracy": ({}, "classes", True),
    "CategoricalCrossentropy": ({}, "classes", True),
    "CategoricalHinge": ({}, "classes", True),
    "ConcordanceCorrelation": ({}, "numbers", True),
    "CosineSimilarity": ({}, "numbers", True),
    "F1Score": ({}, "classes", False),
    "FBetaScore": ({"average": "weighted", "beta": 2.0, "threshold": 0.3}, "labels", False),
    "FalseNegatives": ({"thresholds": [0.2, 0.7]}, "labels", True),
    "FalsePositives": ({}, "binary", True),
    "Hinge": ({}, "signs", True),
    "IoU": ({"num_classes": 4, "target_class_ids": [0, 3], "dtype": "float32"}, "ids", True),
    "KLDivergence": ({}, "classes", True),
    "LogCoshError": ({}, "numbers", True),
    "MeanAbsoluteError": ({}, "numbers", True),
    "MeanAbsolutePercentageError": ({}, "positive", True),
    "MeanIoU": ({"num_classes": 4, "sparse_y_pred": False, "dtype": "float32"}, "sparse", True),
    "MeanMetricWrapper": ({"fn": lambda y, p: tf.reduce_max(abs(y - p), -1)}, "numbers", True),
    "MeanSquaredError": ({}, "numbers", True),
    "MeanSquaredLogarithmicError": ({}, "positive", True),
    "OneHotIoU": ({"num_classes": 4, "target_class_ids": [1], "dtype": "float32"}, "classes", True),
    "OneHotMeanIoU": ({"num_classes": 4, "dtype": "float32"}, "classes", True),
    "PearsonCorrelation": ({}, "numbers", True),
    "Poisson": ({}, "positive", True),
    "Precision": ({"top_k": 2}, "labels", True),
    "PrecisionAtRecall": ({"recall": 0.4}, "binary", True),
    "R2Score": ({"num_regressors": 1}, "numbers", False),
    "Recall": ({"class_id": 1}, "labels", True),
    "RecallAtPrecision": ({"precision": 0.5, "class_id": 2}, "labels", True),
    "RootMeanSquaredError": ({}, "numbers", True),
    "SensitivityAtSpecificity": ({"specificity": 0.4}, "binary", True),
    "SparseCategoricalAccuracy": ({}, "sparse", True),
    "SparseCategoricalCrossentropy": ({"ignore_class": 1}, "sparse", True),
    "SparseTopKCategoricalAccuracy": ({"k": 2}, "sparse", True),
    "SpecificityAtSensitivity": ({"sensitivity": 0.4}, "binary", True),
    "SquaredHinge": ({}, "signs", True),
    "TopKCategoricalAccuracy": ({"k": 2}, "classes", True),
    "TrueNegatives": ({}, "labels", True),
    "TruePositives": ({}, "labels", True),
}
OF_VALUES = {"Mean", "Sum"}  # They have no targets.
MASKED = [
    (None, weighing.STEP_MASK),
    ("rows", weighing.STEP_MASK),
    ("steps_column", weighing.STEP_MASK),
    ("steps", weighing.ROW_MASK),
    (None, np.zeros(weighing.ROWS, bool)),
]
UNFIT = "`sample_weight` (must have one weight for each value|has more axes than there are values)"
NAMES = sorted(TABLE)
SEQUENCES = [name for name in NAMES if TABLE[name][2]]
ROWS = {name: weighing.pair(TABLE[name][1], weighing.ROWS) for name in NAMES}
STEPS = {name: weighing.pair(TABLE[name][1], weighing.ROWS, weighing.STEPS) for name in SEQUENCES}


def make(name):
    return getattr(metrics, name)(**TABLE[name][0])


def truth(name, data, counts):
    """Returns the result of the rows that count, each as often as it counts."""
    return np.asarray(make(name)(*(weighing.repeated(part, counts) for part in data)))


def check(name, data, weights, mask, counts):
    y_pred = weighing.masked(data[1], mask)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The adjusted R2 score needs more")
        expected, result = truth(name, data, counts), make(name)(data[0], y_pred, weights)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_each_metric_has_a_row():
    public = {
        name
        for name, item in inspect.getmembers(metrics)
        if inspect.isclass(item) and issubclass(item, metrics.Metric)
    }
    assert public == set(TABLE) | OF_VALUES | {"Metric"}


@pytest.mark.parametrize("weights", weighing.PER_ROW)
@pytest.mark.parametrize("name", NAMES)
def test_weights(name, weights):
    given, counts = weighing.PER_ROW[weights]
    check(name, ROWS[name], given, None, counts)


# Masks were run with all weights once, and all agreed; these stay.
@pytest.mark.parametrize("weights", [None, "rows", "column"])
@pytest.mark.parametrize("name", NAMES)
def test_masks(name, weights):
    given, counts = weighing.PER_ROW.get(weights, (None, np.ones(weighing.ROWS)))
    check(name, ROWS[name], given, weighing.ROW_MASK, counts * weighing.ROW_MASK)


@pytest.mark.parametrize("weights", weighing.PER_STEP)
@pytest.mark.parametrize("name", SEQUENCES)
def test_weights_of_sequences(name, weights):
    given, counts = weighing.PER_STEP[weights]
    check(name, STEPS[name], given, None, counts)


@pytest.mark.parametrize(("weights", "mask"), MASKED, ids=lambda value: str(np.shape(value)))
@pytest.mark.parametrize("name", SEQUENCES)
def test_masks_of_sequences(name, weights, mask):
    ones = np.ones((weighing.ROWS, weighing.STEPS))
    given, counts = weighing.PER_STEP.get(weights, (None, ones))
    steps = mask if mask.ndim == 2 else mask[:, None]
    check(name, STEPS[name], given, mask, counts * steps)


@pytest.mark.parametrize("name", NAMES)
def test_second_batches_and_resets(name):
    data, weights = ROWS[name], weighing.ROW_WEIGHTS
    metric = make(name)
    first = metric(*data, weights)
    second = metric(*data, np.ones(weighing.ROWS))
    np.testing.assert_allclose(second, truth(name, data, weights + 1), rtol=1e-5, atol=1e-6)
    metric.reset_state()
    np.testing.assert_array_equal(metric(*data, weights), first)


@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted"])
@pytest.mark.parametrize("name", ["F1Score", "FBetaScore"])
def test_scores_with_weights_of_rows_in_a_column(name, average):
    """Keras 3.15.1 lets each row meet the weight of each: 0.50 for 0.615."""
    data = ROWS["FBetaScore"]
    results = [
        getattr(metrics, name)(average=average, threshold=0.3)(*data, weights)
        for weights in (weighing.ROW_WEIGHTS, weighing.ROW_WEIGHTS[:, None])
    ]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", ["F1Score", "R2Score"])
def test_weights_of_classes_and_outputs(name):
    y_true, y_pred = ROWS["FBetaScore" if name == "F1Score" else name]
    weights = weighing.random.randint(0, 3, y_true.shape)
    arguments = {"F1Score": {"threshold": 0.3}, "R2Score": {"class_aggregation": None}}[name]
    result = getattr(metrics, name)(**arguments)(y_true, y_pred, weights)
    expected = []
    for place in range(weighing.SIZE):
        rows = (weighing.repeated(part[:, place], weights[:, place]) for part in (y_true, y_pred))
        expected += [*getattr(metrics, name)(**arguments)(*(part[:, None] for part in rows))]
    # A score is 1 minus a ratio: near 0, it has the rounding of 1.
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_weights_of_entries_count_decisions():
    y_true, y_pred = ROWS["Precision"]
    weights = weighing.random.randint(0, 3, y_true.shape)
    for metric in (metrics.Precision(), metrics.AUC(), metrics.TruePositives([0.1, 0.6])):
        result = np.asarray(metric(y_true, y_pred, weights))
        metric.reset_state()
        rows = (weighing.repeated(part, weights) for part in (y_true, y_pred))
        np.testing.assert_allclose(result, metric(*rows), rtol=1e-5)
    of_class = metrics.Precision(class_id=1)
    result = float(of_class(y_true, y_pred, weights))
    of_class.reset_state()
    assert result == pytest.approx(float(of_class(y_true, y_pred, weights[:, 1])))


def test_the_adjusted_r2_score_counts_rows():
    """Keras 3.15.1 counts rows times outputs, and rows of weight 0."""
    y_true, y_pred = ROWS["R2Score"]
    plain = float(metrics.R2Score()(y_true, y_pred))
    adjusted = float(metrics.R2Score(num_regressors=2)(y_true, y_pred))
    rows = weighing.ROWS
    assert adjusted == pytest.approx(1 - (1 - plain) * (rows - 1) / (rows - 2 - 1), rel=1e-5)


@pytest.mark.parametrize("values", [[1.0, 3.0], [[1.0, 3.0], [5.0, 7.0]]])
def test_one_weight_for_all_values_weighs_each_of_them(values):
    """In Keras a batch with a number as its weight counts once, whatever its size."""
    mean = metrics.Mean()
    mean.update_state(values, sample_weight=2.0)
    mean.update_state([[0.0]], sample_weight=2.0)
    rows = len(values)
    assert float(mean.result()) == pytest.approx(np.mean(values) * rows / (rows + 1))
    assert float(metrics.Sum()(values, sample_weight=2.0)) == 2 * np.sum(values)


@pytest.mark.parametrize("name", NAMES)
def test_missing_labels_and_predictions_of_weight_zero(name):
    y_true, y_pred = (np.array(part) for part in ROWS[name])
    weights = weighing.ROW_WEIGHTS
    if y_true.dtype.kind != "f" or y_pred.dtype.kind != "f":
        y_true = y_true.astype("float32")
    expected = np.asarray(make(name)(y_true, y_pred, weights))
    for part in (y_true, y_pred):
        if part.dtype.kind == "f":
            part[weights == 0] = np.nan
    np.testing.assert_allclose(make(name)(y_true, y_pred, weights), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "weights", [np.ones(5), np.ones((6, 2)), np.ones((6, 4, 1, 2))], ids=lambda value: value.shape
)
@pytest.mark.parametrize("name", ["MeanSquaredError", "F1Score", "AUC", "R2Score", "MeanIoU"])
def test_weights_that_do_not_fit_are_refused(name, weights):
    metric = make(name)
    with pytest.raises(ValueError, match=UNFIT):
        metric.update_state(*ROWS[name], weights)
    assert all(not np.any(variable) for variable in metric.variables)
