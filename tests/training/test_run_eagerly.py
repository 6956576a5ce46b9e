"""`run_eagerly=True`: everything of the user's runs eagerly, in every batch of every method."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

X, Y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")


class Seen(list):
    """What the user's functions got to see, each with whether it has a value."""

    def note(self, what, tensor):
        self.append((what, hasattr(tensor, "numpy")))

    def counts(self):
        assert all(has_value for _, has_value in self), self
        return {what: sum(what == each for each, _ in self) for what, _ in self}


def make_model(seen, steps_of_its_own, **options):
    note = seen.note  # The list itself, which changes, would keep direct calls eager.

    class Inner(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, x):
            note("inner", x)
            return self.dense(x)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.head = keras.layers.Dense(1)

        def call(self, x):
            note("call", x)
            return self.head(self.inner(x))

    class NetWithSteps(Net):
        """As in Keras's guides: the step calls the layers, not the model."""

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.head(self.inner(x)) - y))
            weights = self.trainable_weights
            gradients = tape.gradient(loss, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
            return {"loss": loss}

    class Descent(keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            seen.note("optimizer", gradient)
            super().update_step(gradient, variable, learning_rate)

    def loss(y, y_pred):
        seen.note("loss", y_pred)
        return tf.square(y - y_pred)

    def metric(y, y_pred):
        seen.note("metric", y_pred)
        return tf.abs(y - y_pred)

    model = NetWithSteps() if steps_of_its_own else Net()
    model.compile(Descent(), loss, metrics=[metric], **options)
    return model


def dataset():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)


FORWARD = {"call": 1, "inner": 1}
MEASURE = {**FORWARD, "loss": 1, "metric": 1}
METHODS = {
    "fit": (lambda model: model.fit(X, Y, verbose=0), 2, {**MEASURE, "optimizer": 4}),
    "fit a dataset": (lambda m: m.fit(dataset(), verbose=0), 4, {**MEASURE, "optimizer": 4}),
    "evaluate": (lambda model: model.evaluate(X, Y, verbose=0), 2, MEASURE),
    "predict": (lambda model: model.predict(X, verbose=0), 2, FORWARD),
    "predict one": (lambda model: model.predict(X[:3], verbose=0), 1, FORWARD),
    "train_on_batch": (lambda model: model.train_on_batch(X, Y), 1, {**MEASURE, "optimizer": 4}),
    "test_on_batch": (lambda model: model.test_on_batch(X, Y), 1, MEASURE),
    "predict_on_batch": (lambda model: model.predict_on_batch(X), 1, FORWARD),
    "a direct call": (lambda model: model(X), 1, FORWARD),
    "a call of a layer inside": (lambda model: model.inner(X), 1, {"inner": 1}),
}


@pytest.mark.parametrize("how", ["compiled so", "set later"])
@pytest.mark.parametrize("method", METHODS)
def test_values_are_seen_in_every_batch(method, how):
    run, num_batches, expected = METHODS[method]
    seen = Seen()
    model = make_model(seen, False, run_eagerly=how == "compiled so")
    for _ in range(3):
        model(X)
    if how == "set later":
        run(model)
        run(model)
        model.run_eagerly = True
    for _ in range(3):
        seen.clear()
        run(model)
        assert seen.counts() == {what: n * num_batches for what, n in expected.items()}


def test_a_step_of_the_users_own_that_calls_the_layers():
    seen = Seen()
    model = make_model(seen, True, run_eagerly=True)
    model.fit(X, Y, verbose=0, epochs=2)
    assert seen.counts() == {"inner": 4, "optimizer": 16}


def test_switched_off_again_steps_and_calls_are_compiled():
    seen = Seen()
    model = make_model(seen, False, run_eagerly=True)
    model.fit(X, Y, verbose=0)
    model.run_eagerly = False
    model.fit(X, Y, verbose=0)
    for _ in range(3):
        model(X)
    seen.clear()
    model.fit(X, Y, verbose=0)
    model(X)
    assert not seen


def test_a_model_trained_by_the_step_of_another_keeps_its_own_setting():
    inner_seen, outer_seen = Seen(), Seen()
    inner = make_model(inner_seen, False)
    inner.fit(X, Y, verbose=0)

    class Outer(keras.Model):
        def train_step(self, data):
            x, _ = data
            outer_seen.note("outer", x)
            inner.fit(X, Y, verbose=0)
            return {"loss": tf.constant(0.0)}

    outer = Outer()
    outer.compile(run_eagerly=True)
    inner_seen.clear()
    outer.fit(X, Y, verbose=0)
    assert outer_seen.counts() == {"outer": 2}
    assert not inner_seen


def test_numbers_are_those_of_compiled_steps():
    weights = []
    for run_eagerly in (True, False):
        keras.utils.set_random_seed(0)
        model = make_model(Seen(), False, run_eagerly=run_eagerly)
        model.fit(X, Y, verbose=0, shuffle=False)
        weights.append(model.get_weights())
    for eager, compiled in zip(*weights, strict=True):
        np.testing.assert_allclose(eager, compiled, rtol=1e-5, atol=1e-6)


def test_a_batch_that_cannot_be_read_is_named_by_its_step():
    def checked(x, y):
        return tf.debugging.check_numerics(x, "not a number"), y

    x = np.ones((64, 3), "float32")
    x[40] = np.nan
    model = make_model(Seen(), False, run_eagerly=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="epoch 1, step 6 of `fit"):
        model.fit(tf.data.Dataset.from_tensor_slices((x, Y)).batch(8).map(checked), verbose=0)
    assert int(model.optimizer.iterations) == 5
