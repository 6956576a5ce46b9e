"""`make_train_function` and its sisters: what a subclass makes of them is what runs, as in Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
Y = 2 * X[:, :1] - 1


def wrapping(k, as_result=False):
    """A model whose functions call those of `super()`, count, and change the results."""

    class Wrapping(k.Sequential):
        calls = ()

        def wrapped(self, mode, inner):
            def function(data):
                self.calls = (*self.calls, mode)
                results = inner(data)
                return (
                    results + 1 if mode == "predict" else {**results, "more": results["loss"] + 1}
                )

            return function

        def make_train_function(self, force=False):
            super().make_train_function(force)
            made = self.wrapped("train", self.train_function)
            if as_result:
                return made
            self.train_function = made

        def make_test_function(self, force=False):
            super().make_test_function(force)
            self.test_function = self.wrapped("test", self.test_function)

        def make_predict_function(self, force=False):
            super().make_predict_function(force)
            self.predict_function = self.wrapped("predict", self.predict_function)

    return built(k, Wrapping)


def built(k, cls):
    model = cls([k.Input((4,)), k.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def used(model, **options):
    """Results and calls of all ways to run a model."""
    results, calls = [], []

    def noted(*values):
        results.extend(np.ravel(values).tolist())
        calls.append(model.calls)
        model.calls = ()

    fit = model.fit(
        X, Y, batch_size=4, epochs=2, shuffle=False, validation_data=(X, Y), verbose=0, **options
    )
    noted(fit.history["loss"], fit.history["val_loss"], fit.history["more"])
    noted(model.evaluate(X, Y, batch_size=4, verbose=0, return_dict=True)["more"])
    noted(model.predict(X, batch_size=4, verbose=0))
    noted(model.train_on_batch(X, Y))
    noted(model.test_on_batch(X, Y))
    noted(model.predict_on_batch(X))
    return results, calls


def test_functions_that_wrap_those_of_super_run_as_in_keras():
    (ours, our_calls), (theirs, their_calls) = (used(wrapping(k)) for k in (tfkit, keras))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert our_calls == their_calls
    assert set(our_calls[0]) == {"train", "test"}


def test_the_results_of_a_function_are_those_of_the_epoch():
    """Keras takes those of the metrics instead, where they have the same names: 0.0 for a loss of its own."""
    model = built(tfkit, tfkit.Sequential)
    model.train_function = lambda iterator: {"loss": 7.0, "mae": 3.0}
    assert model.fit(X, Y, verbose=0).history == {"loss": [7.0], "mae": [3.0]}


def test_a_function_may_be_returned_instead_of_set():
    model = wrapping(tfkit, as_result=True)
    model.fit(X, Y, verbose=0)
    assert model.calls == ("train",)


def test_a_function_of_its_own_needs_no_super_and_may_be_a_function_of_tensorflow():
    """A step over an iterator, which a `tf.function` takes as an argument."""

    class Own(tfkit.Sequential):
        traces = 0

        def make_train_function(self, force=False):
            @tf.function
            def train(iterator):
                Own.traces += 1
                return self.train_step(next(iterator))

            self.train_function = train

    ours, theirs = built(tfkit, Own), built(keras, keras.Sequential)
    histories = [
        model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
        for model in (ours, theirs)
    ]
    np.testing.assert_allclose(*histories, rtol=1e-5)
    assert Own.traces <= 2  # The optimizer makes its variables in the first.
    assert "train_function" in str(ours.plan)


def test_compile_drops_functions_and_programs_run_where_nothing_is_overridden():
    model = built(tfkit, tfkit.Sequential)
    model.train_function = lambda iterator: {"loss": 7.0}
    assert model.fit(X, Y, verbose=0).history["loss"] == [7.0]
    model.compile("sgd", "mse")
    assert model.train_function is None
    assert model.fit(X, Y, verbose=0).history["loss"] != [7.0]
    model.make_train_function()
    model.fit(X, Y, verbose=0)
    assert "not the default" not in str(model.plan)


def test_a_dataset_a_schedule_of_steps_and_callbacks_go_with_a_function():
    model = wrapping(tfkit)
    seen = []
    callback = tfkit.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(batch)
    )
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
    history = model.fit(data, epochs=2, steps_per_epoch=2, callbacks=[callback], verbose=0).history
    assert model.calls == ("train",) * 4
    assert seen == [0, 1, 0, 1]
    assert len(history["loss"]) == 2


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda iterator: None, "`train_function` of Sequential returned None"),
        (lambda iterator: {"loss": next(iterator) and next(iterator)}, "more batches than one"),
    ],
)
def test_functions_that_do_not_fit_are_refused(function, message):
    model = built(tfkit, tfkit.Sequential)
    model.train_function = function
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, verbose=0)
