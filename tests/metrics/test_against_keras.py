"""Every metric beside Keras's: the same numbers after two batches, eagerly and compiled by XLA."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import metrics

random = np.random.RandomState(0)


def one_hot(classes, size):
    return np.eye(size, dtype="float32")[classes]


def softmax(scores):
    return (np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)).astype("float32")


def floats(*shape):
    return random.normal(size=shape).astype("float32")


CLASSES = random.randint(0, 4, size=(2, 6))
PROBABILITIES = softmax(floats(2, 6, 4))
# Each entry is two batches: targets, predictions, and weights where a case wants them.
DATA = {
    "numbers": (floats(2, 6, 3), floats(2, 6, 3)),
    "positive": (abs(floats(2, 6, 3)), abs(floats(2, 6, 3))),
    "vector": (floats(2, 6), floats(2, 6)),
    "column": (floats(2, 6), floats(2, 6, 1)),
    "ids": (random.randint(0, 2, size=(2, 6)), random.randint(0, 2, size=(2, 6))),
    "binary": (random.randint(0, 2, size=(2, 6)), random.rand(2, 6).astype("float32")),
    "binary_column": (random.randint(0, 2, size=(2, 6)), random.rand(2, 6, 1).astype("float32")),
    "edges": (np.array([[0, 1, 1, 0, 1, 1]] * 2), np.array([[0, 0, 0.25, 0.5, 1, 1]] * 2, "f")),
    "labels": (random.randint(0, 2, size=(2, 6, 4)), random.rand(2, 6, 4).astype("float32")),
    "logits": (random.randint(0, 2, size=(2, 6)), 3 * floats(2, 6)),
    "classes": (one_hot(CLASSES, 4), PROBABILITIES),
    "sequence": (
        one_hot(random.randint(0, 4, size=(2, 6, 3)), 4),
        softmax(floats(2, 6, 3, 4)),
    ),
    "sparse": (CLASSES, PROBABILITIES),
    "sparse_column": (CLASSES[..., np.newaxis], PROBABILITIES),
    "sparse_sequence": (random.randint(0, 4, size=(2, 6, 3)), softmax(floats(2, 6, 3, 4))),
    "class_ids": (CLASSES, random.randint(0, 4, size=(2, 6))),
    "out_of_range": (CLASSES - 1, random.randint(0, 6, size=(2, 6))),
    "sorted_ids": (CLASSES, np.argsort(-PROBABILITIES, axis=-1).astype("int32")),
    "signs": (np.sign(floats(2, 6, 3)), floats(2, 6, 3)),
}
WEIGHTS = {
    None: None,
    "samples": random.rand(2, 6).astype("float32"),
    "column": random.rand(2, 6, 1).astype("float32"),
    "entries": random.rand(2, 6, 3).astype("float32"),
    "labels": random.rand(2, 6, 4).astype("float32"),
    "integers": random.randint(0, 3, size=(2, 6)),
}

CASES = [
    ("Accuracy", {}, "ids", [None, "samples"]),
    ("BinaryAccuracy", {"threshold": 0.3}, "binary_column", [None, "samples", "column"]),
    ("BinaryAccuracy", {}, "labels", [None, "samples", "labels"]),
    ("CategoricalAccuracy", {}, "classes", [None, "samples"]),
    ("CategoricalAccuracy", {}, "sequence", [None, "samples", "entries"]),
    ("SparseCategoricalAccuracy", {}, "sparse", [None, "samples", "column"]),
    ("SparseCategoricalAccuracy", {}, "sparse_column", [None, "samples"]),
    ("SparseCategoricalAccuracy", {}, "sparse_sequence", [None, "samples", "entries"]),
    ("TopKCategoricalAccuracy", {"k": 2}, "classes", [None, "samples"]),
    ("TopKCategoricalAccuracy", {"k": 2}, "sequence", [None, "entries"]),
    ("SparseTopKCategoricalAccuracy", {"k": 2}, "sparse", [None, "samples"]),
    ("SparseTopKCategoricalAccuracy", {"k": 2}, "sparse_sequence", [None, "entries"]),
    ("SparseTopKCategoricalAccuracy", {"k": 2, "from_sorted_ids": True}, "sorted_ids", [None]),
    ("MeanSquaredError", {}, "numbers", [None, "samples", "column"]),
    ("MeanSquaredError", {"dtype": "float64", "name": "my mse"}, "column", [None, "samples"]),
    ("RootMeanSquaredError", {}, "numbers", [None, "samples", "entries"]),
    ("MeanAbsoluteError", {}, "numbers", [None, "samples"]),
    ("MeanAbsolutePercentageError", {}, "positive", [None, "samples"]),
    ("MeanSquaredLogarithmicError", {}, "positive", [None, "samples"]),
    ("LogCoshError", {}, "numbers", [None, "samples"]),
    ("CosineSimilarity", {}, "numbers", [None, "samples"]),
    ("CosineSimilarity", {"axis": 1}, "numbers", [None]),
    ("R2Score", {}, "numbers", [None, "samples", "entries"]),
    ("R2Score", {"class_aggregation": None}, "numbers", [None]),
    ("R2Score", {"class_aggregation": "variance_weighted_average"}, "numbers", [None, "samples"]),
    ("R2Score", {"num_regressors": 2}, "numbers", [None]),
    ("PearsonCorrelation", {}, "numbers", [None, "samples"]),
    ("PearsonCorrelation", {"axis": 0}, "numbers", [None]),
    ("ConcordanceCorrelation", {}, "numbers", [None, "samples"]),
    ("ConcordanceCorrelation", {"axis": 0}, "numbers", [None]),
    ("Hinge", {}, "signs", [None, "samples"]),
    ("SquaredHinge", {}, "labels", [None, "samples"]),
    ("CategoricalHinge", {}, "classes", [None, "samples"]),
    ("KLDivergence", {}, "classes", [None, "samples"]),
    ("Poisson", {}, "positive", [None, "samples"]),
    ("BinaryCrossentropy", {}, "labels", [None, "samples"]),
    (
        "BinaryCrossentropy",
        {"from_logits": True, "label_smoothing": 0.1},
        "labels",
        [None, "samples"],
    ),
    ("CategoricalCrossentropy", {}, "classes", [None, "samples"]),
    ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, "classes", [None]),
    ("SparseCategoricalCrossentropy", {}, "sparse", [None, "samples"]),
    ("SparseCategoricalCrossentropy", {"ignore_class": 1}, "sparse_sequence", [None, "entries"]),
    ("TruePositives", {}, "binary", [None, "samples"]),
    ("TrueNegatives", {"thresholds": [0.2, 0.7]}, "labels", [None, "samples", "labels"]),
    ("FalsePositives", {"thresholds": 0.3}, "binary_column", [None, "samples"]),
    ("FalseNegatives", {"thresholds": [0.0, 0.5, 1.0]}, "edges", [None, "samples"]),
    ("Precision", {}, "binary", [None, "samples"]),
    ("Precision", {"thresholds": [0.2, 0.7]}, "labels", [None, "labels"]),
    ("Precision", {"top_k": 2}, "labels", [None, "samples"]),
    ("Precision", {"top_k": 2, "class_id": 1, "thresholds": 0.3}, "labels", [None, "samples"]),
    ("Precision", {"thresholds": [0.0, 0.25, 0.5, 0.75, 1.0]}, "edges", [None, "samples"]),
    ("Recall", {}, "binary_column", [None, "samples"]),
    ("Recall", {"thresholds": [0.2, 0.7]}, "labels", [None, "labels"]),
    ("Recall", {"top_k": 1}, "labels", [None, "samples"]),
    ("Recall", {"class_id": 2}, "labels", [None, "samples"]),
    ("SensitivityAtSpecificity", {"specificity": 0.4}, "binary", [None, "samples"]),
    ("SensitivityAtSpecificity", {"specificity": 0.4, "num_thresholds": 1}, "binary", [None]),
    ("SpecificityAtSensitivity", {"sensitivity": 0.4}, "edges", [None, "samples"]),
    ("PrecisionAtRecall", {"recall": 0.4}, "binary", [None, "samples"]),
    (
        "RecallAtPrecision",
        {"precision": 0.5, "class_id": 1, "num_thresholds": 7},
        "labels",
        [None, "samples"],
    ),
    ("AUC", {}, "binary", [None, "samples"]),
    ("AUC", {}, "edges", [None, "samples"]),
    ("AUC", {"from_logits": True}, "logits", [None]),
    ("AUC", {"curve": "PR"}, "binary_column", [None, "samples"]),
    ("AUC", {"curve": "pr", "summation_method": "majoring", "num_thresholds": 9}, "labels", [None]),
    ("AUC", {"summation_method": "minoring", "num_thresholds": 2}, "binary", [None]),
    ("AUC", {"curve": "PRGAIN"}, "binary", [None, "samples"]),
    ("AUC", {"thresholds": [0.7, 0.1, 0.4]}, "labels", [None, "samples"]),
    ("AUC", {"label_weights": [0.1, 0.2, 0.3, 0.4]}, "labels", [None, "samples"]),
    ("AUC", {"multi_label": True}, "labels", [None, "samples", "labels"]),
    ("AUC", {"multi_label": True, "thresholds": [0.1, 0.4]}, "labels", [None, "samples"]),
    (
        "AUC",
        {"multi_label": True, "num_labels": 4, "label_weights": [1, 2, 3, 4], "curve": "PR"},
        "labels",
        [None, "samples"],
    ),
    ("F1Score", {}, "classes", [None, "samples"]),
    ("F1Score", {"average": "micro", "threshold": 0.3}, "labels", [None, "samples"]),
    ("FBetaScore", {"average": "macro", "beta": 2.0}, "classes", [None]),
    ("FBetaScore", {"average": "weighted", "beta": 0.5, "threshold": 0.3}, "labels", ["samples"]),
    ("IoU", {"num_classes": 4, "target_class_ids": [0, 3]}, "class_ids", [None, "integers"]),
    ("IoU", {"num_classes": 4, "target_class_ids": [1, 2]}, "out_of_range", [None]),
    ("BinaryIoU", {"threshold": 0.3}, "binary", [None, "integers"]),
    ("MeanIoU", {"num_classes": 4, "ignore_class": 2}, "class_ids", [None, "integers"]),
    ("MeanIoU", {"num_classes": 4, "dtype": "float32"}, "class_ids", ["samples"]),
    ("MeanIoU", {"num_classes": 4, "sparse_y_pred": False}, "sparse", [None]),
    ("OneHotIoU", {"num_classes": 4, "target_class_ids": [0, 1]}, "classes", [None, "integers"]),
    ("OneHotMeanIoU", {"num_classes": 4}, "sequence", [None]),
]
IDS = [f"{name}-{data}-{i}" for i, (name, _, data, _) in enumerate(CASES)]


def tensors(data, weights, batch):
    arrays = [*(part[batch] for part in DATA[data])]
    if WEIGHTS[weights] is not None:
        arrays.append(WEIGHTS[weights][batch])
    return [tf.constant(array) for array in arrays]


@pytest.mark.parametrize(("name", "arguments", "data", "weights"), CASES, ids=IDS)
def test_two_batches_give_the_numbers_of_keras(name, arguments, data, weights):
    number = CASES.index((name, arguments, data, weights))
    with_xla = weights[number % len(weights)]  # To compile takes longer than all the rest.
    for weight in weights:
        oracle = getattr(keras.metrics, name)(**arguments)
        eager = getattr(metrics, name)(**arguments)
        compiled = getattr(metrics, name)(**arguments)

        def update(*arrays, metric=compiled):
            metric.update_state(*arrays)
            return metric.result()

        if weight == with_xla:
            update = tf.function(update, jit_compile=True)
        for batch in range(2):
            arrays = tensors(data, weight, batch)
            oracle.update_state(*arrays)
            from_eager, from_compiled = eager(*arrays), update(*arrays)
        expected = np.asarray(oracle.result())
        # Keras 3.15.1 counts outputs as samples, and without weights an ignored class as a loss of 0:
        # `test_weights_and_masks.py` has what is right.
        ignores = name == "SparseCategoricalCrossentropy" and "ignore_class" in arguments
        if "num_regressors" in arguments or (ignores and weight is None):
            assert abs(float(from_eager) - expected) > 1e-3
            expected = from_eager
        # AUC and MAPE sum up to hundreds of terms in another order.
        np.testing.assert_allclose(from_eager, expected, rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(from_compiled, expected, rtol=2e-5, atol=1e-6)
        assert from_eager.shape == expected.shape
        assert eager.name.rstrip("_0123456789") == oracle.name.rstrip("_0123456789")
        assert eager.dtype == oracle.dtype
        assert [v.shape for v in eager.variables] == [v.shape for v in oracle.variables]
        assert getattr(oracle, "_direction", None) == eager._direction


@pytest.mark.parametrize(("name", "arguments", "data", "weights"), CASES, ids=IDS)
def test_reset_and_configuration(name, arguments, data, weights):
    metric = getattr(metrics, name)(**arguments)
    arrays = tensors(data, weights[0], 0)
    first = np.asarray(metric(*arrays))
    metric.update_state(*tensors(data, weights[0], 1))
    metric.reset_state()
    assert all(not np.any(variable) for variable in metric.variables)
    np.testing.assert_array_equal(metric(*arrays), first)

    config = metrics.serialize(metric)
    theirs = keras.metrics.serialize(getattr(keras.metrics, name)(**arguments))
    assert set(theirs["config"]) <= set(config["config"])
    copy = metrics.deserialize(config)
    assert type(copy) is type(metric)
    assert copy.get_config() == metric.get_config()
    np.testing.assert_array_equal(copy(*arrays), first)
    # A configuration that Keras reads, and one that Keras wrote.
    assert keras.metrics.deserialize(config).dtype == metric.dtype
    if name != "AUC" or "label_weights" not in arguments:
        np.testing.assert_array_equal(metrics.deserialize(theirs)(*arrays), first)


@pytest.mark.parametrize(("name", "arguments", "data", "weights"), CASES, ids=IDS)
def test_batches_of_unknown_size(name, arguments, data, weights):
    metric = getattr(metrics, name)(**arguments)
    arrays = tensors(data, weights[-1], 0)
    specification = [tf.TensorSpec([None, *array.shape[1:]], array.dtype) for array in arrays]

    @tf.function(input_signature=specification)
    def update(*arrays):
        metric.update_state(*arrays)
        return metric.result()

    expected = getattr(metrics, name)(**arguments)(*arrays)
    np.testing.assert_allclose(update(*arrays), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_arguments_are_those_of_keras(name):
    ours = inspect.signature(getattr(metrics, name)).parameters
    theirs = inspect.signature(getattr(keras.metrics, name)).parameters
    assert [(p.name, p.default) for p in ours.values()] == [
        (p.name, p.default) for p in theirs.values()
    ]


def test_no_metric_is_missing_from_the_table():
    public = {
        name
        for name, item in inspect.getmembers(metrics)
        if isinstance(item, type) and issubclass(item, metrics.Metric)
    }
    tested_elsewhere = {"Metric", "Mean", "Sum", "MeanMetricWrapper"}
    assert public - tested_elsewhere == {case[0] for case in CASES}


def test_public_names_are_those_of_keras():
    theirs = {name for name in dir(keras.metrics) if not name.startswith("_")}
    assert theirs <= set(dir(metrics))
