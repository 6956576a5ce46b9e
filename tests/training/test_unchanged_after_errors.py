"""After a refused training or evaluation, a model is as before, and trains like one never refused."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tests.snapshots import changes, snapshot

x = np.random.RandomState(0).rand(8, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
TEXTS = np.array(["a"] * 8)


@pytest.fixture(autouse=True)
def short_programs():
    keras.config.set_compile_after(None)


class Failing(keras.callbacks.Callback):
    """A callback that raises an error in one hook."""

    def __init__(self, hook, error=ZeroDivisionError):
        super().__init__()
        setattr(self, hook, self.fail)
        self.error = error

    def fail(self, *arguments):
        raise self.error("of the user")


class Flaky(keras.metrics.Metric):
    """A metric that counts, and fails while `fails` is set."""

    fails = False

    def __init__(self, name="flaky"):
        super().__init__(name=name)
        self.count = self.add_weight()

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.count.assign_add(1.0)
        if Flaky.fails:
            raise ZeroDivisionError("of the user")

    def result(self):
        return self.count


def model(is_built, eager=False, metrics=()):
    keras.utils.set_random_seed(1)
    made = keras.Sequential(
        [
            *([keras.Input((4,))] if is_built else []),
            keras.layers.Dense(3),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(1),
        ]
    )
    made.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae", *metrics], run_eagerly=eager)
    return made


def trained(eager=False, metrics=()):
    made = model(True, eager, metrics)
    made.fit(x, y, batch_size=4, verbose=0)
    return made


def results(made):
    """The numbers of a training that follows, whose order of rows depends on the steps so far."""
    keras.utils.set_random_seed(2)
    history = made.fit(x, y, batch_size=4, verbose=0).history
    return [*made.get_weights(), *(np.array(values) for values in history.values())]


def check(make, refused, errors):
    """Makes the refused calls on one model, one after the other, and trains it at the end."""
    made, other = make(), make()
    before = snapshot(made)
    for name, wrong in refused.items():
        with pytest.raises(errors):
            wrong(made)
        assert changes(before, snapshot(made)) == [], name
    for one, expected in zip(results(made), results(other), strict=True):
        np.testing.assert_array_equal(one, expected)


REFUSED = {
    "texts": lambda it: it.fit(x, TEXTS, verbose=0),
    "no targets": lambda it: it.evaluate(x, verbose=0),
    "texts in a batch": lambda it: it.train_on_batch(x, TEXTS),
    "texts to test": lambda it: it.test_on_batch(x, TEXTS),
    "a callback of predict": lambda it: it.predict(x, callbacks=[3], verbose=0),
    "a callback's error": lambda it: it.fit(x, y, callbacks=[Failing("on_epoch_begin")], verbose=0),
    "Ctrl-C": lambda it: it.fit(
        x, y, callbacks=[Failing("on_train_batch_begin", KeyboardInterrupt)], verbose=0
    ),
    "weights as a list": lambda it: it.train_on_batch(x, y, class_weight=[1.0]),
    "too much to validate": lambda it: it.fit(x, y, validation_data=(x, y, y, y), verbose=0),
    "a number to resume": lambda it: it.fit(x, y, resume=3, verbose=0),
}


@pytest.mark.parametrize("make", [lambda: model(False), trained], ids=["new", "trained"])
def test_refused_calls(make):
    check(make, REFUSED, (ValueError, TypeError, ZeroDivisionError, KeyboardInterrupt))


@pytest.mark.parametrize("eager", [False, True])
def test_a_step_that_fails_in_its_last_metric(eager, monkeypatch):
    """The update of the weights comes before; an eager step has made it already."""

    def calling(method):
        def wrong(made):
            with monkeypatch.context() as patch:
                patch.setattr(Flaky, "fails", True)
                getattr(made, method)(x, y, **({} if method.endswith("batch") else {"verbose": 0}))

        return wrong

    refused = {it: calling(it) for it in ("fit", "evaluate", "train_on_batch", "test_on_batch")}
    check(lambda: model(False, eager, [Flaky()]), refused, ZeroDivisionError)


def test_other_sizes_after_a_refused_training():
    made = model(False)
    with pytest.raises(ValueError, match="compares numbers"):
        made.fit(x[:, :3], TEXTS, verbose=0)
    made.fit(x, y, verbose=0)
    assert made.layers[0].kernel.shape == (4, 3)


@pytest.mark.parametrize(("hook", "steps"), [("on_train_batch_end", 1), ("on_test_begin", 2)])
def test_batches_before_an_error_count(hook, steps):
    """The state is the same as after a training that ended there."""
    made, other = model(True), model(True)
    options = {"batch_size": 4, "verbose": 0, "shuffle": False}
    with pytest.raises(ZeroDivisionError):
        made.fit(x, y, validation_data=(x, y), callbacks=[Failing(hook)], **options)
    other.fit(x, y, steps_per_epoch=steps, **options)
    for one, expected in zip(made.variables, other.variables, strict=True):
        np.testing.assert_array_equal(one, expected)
    for one, expected in zip(made.optimizer.variables, other.optimizer.variables, strict=True):
        np.testing.assert_array_equal(one, expected)


class Own(keras.Sequential):
    """A model with a second optimizer, and a step that fails at the end while `fails` is set."""

    fails = False

    def train_step(self, data):
        inputs, targets = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(inputs, training=True) - targets) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.second.apply(gradients, self.trainable_variables)
        if Own.fails:
            raise ZeroDivisionError("of the user")
        return {"loss": loss}


@pytest.mark.parametrize("eager", [False, True])
def test_a_step_of_the_user(eager, monkeypatch):
    def make():
        keras.utils.set_random_seed(1)
        made = Own([keras.layers.Dense(2), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
        made.second = keras.optimizers.Adam(0.1)
        made.compile(run_eagerly=eager)
        return made

    def wrong(made):
        monkeypatch.setattr(Own, "fails", True)
        try:
            made.fit(x, y, verbose=0)
        finally:
            monkeypatch.setattr(Own, "fails", False)

    check(make, {"fit": wrong}, ZeroDivisionError)


def test_a_generator_that_is_interrupted():
    def batches():
        yield from [(x[:4], y[:4])] * 3
        raise KeyboardInterrupt

    made = model(True)
    with pytest.raises(KeyboardInterrupt):
        made.fit(batches(), verbose=0)
    assert made.predict(x, verbose=0).shape == (8, 1)
