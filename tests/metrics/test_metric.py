"""The base class: state, tracking, compiled use, the stateless functions; sums and means; masks."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import losses, metrics
from tfkit.src.metrics import confusion

random = np.random.RandomState(0)


class Biggest(metrics.Metric):
    """Written as a user would, with everything that holds state."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.second = self.add_weight(name="second", initializer="ones")
        self.first = self.add_variable([2], "zeros", dtype="int32", name="first")
        self.inner = [metrics.Sum()]
        self.direct = tf.Variable(0.0, trainable=False)
        self.by_key = {"mean": metrics.Mean()}
        self.inner.append(metrics.Sum())

    def update_state(self, values):
        self.second.assign(tf.maximum(self.second, tf.reduce_max(values)))
        for metric in self.inner:
            metric.update_state(values)

    def result(self):
        return {"biggest": self.second, "sum": self.inner[0].result()}


def test_variables_come_in_order_of_creation_own_ones_first():
    metric = Biggest()
    assert [variable.name.partition(":")[0] for variable in metric.variables] == [
        "second",
        "first",
        "Variable",
        "total",
        "total",
        "total",
        "count",
    ]
    assert metric.variables[1].dtype == tf.int32
    assert not any(variable.trainable for variable in metric.variables)


def test_dict_results_and_reset():
    metric = Biggest()
    result = metric(tf.constant([2.0, 3.0]))
    assert {key: float(value) for key, value in result.items()} == {"biggest": 3.0, "sum": 5.0}
    metric.reset_state()
    assert all(not np.any(variable) for variable in metric.variables)


@pytest.mark.parametrize("name", ["my metric/é", None])
def test_names_need_not_be_identifiers(name):
    metric = Biggest(name=name)
    assert metric.name == name or metric.name.startswith("biggest")
    assert repr(metric) == f"<Biggest name={metric.name}>"
    metric.name = "other"
    assert metric.get_config() == {"name": "other", "dtype": "float32"}


@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_float16", tf.float64, None])
def test_dtypes_are_those_of_keras(dtype):
    theirs = keras.metrics.Mean(dtype=dtype.name if isinstance(dtype, tf.DType) else dtype)
    ours = metrics.Mean(dtype=dtype)
    assert ours.dtype == theirs.dtype
    assert ours(np.ones(3)).dtype.name == ours.dtype


def test_a_metric_can_be_made_inside_a_compiled_function():
    made = []

    @tf.function(jit_compile=True)
    def first_step(values):
        if not made:
            made.append(metrics.AUC(multi_label=True))
        made[0].update_state(values > 0.5, values)
        return made[0].result()

    values = tf.constant(random.rand(8, 3), tf.float32)
    assert float(first_step(values)) == pytest.approx(1.0)
    assert float(made[0].true_positives[0, 0]) == np.sum(values[:, 0] > 0.5)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_updates_inside_a_loop(jit_compile):
    values = random.rand(10, 8).astype("float32")
    targets = (random.rand(10, 8) > 0.5).astype("float32")
    looped = [metrics.AUC(), metrics.Precision(), metrics.MeanSquaredError(), metrics.MeanIoU(2)]
    stepped = [metrics.AUC(), metrics.Precision(), metrics.MeanSquaredError(), metrics.MeanIoU(2)]

    @tf.function(jit_compile=jit_compile, autograph=False)
    def all_steps(targets, values):
        def body(step):
            for metric in looped:
                metric.update_state(targets[step], values[step])
            return [step + 1]

        tf.while_loop(lambda step: step < 10, body, [tf.constant(0)])
        return [metric.result() for metric in looped]

    results = all_steps(targets, values)
    for metric, result in zip(stepped, results, strict=True):
        for step in range(10):
            metric.update_state(targets[step], values[step])
        np.testing.assert_allclose(result, metric.result(), rtol=1e-6)


def test_an_update_traces_once_for_one_shape():
    traces = []
    metric = metrics.Recall()

    @tf.function
    def update(y_true, y_pred):
        traces.append(1)
        metric.update_state(y_true, y_pred)

    for _ in range(3):
        update(tf.ones(4), tf.ones(4))
    assert len(traces) == 1


def test_checkpoints_hold_the_state(tmp_path):
    metric, other = metrics.Precision(thresholds=[0.2, 0.6]), metrics.Precision([0.2, 0.6])
    metric.update_state([0, 1, 1], [0.3, 0.9, 0.1])
    path = tf.train.Checkpoint(metric=metric).save(str(tmp_path / "metric"))
    tf.train.Checkpoint(metric=other).restore(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(other.result(), metric.result())


# --- Stateless functions ------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_stateless_functions_leave_the_state_alone(compiled):
    def steps(y_true, y_pred):
        state = metric.stateless_reset_state()
        state = metric.stateless_update_state(state, y_true, y_pred)
        state = metric.stateless_update_state(state, y_true, y_true)
        return state, metric.stateless_result(state)

    metric = metrics.MeanSquaredError()
    metric.update_state([[1.0]], [[4.0]])
    run = tf.function(steps, jit_compile=True) if compiled else steps
    state, result = run(tf.constant([[1.0]]), tf.constant([[3.0]]))
    assert [float(value) for value in state] == [4.0, 2.0]
    assert float(result) == 2.0
    assert float(metric.result()) == 9.0


def test_stateless_functions_restore_the_state_after_an_error():
    metric = metrics.Mean()
    metric.update_state([3.0])
    with pytest.raises(ValueError, match=r"Expected 2 values\. Received: 1 values"):
        metric.stateless_result([0.0])
    with pytest.raises(TypeError):
        metric.stateless_update_state([0.0, 0.0], no_such_argument=1)
    assert float(metric.result()) == 3.0


# --- Sums, means, functions, masks --------------------------------------------------------------

VALUES = [
    ([1.0, 3.0, 5.0, 7.0], None),
    ([1, 3, 5, 7], [1, 1, 0, 0]),
    (4.0, None),
    (4.0, 0.5),
    (np.arange(24.0).reshape(4, 3, 2), None),
    (np.arange(24.0).reshape(4, 3, 2), [0.1, 0.2, 0.3, 0.4]),
    (np.arange(24.0).reshape(4, 3, 2), np.arange(12.0).reshape(4, 3)),
    (np.arange(12.0).reshape(4, 3), np.arange(4.0).reshape(4, 1)),
    (np.arange(12.0).reshape(4, 3, 1), np.arange(12.0).reshape(4, 3)),
    ([1.0, 2.0], [0.0, 0.0]),
]


@pytest.mark.parametrize("name", ["Sum", "Mean"])
@pytest.mark.parametrize(("values", "weights"), VALUES)
def test_sums_and_means(name, values, weights):
    ours, theirs = getattr(metrics, name)(), getattr(keras.metrics, name)()
    for _ in range(2):
        ours.update_state(values, weights)
        theirs.update_state(values, weights)
    np.testing.assert_allclose(ours.result(), theirs.result(), rtol=1e-6)
    assert metrics.deserialize(metrics.serialize(ours)).get_config() == theirs.get_config()


def test_a_mean_before_the_first_value_is_zero():
    assert float(metrics.Mean().result()) == 0.0


MASKED = [
    ("MeanSquaredError", random.rand(4, 3, 2), random.rand(4, 3, 2)),
    ("SparseCategoricalCrossentropy", random.randint(0, 2, size=(4, 3)), random.rand(4, 3, 2)),
    ("BinaryCrossentropy", random.randint(0, 2, (4, 3, 2)), random.rand(4, 3, 2)),
]


def test_weights_of_samples_and_a_mask_of_their_steps():
    y_true = np.array([[0, 1, 1], [1, 1, 0]])
    predictions = tf.one_hot([[0, 1, 0], [1, 0, 0]], 2)
    predictions._keras_mask = tf.constant([[True, True, True], [True, True, False]])
    metric = metrics.SparseCategoricalAccuracy()
    metric.update_state(y_true, predictions, sample_weight=[1.0, 3.0])
    assert float(metric.result()) == pytest.approx((1 + 1 + 3) / (3 * 1 + 2 * 3))


@pytest.mark.parametrize(("name", "y_true", "y_pred"), MASKED)
@pytest.mark.parametrize("weights", [None, random.rand(4), random.rand(4, 3)])
def test_masked_entries_do_not_count(name, y_true, y_pred, weights):
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1]], bool)
    if weights is not None and weights.ndim == 1:
        mask, y_true, y_pred = mask[:, 0], y_true[:, 0], y_pred[:, 0]

    def result_of(library, y_pred):
        predictions = tf.constant(y_pred, tf.float32)
        predictions._keras_mask = tf.constant(mask)
        metric = getattr(library, name)()
        metric.update_state(tf.constant(y_true), predictions, weights)
        return float(metric.result())

    result = result_of(metrics, y_pred)
    assert result == pytest.approx(result_of(keras.metrics, y_pred), rel=1e-5)
    changed = np.where(mask[..., np.newaxis], y_pred, 0.99 * y_pred)
    assert result == result_of(metrics, changed)


def scaled_error(y_true, y_pred, scale=1.0):
    return scale * tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)


def test_a_function_as_a_metric():
    ours = metrics.MeanMetricWrapper(scaled_error, name="scaled", scale=3.0)
    theirs = keras.metrics.MeanMetricWrapper(scaled_error, name="scaled", scale=3.0)
    arguments = tf.ones((4, 2)), 3 * tf.ones((4, 2)), tf.constant([0.1, 0.2, 0.3, 0.4])
    assert float(ours(*arguments)) == pytest.approx(float(theirs(*arguments)))


@pytest.mark.parametrize(
    "function", [metrics.binary_accuracy, metrics.mean_squared_error, metrics.binary_crossentropy]
)
def test_a_metric_of_a_function_comes_back_with_that_function(function):
    config = metrics.serialize(metrics.MeanMetricWrapper(function, name="wrapped"))
    assert config["config"]["fn"] == metrics.serialize(function)
    copy = metrics.deserialize(config)
    assert copy._fn is function
    assert copy.name == "wrapped"
    assert metrics.deserialize(metrics.serialize(function)) is function


@pytest.mark.parametrize(
    ("function", "direction"),
    [
        (losses.mean_squared_error, "down"),
        (losses.MeanSquaredError(), "down"),
        (metrics.binary_accuracy, None),
        (scaled_error, None),
    ],
)
def test_losses_as_metrics_are_better_when_smaller(function, direction):
    assert metrics.MeanMetricWrapper(function)._direction == direction


# --- Errors -------------------------------------------------------------------------------------


def test_a_subclass_that_forgets_the_base_class_is_told():
    class Forgetful(metrics.Metric):
        def __init__(self):
            self.state = self.add_weight()

    with pytest.raises(RuntimeError, match=r"super\(\).__init__\(\)"):
        Forgetful()


def test_a_subclass_must_define_both_methods():
    metric = metrics.Metric()
    with pytest.raises(NotImplementedError, match="update_state"):
        metric.update_state()
    with pytest.raises(NotImplementedError, match="result"):
        metric.result()


def test_unknown_aggregation():
    with pytest.raises(ValueError, match="Received: 'median'"):
        metrics.Metric().add_variable((), "zeros", aggregation="median")


def test_names_and_paths_of_variables_equal_keras():
    for name in ("Mean", "AUC", "MeanSquaredError", "R2Score"):
        ours, theirs = getattr(metrics, name)(name="m"), getattr(keras.metrics, name)(name="m")
        found = [(variable.name, variable.path) for variable in ours.variables]
        assert found == [(variable.name, variable.path) for variable in theirs.variables]


def test_values_of_other_dtypes_are_lent_and_assigned_as_keras_does():
    class Counter(metrics.Metric):
        def __init__(self):
            super().__init__()
            self.count = self.add_weight(dtype="int32", name="count")

        def update_state(self, values):
            self.count.assign(self.count + tf.cast(tf.size(values), "int64"))
            self.count.assign_add(1.0)

        def result(self):
            return self.count

    assert int(Counter().stateless_result([tf.constant(3.0)])) == 3
    assert int(Counter()(tf.zeros(5))) == 6


def test_a_score_chooses_no_class_where_all_predictions_are_0():
    y_true = np.array([[1, 0], [1, 0], [1, 0], [0, 1]])
    y_pred = np.array([[1e-7, 0], [0, 0], [2e-9, 1e-10], [1e-10, 0]])
    scores = [module.F1Score(average="micro") for module in (metrics, keras.metrics)]
    for score in scores:
        score.update_state(y_true, y_pred)
    assert int(scores[0].true_positives) == 2
    np.testing.assert_allclose(*(score.result() for score in scores), rtol=1e-6)


def test_classes_of_little_weight_occur():
    weights = np.array([1e-7, 1e-7, 1e-10, 0.0])
    scores = [module.MeanIoU(4, dtype="float32") for module in (metrics, keras.metrics)]
    for score in scores:
        score.update_state([0, 1, 2, 3], [0, 0, 1, 3], sample_weight=weights)
    expected = float(scores[1].result())
    assert 0 < expected < 1
    np.testing.assert_allclose(float(scores[0].result()), expected, rtol=1e-6)


@pytest.mark.parametrize("num_thresholds", [2, 3, 200])
def test_even_thresholds_are_counted_in_buckets(num_thresholds):
    """Otherwise each prediction is compared with each threshold, which gives the same, slowly."""
    metric = metrics.AUC(num_thresholds)
    assert confusion.evenly_spaced(metric._thresholds)
    uneven = metrics.AUC(thresholds=[0.1, 0.2, 0.5])
    assert not confusion.evenly_spaced(uneven._thresholds)


def test_confusion_matrix_of_another_integer_type():
    metric = metrics.MeanIoU(2)
    metric.total_cm = metric.add_variable((2, 2), "zeros", dtype="int32", name="narrow")
    metric.update_state([0, 1, 1], [0, 1, 0])
    assert metric.total_cm.numpy().tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32"])
def test_classes_of_any_dtype_are_counted_in_an_iou(dtype):
    y, y_pred = np.array([0, 1, 1], dtype), np.array([0, 1, 0], dtype)
    for package in (metrics, keras.metrics):
        mean = package.MeanIoU(num_classes=2)
        mean.update_state(y, y_pred)
        first = package.IoU(2, [0], dtype="int64")
        first.update_state(y, y_pred)
        np.testing.assert_allclose([mean.result(), first.result()], [0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_a_function_that_takes_the_mean_itself_is_a_metric_of_masked_outputs(masked):
    def mean_difference(y_true, y_pred):
        return tf.reduce_mean(tf.abs(y_true - y_pred))

    y_true, y_pred = (
        tf.zeros((2, 3, 1)),
        tf.constant([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]),
    )
    if masked:
        y_pred._keras_mask = tf.constant([[True, False, False], [True, True, False]])
    metric = metrics.MeanMetricWrapper(mean_difference)
    metric.update_state(y_true, y_pred)
    assert float(metric.result()) == 3.5
    with pytest.raises(
        ValueError, match=r"values of shape \(\), weights of shape \(2,\).*for each sample"
    ):
        metric.update_state(y_true, y_pred, sample_weight=[1.0, 2.0])
    assert float(metric.result()) == 3.5
