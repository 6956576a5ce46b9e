"""Options that are set after a program was traced: the program follows, and nothing else makes it anew."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = np.array([[0.0], [1.0]] * 4, "float32")


def compiled(loss="mse", metrics=(), rate=0.5, **dense):
    keras.utils.set_random_seed(1)
    layer = keras.layers.Dense(1, activation="sigmoid", kernel_initializer="ones", **dense)
    model = keras.Sequential([keras.Input((3,)), layer])
    model.compile(keras.optimizers.SGD(rate), loss, metrics=list(metrics))
    return model


def trained(model):
    model.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    return model.get_weights()[0]


class Scaled(keras.losses.Loss):
    factor = 1.0

    def call(self, y_true, y_pred):
        return self.factor * (y_true - y_pred) ** 2


def test_option_of_a_loss():
    loss = keras.losses.BinaryCrossentropy()
    model = compiled(loss)
    before = model.evaluate(X, Y, verbose=0)
    loss.label_smoothing = 0.5
    after = model.evaluate(X, Y, verbose=0)
    fresh = compiled(keras.losses.BinaryCrossentropy(label_smoothing=0.5)).evaluate(X, Y, verbose=0)
    assert after == fresh != before
    assert loss.get_config()["label_smoothing"] == 0.5


def test_attribute_of_a_users_loss_in_training():
    loss = Scaled()
    model = compiled(loss)
    start = model.get_weights()
    trained(model)
    model.set_weights(start)
    loss.factor = 3.0
    expected = Scaled()
    expected.factor = 3.0
    np.testing.assert_array_equal(trained(model), trained(compiled(expected)))


@pytest.mark.parametrize("kind", [np.array, list])
def test_the_same_object_with_other_contents(kind):
    loss = Scaled()
    loss.factor = kind([2.0])
    model = compiled(loss)
    before = model.evaluate(X, Y, verbose=0)
    loss.factor[0] = 6.0
    loss.factor = loss.factor
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), 3 * before, rtol=1e-6)


@pytest.mark.parametrize(
    ("metric", "option", "value"),
    [
        (keras.metrics.BinaryAccuracy(), "threshold", 0.7),
        (keras.metrics.BinaryCrossentropy(), "label_smoothing", 0.5),
        (keras.metrics.RecallAtPrecision(0.1), "precision", 0.99),
        (keras.metrics.FBetaScore(threshold=0.5), "beta", 3.0),
    ],
    ids=lambda it: getattr(it, "name", str(it)),
)
def test_option_of_a_metric(metric, option, value):
    model = compiled(metrics=[metric])
    before = model.evaluate(X, Y, verbose=0, return_dict=True)[metric.name]
    setattr(metric, option, value)
    fresh = type(metric).from_config({**metric.get_config(), "name": "fresh"})
    after = model.evaluate(X, Y, verbose=0, return_dict=True)[metric.name]
    expected = fresh(Y, model.predict(X, verbose=0))
    np.testing.assert_allclose(after, expected, rtol=1e-6)
    assert np.any(np.asarray(after) != np.asarray(before))


def test_metric_that_a_step_of_the_user_updates():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.accuracy = keras.metrics.BinaryAccuracy(name="accuracy")

        def call(self, x):
            return tf.reduce_mean(x, axis=1, keepdims=True)

        def test_step(self, data):
            x, y = data
            self.accuracy.update_state(y, self(x))
            return {"accuracy": self.accuracy.result()}

    model = Own()
    model.compile(loss="mse")
    assert model.evaluate(X, Y, verbose=0) == 0.5
    model.accuracy.threshold = -2.0
    assert model.evaluate(X[1:2], Y[1:2], verbose=0) == 1.0


def test_metric_inside_a_layer_that_is_called_directly():
    class Counting(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.accuracy = keras.metrics.BinaryAccuracy()

        def call(self, x):
            self.accuracy.update_state(tf.ones_like(x), x)
            return x

    layer = Counting()
    layer(tf.constant([[0.6]]))
    layer.accuracy.threshold = 0.7
    layer(tf.constant([[0.6]]))
    assert float(layer.accuracy.result()) == 0.5


@pytest.mark.parametrize("direct", [False, True])
def test_option_of_an_activity_regularizer(direct):
    regularizer = keras.regularizers.L2(0.5)
    layer = keras.layers.Dense(1, kernel_initializer="ones", activity_regularizer=regularizer)
    model = keras.Sequential([keras.Input((3,)), layer])
    model.compile()

    def penalty():
        if direct:
            layer(X)
            return float(layer.losses[0])
        return model.evaluate(X, verbose=0)

    before = penalty()
    regularizer.l2 = 1.0
    np.testing.assert_allclose(penalty(), 2 * before, rtol=1e-6)


@pytest.mark.parametrize("what", ["schedule", "regularizer", "constraint"])
def test_options_of_what_training_calls(what):
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    regularizer = keras.regularizers.L2(0.1)
    constraint = keras.constraints.MaxNorm(100.0)
    options = {"kernel_regularizer": regularizer, "kernel_constraint": constraint}
    model = compiled(rate=schedule, **options)
    start = model.get_weights()
    before = trained(model)
    model.set_weights(start)
    model.optimizer.iterations.assign(0)
    if what == "schedule":
        schedule.initial_learning_rate = 0.4
    elif what == "regularizer":
        regularizer.l2 = 3.0
    else:
        constraint.max_value = 0.5
    after = trained(model)
    assert np.all(before != after)
    fresh = compiled(
        rate=type(schedule).from_config(schedule.get_config()),
        kernel_regularizer=keras.regularizers.L2(float(regularizer.l2)),
        kernel_constraint=keras.constraints.MaxNorm(constraint.max_value),
    )
    np.testing.assert_array_equal(after, trained(fresh))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("constraint", keras.constraints.MaxNorm(0.5)), ("overwrite_with_gradient", True)],
)
def test_settings_of_a_weight(setting, value):
    model, fresh = compiled(), compiled()
    start = model.get_weights()
    trained(model)
    model.set_weights(start)
    for each in (model, fresh):
        setattr(each.layers[0].kernel, setting, value)
    after = trained(model)
    np.testing.assert_array_equal(after, trained(fresh))
    assert np.all(after != trained(compiled()))


def test_nothing_is_traced_again_without_a_change():
    traces = []

    class Traced(Scaled):
        def call(self, y_true, y_pred):
            traces.append(1)
            return super().call(y_true, y_pred)

    loss, metric = Traced(), keras.metrics.BinaryAccuracy()
    model = compiled(loss, [metric])
    loss.factor = 1.0
    trained(model)
    first = len(traces)
    for _ in range(2):
        loss.factor, metric.threshold = 1.0, 0.5  # What they are.
        trained(model)
    assert len(traces) == first
    loss.factor = 2.0
    trained(model)
    assert len(traces) == 2 * first
