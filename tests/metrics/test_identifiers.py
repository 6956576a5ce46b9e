"""Metrics by name, and what `compile(metrics=...)` makes of a name."""

import keras
import pytest
import tensorflow as tf
from keras.src.metrics import ALL_OBJECTS_DICT
from keras.src.trainers.compile_utils import get_metric

from tfkit import metrics
from tfkit.src.metrics.resolve import metric_for

NEED_ARGUMENTS = {
    "IoU",
    "MeanIoU",
    "MeanMetricWrapper",
    "OneHotIoU",
    "OneHotMeanIoU",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
}


@pytest.mark.parametrize("name", sorted(ALL_OBJECTS_DICT))
def test_names_mean_the_classes_of_keras(name):
    expected = ALL_OBJECTS_DICT[name]
    if expected.__name__ in NEED_ARGUMENTS:
        with pytest.raises(TypeError, match=expected.__name__):
            metrics.get(name)
    else:
        assert type(metrics.get(name)).__name__ == expected.__name__


def test_other_identifiers():
    metric = metrics.AUC()
    assert metrics.get(None) is None
    assert metrics.get(metric) is metric
    assert metrics.get(metrics.binary_accuracy) is metrics.binary_accuracy
    assert type(metrics.get(metrics.AUC)) is metrics.AUC
    config = {"class_name": "CategoricalCrossentropy", "config": {"from_logits": True}}
    assert metrics.get(config).from_logits is True


@pytest.mark.parametrize("identifier", ["no_such_metric", 3])
def test_unknown_identifiers(identifier):
    with pytest.raises(ValueError, match=str(identifier)):
        metrics.get(identifier)


SHAPES = [
    ((8, 1), (8, 1)),
    ((8,), (8, 1)),
    ((8,), (8, 5)),
    ((8, 1), (8, 5)),
    ((8, 5), (8, 5)),
    ((8, 3), (8, 3, 5)),
    ((8, 3, 5), (8, 3, 5)),
]


def custom(y_true, y_pred):
    return tf.reduce_mean(y_true - y_pred, axis=-1)


@pytest.mark.parametrize(("true_shape", "pred_shape"), SHAPES)
@pytest.mark.parametrize("identifier", ["accuracy", "acc", "Accuracy", "mse", "AUC", custom])
def test_compile_identifiers_mean_what_they_mean_in_keras(identifier, true_shape, pred_shape):
    y_true, y_pred = tf.zeros(true_shape), tf.zeros(pred_shape)
    theirs = get_metric(identifier, y_true, y_pred)
    for data in ((y_true, y_pred), (true_shape, pred_shape), (y_true.shape, y_pred.shape)):
        ours = metric_for(identifier, *data)
        assert type(ours).__name__ == type(theirs).__name__
        if identifier is not custom:
            assert ours.name == theirs.name


def test_names_of_metrics_in_logs():
    assert metric_for(custom, (8,), (8,)).name == "custom"
    assert metric_for(metrics.AUC(name="area"), (8,), (8,)).name == "area"
    assert metric_for("mse", (8,), (8,), name="error").name == "error"
    with pytest.raises(ValueError, match="None"):
        metric_for(None, (8,), (8,))


def test_accuracy_of_a_batch_of_unknown_size():
    assert isinstance(metric_for("accuracy", (None,), (None, 5)), metrics.SparseCategoricalAccuracy)


# --- Wrong arguments ----------------------------------------------------------------------------

WRONG = [
    ("AUC", {"curve": "ROCK"}),
    ("AUC", {"summation_method": "median"}),
    ("AUC", {"num_thresholds": 1}),
    ("AUC", {"num_labels": 3}),
    ("Precision", {"thresholds": [0.1, 1.5]}),
    ("Recall", {"thresholds": -0.1}),
    ("TruePositives", {"thresholds": [None]}),
    ("SensitivityAtSpecificity", {"specificity": 1.1}),
    ("SpecificityAtSensitivity", {"sensitivity": -0.1}),
    ("PrecisionAtRecall", {"recall": 2}),
    ("RecallAtPrecision", {"precision": 0.5, "num_thresholds": 0}),
    ("FBetaScore", {"average": "median"}),
    ("FBetaScore", {"beta": 1}),
    ("FBetaScore", {"beta": -1.0}),
    ("FBetaScore", {"beta": 0.0}),
    ("F1Score", {"threshold": 1}),
    ("F1Score", {"threshold": 1.5}),
    ("R2Score", {"class_aggregation": "median"}),
    ("R2Score", {"num_regressors": -1}),
    ("IoU", {"num_classes": 2, "target_class_ids": [2]}),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG)
def test_wrong_arguments_are_refused_as_in_keras(name, arguments):
    with pytest.raises(ValueError):  # noqa: PT011
        getattr(keras.metrics, name)(**arguments)
    with pytest.raises(ValueError, match=r"must|Expected|requires"):
        getattr(metrics, name)(**arguments)


WRONG_DATA = [
    ("F1Score", {}, (8,), (8,), "samples, classes"),
    ("R2Score", {}, (8, 2, 2), (8, 2, 2), "samples, outputs"),
    ("AUC", {"multi_label": True}, (8,), (8,), "samples, labels"),
    ("AUC", {}, (8, 2), (8, 3), "must have the same shape"),
    ("Precision", {"class_id": 1}, (8,), (8,), "`class_id` needs"),
]


@pytest.mark.parametrize(("name", "arguments", "true_shape", "pred_shape", "message"), WRONG_DATA)
def test_wrong_data_are_refused(name, arguments, true_shape, pred_shape, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(**arguments).update_state(tf.zeros(true_shape), tf.zeros(pred_shape))


def test_float_weights_for_integer_counts_are_warned_about():
    with pytest.warns(UserWarning, match="rounded towards zero"):
        metrics.MeanIoU(num_classes=2).update_state([0, 1], [0, 1], tf.constant([0.5, 1.0]))


def test_adjusted_r2_of_too_few_values_warns_and_gives_the_plain_score():
    metric, plain = metrics.R2Score(num_regressors=5), metrics.R2Score()
    for each in (metric, plain):
        each.update_state([[1.0], [4.0], [3.0]], [[2.0], [4.0], [4.0]])
    with pytest.warns(UserWarning, match="needs more than 6 values"):
        assert float(metric.result()) == float(plain.result())


# --- Where tfkit differs from Keras on purpose --------------------------------------------------


def test_large_class_indices_in_float16():
    """Keras compares class indices in the dtype of the predictions: 2049 is 2048 in float16."""
    y_true = tf.constant([2049])
    y_pred = tf.one_hot([2048], 3000, dtype="float16")
    assert float(metrics.SparseCategoricalAccuracy()(y_true, y_pred)) == 0.0
    assert float(keras.metrics.SparseCategoricalAccuracy()(y_true, y_pred)) == 1.0


def test_cosine_similarity_keeps_its_axis():
    """Keras leaves the axis out of the configuration."""
    assert metrics.CosineSimilarity(axis=1).get_config()["axis"] == 1
    assert "axis" not in keras.metrics.CosineSimilarity(axis=1).get_config()


def test_iou_of_classes_on_the_first_axis():
    """Keras sums the finished scores along the axis of the classes, and fails for axis 1."""
    y_true, y_pred = tf.one_hot([[0, 1, 2]], 3, axis=1), tf.one_hot([[0, 1, 1]], 3, axis=1)
    ours = metrics.OneHotMeanIoU(num_classes=3, axis=1)(y_true, y_pred)
    expected = metrics.MeanIoU(num_classes=3)([0, 1, 2], [0, 1, 1])
    assert float(ours) == float(expected)
