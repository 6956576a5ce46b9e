"""Infinite weights and targets, and NaN, give a metric one value: eagerly, in a graph and in XLA."""

import numpy as np
import pytest
import tensorflow as tf

from tests import weighing
from tests.metrics.test_weights_and_masks import NAMES, ROWS, make
from tfkit import metrics

INF, NAN = np.inf, np.nan


def in_all_ways(metric, *batches):
    """Returns the values of a metric for each batch, for each way to compute it."""
    batches = [[tf.constant(part, "float32") for part in data] for data in batches]
    metric(*batches[0])  # Its variables.

    def value(*data):
        metric.reset_state()
        metric.update_state(*data)
        return metric.result()

    ways = [value, tf.function(value), tf.function(value, jit_compile=True)]
    return np.array([[np.asarray(way(*data)) for data in batches] for way in ways])


def check(metric, data, expected):
    found = in_all_ways(metric, data)[:, 0]
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))


@pytest.mark.filterwarnings("ignore:The adjusted R2 score needs more")
@pytest.mark.parametrize("name", NAMES)
def test_a_weight_that_is_no_number_has_one_effect(name):
    weights = np.tile(weighing.ROW_WEIGHTS.astype("float32"), (3, 1))
    weights[:, 3] = INF, -INF, NAN
    eager, graph, xla = in_all_ways(make(name), *((*ROWS[name], row) for row in weights))
    np.testing.assert_allclose(graph, eager, 1e-5, 1e-6)
    np.testing.assert_allclose(xla, eager, 1e-5, 1e-6)


@pytest.mark.parametrize("prediction", [0.9, 0.1])
def test_a_mean_of_decisions_with_an_infinite_weight_is_nan(prediction):
    """XLA made 0 of infinity times a wrong decision, and the mean was 0."""
    check(metrics.BinaryAccuracy(), ([[1.0]], [[prediction]], [INF]), NAN)
    check(metrics.Mean(), ([prediction > 0.5, True], [INF, 1.0]), NAN)


@pytest.mark.parametrize("make_score", [metrics.F1Score, metrics.FBetaScore])
def test_an_infinite_target_of_a_class_that_is_not_chosen_is_missed(make_score):
    """The product of the decision and the target was NaN, and 0 in XLA."""
    data = [[INF, 1.0], [0.0, 1.0]], [[0.1, 0.9], [0.1, 0.9]]
    check(make_score(threshold=0.5), data, [0.0, np.float32(1.0)])
    chosen = [[INF, 1.0], [0.0, 1.0]], [[0.9, 0.9], [0.1, 0.9]]
    assert np.isnan(in_all_ways(make_score(threshold=0.5), chosen)[:, 0, 0]).all()


@pytest.mark.parametrize("weight", [-INF, -2.0])
def test_the_adjusted_r2_score_says_how_many_values_it_has_had(weight):
    """The number may be infinite: `int` of it was an OverflowError."""
    metric = metrics.R2Score(num_regressors=1)
    metric.update_state([[1.0], [2.0]], [[1.0], [1.5]], [weight, 1.0])
    with pytest.warns(UserWarning, match=rf"Received: {weight + 1:g} values"):
        metric.result()


def test_masked_entries_do_not_count_where_their_weight_is_nan():
    def masked():
        return weighing.masked(tf.constant([[1.0], [5.0]]), np.array([True, False]))

    metric = metrics.MeanSquaredError()
    assert float(metric([[0.0], [0.0]], masked(), [2.0, NAN])) == 1.0


@pytest.mark.parametrize("name", ["MeanIoU", "SparseTopKCategoricalAccuracy"])
def test_a_class_id_that_is_nan_is_no_class(name):
    """XLA converts NaN to 0, which is a class."""
    y_true, y_pred = ROWS[name]
    y_true = y_true.astype("float32")
    y_true[0] = NAN
    found = in_all_ways(make(name), (y_true, y_pred))[:, 0]
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), 1e-6)
