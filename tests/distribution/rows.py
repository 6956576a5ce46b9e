"""Features of `features.py` about the rows of a batch: what replicas compute together, or refuse."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tests.distribution.features import CLASSES, PLAIN, X, assert_equal, feature
from tfkit import layers, ops

TARGETS = X.sum(axis=1, keepdims=True)


class States(layers.Layer):
    """States of a layer that are assigned in all ways of which one device's value is known."""

    def __init__(self):
        super().__init__()
        zeros = {"initializer": "zeros", "trainable": False}
        self.total = self.add_weight(shape=(4,), **zeros)
        self.calls = self.add_weight(shape=(), dtype="int32", **zeros)
        self.steps = self.add_weight(shape=(), **zeros)
        self.rows = self.add_weight(shape=(), dtype="int32", **zeros)
        self.average = self.add_weight(shape=(4,), **zeros)
        self.last = self.add_weight(shape=(), **zeros)
        self.biggest = self.add_weight(shape=(4,), **zeros)
        self.was_positive = self.add_weight(
            shape=(), dtype="bool", initializer="zeros", trainable=False
        )

    def call(self, x):
        self.total.assign_add(ops.sum(x, axis=0))
        self.calls.assign_add(1)
        self.steps.assign(self.steps + 1)
        self.rows.assign_add(ops.shape(x)[0])
        self.average.assign(0.9 * self.average + 0.1 * ops.mean(x, axis=0))
        self.last.assign(1 + 2 * ops.sum(x))
        self.biggest.assign(ops.maximum(self.biggest, ops.max(x, axis=0)))
        self.was_positive.assign(ops.any(x > 2))
        self.add_loss(0.1 * ops.sum(x**2))
        self.add_loss(0.1 * ops.mean(x**2, axis=-1))
        return x


class Codebook(layers.Layer):
    """A VQ-VAE's codebook, which moving averages of the codes' rows make."""

    def __init__(self):
        super().__init__()
        self.codes = self.add_weight(shape=(4, 3), initializer="normal", trainable=False)
        self.size = self.add_weight(shape=(3,), initializer="ones", trainable=False)
        self.sums = self.add_weight(shape=(4, 3), initializer="normal", trainable=False)

    def call(self, x, training=False):
        distance = ops.sum(self.codes**2, axis=0, keepdims=True) - 2 * ops.matmul(x, self.codes)
        chosen = ops.one_hot(ops.argmin(distance, axis=1), 3)
        quantized = ops.matmul(chosen, ops.transpose(self.codes))
        if training:
            self.size.assign(self.size * 0.9 + 0.1 * ops.sum(chosen, axis=0))
            self.sums.assign(self.sums * 0.9 + 0.1 * ops.matmul(ops.transpose(x), chosen))
            total = ops.sum(self.size)
            self.codes.assign(self.sums / ((self.size + 1e-5) / (total + 3e-5) * total))
        self.add_loss(0.25 * ops.mean((ops.stop_gradient(quantized) - x) ** 2))
        return x + ops.stop_gradient(quantized - x)


class Biggest(keras.metrics.Metric):
    """The largest error."""

    def __init__(self):
        super().__init__(name="biggest")
        self.biggest = self.add_weight()

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.biggest.assign(ops.maximum(self.biggest, ops.max(ops.abs(y_true - y_pred))))

    def result(self):
        return self.biggest


class MeanOfBatches(keras.metrics.Metric):
    """The mean over batches of their mean errors."""

    def __init__(self):
        super().__init__(name="mean_of_batches")
        self.total, self.count = self.add_weight(), self.add_weight(dtype="int32")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(ops.mean(ops.abs(y_true - y_pred)))
        self.count.assign_add(1)

    def result(self):
        return self.total / ops.cast(self.count, "float32")


class MeanOfRows(keras.metrics.Metric):
    """The mean over all rows, whose sums are assigned and not added."""

    def __init__(self):
        super().__init__(name="mean_of_rows")
        self.total, self.count = self.add_weight(), self.add_weight()

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign(self.total + ops.sum(ops.abs(y_true - y_pred)))
        self.count.assign(self.count + ops.cast(ops.size(y_true), "float32"))

    def result(self):
        return self.total / self.count


def fitted_in(scope, make, loss="mse", metrics=()):
    keras.utils.set_random_seed(3)
    with scope:
        model = make()
        model.compile(keras.optimizers.SGD(0.01), loss, metrics=[it() for it in metrics])
    return model, model.fit(X, TARGETS, 5, epochs=2, shuffle=False, verbose=0).history


def model_of(*made):
    return lambda: keras.Sequential(
        [keras.Input((4,)), *[make() for make in made], layers.Dense(1)]
    )


class OwnStep(keras.Model):
    """A step with a loss of the user's own."""

    def __init__(self, loss):
        super().__init__()
        self.dense, self.own_loss = layers.Dense(1), loss
        self.build((None, 4))

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.own_loss(y, self(x), self.dense.kernel)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


STEPS = {
    "mean": lambda y, p, kernel: ops.mean((y - p) ** 2),
    "sum": lambda y, p, kernel: ops.sum((y - p) ** 2),
    "sum and penalty": lambda y, p, kernel: ops.sum((y - p) ** 2) + ops.sum(kernel**2),
}


class GuidesStep(OwnStep):
    """A step whose logs are the results of all metrics, those of `compile` in one dict."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x)
            loss = self.own_loss(y, predicted, self.dense.kernel)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        for metric in self.metrics:
            metric.update_state(*((loss,) if metric.name == "loss" else (y, predicted)))
        return {metric.name: metric.result() for metric in self.metrics}


@feature
def states_losses_and_metrics_are_those_of_the_whole_batch(strategy, folder):
    metrics = (Biggest, MeanOfBatches, MeanOfRows)
    cases = {
        "states": (model_of(States), "mse"),
        "codebook": (model_of(Codebook), "mse"),
        "losses of rows": (model_of(), keras.losses.MeanSquaredError(reduction=None)),
        "sum": (model_of(), lambda y, p: ops.sum((y - p) ** 2)),
    }
    for name, (make, loss) in cases.items():
        (plain, expected), (model, history) = (
            fitted_in(scope, make, loss, metrics) for scope in (PLAIN, strategy.scope())
        )
        assert_equal(model, plain)
        for key, values in expected.items():
            np.testing.assert_allclose(history[key], values, rtol=1e-5, err_msg=name)
    for kind, name in [*itertools.product([OwnStep], STEPS), (GuidesStep, "mean")]:
        loss = STEPS[name]
        (plain, expected), (model, history) = (
            fitted_in(
                scope,
                lambda kind=kind, loss=loss: kind(loss),
                "mse",
                [keras.metrics.MeanAbsoluteError],
            )
            for scope in (PLAIN, strategy.scope())
        )
        assert_equal(model, plain)
        for key, values in expected.items():
            np.testing.assert_allclose(history[key], values, rtol=1e-5, err_msg=name)


class Deviation(layers.Layer):
    """A state of which replicas do not know the value of the whole batch."""

    def __init__(self, aggregation="none"):
        super().__init__()
        self.deviation = self.add_weight(
            shape=(4,), initializer="zeros", trainable=False, aggregation=aggregation
        )

    def call(self, x):
        self.deviation.assign(ops.std(x, axis=0))
        return x


@feature
def an_aggregation_says_what_is_assigned(strategy, folder):
    replicas = strategy.num_replicas_in_sync
    ends = [5 * index // replicas for index in range(replicas + 1)]
    parts = [X[start:end] for start, end in itertools.pairwise(ends)]
    values = [part.std(axis=0) for part in parts]
    shares = [len(part) / 5 for part in parts]
    expected = {
        "mean": sum(value * share for value, share in zip(values, shares, strict=True)),
        "sum": sum(values),
        "only_first_replica": values[0],
    }
    for aggregation, value in expected.items():
        with strategy.scope():
            model = model_of(lambda aggregation=aggregation: Deviation(aggregation))()
            model.compile("sgd", "mse")
        model.train_on_batch(X[:5], TARGETS[:5])
        np.testing.assert_allclose(model.layers[0].deviation.numpy(), value, rtol=1e-5)
    with strategy.scope():
        model = model_of(Deviation)()
        model.compile("sgd", "mse")
    message = "'deviation.*/variable' would get .*by `Mean` of .*rows.py, line .*aggregation="
    with pytest.raises(ValueError, match=message):
        model.train_on_batch(X[:5], TARGETS[:5])
    assert not model.layers[0].deviation.numpy().any()


def passed(function):
    return lambda: layers.Lambda(function)


MEETING = {
    "centered": (model_of(passed(lambda x: x - ops.mean(x, axis=0))), "mse"),
    "flipped": (model_of(passed(lambda x: ops.flip(x, 0))), "mse"),
    "mixed up": (model_of(passed(lambda x: 0.3 * x + 0.7 * tf.random.shuffle(x))), "mse"),
    "contrastive": (
        model_of(),
        lambda y, p: ops.mean(ops.softmax(ops.matmul(p, ops.transpose(p)))),
    ),
    "root": (model_of(), lambda y, p: ops.sqrt(ops.mean((y - p) ** 2))),
    "correlation": (
        model_of(),
        lambda y, p: -ops.mean((y - ops.mean(y)) * (p - ops.mean(p))) / ops.std(y) / ops.std(p),
    ),
    "hardest": (model_of(), lambda y, p: ops.mean(ops.top_k(ops.squeeze((y - p) ** 2, -1), 2)[0])),
}


@feature
def rows_that_meet_are_refused(strategy, folder):
    for make, loss in MEETING.values():
        with strategy.scope():
            model = make()
            model.compile("sgd", loss)
        before = model.get_weights()
        with pytest.raises(ValueError, match=r"Rows of the batch are combined .*rows.py, line"):
            model.train_on_batch(X[:5], TARGETS[:5])
        with pytest.raises(ValueError, match=r"Rows of the batch are combined .*rows.py, line"):
            model.test_on_batch(X[:5], TARGETS[:5])
        for value, old in zip(model.get_weights(), before, strict=True):
            np.testing.assert_array_equal(value, old)
    with strategy.scope():
        model = keras.Sequential([keras.Input((3, 4), batch_size=4), layers.LSTM(2, stateful=True)])
        model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"LSTM.*has `stateful=True`, and keeps a state for"):
        model.train_on_batch(np.zeros((4, 3, 4)), np.zeros((4, 2)))


@feature
def a_loop_of_ones_own_with_states_that_replicas_share(strategy, folder):
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((4,)), layers.BatchNormalization(synchronized=True), layers.Dense(3)]
        )
        model.compile("sgd", "mse")
    batches = tf.data.Dataset.from_tensor_slices((X[:8], CLASSES[:8])).batch(8)
    step = tf.function(lambda x, y: strategy.run(lambda x, y: model(x, training=True), (x, y)))
    for batch in strategy.experimental_distribute_dataset(batches):
        step(*batch)
    moved = 0.01 * X[:8].mean(axis=0)
    np.testing.assert_allclose(model.layers[0].moving_mean.numpy(), moved, rtol=1e-4, atol=1e-7)
