"""Mistakes in training: each is refused, or warned of, or gives the numbers that were asked for."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

x = np.random.RandomState(0).rand(12, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)


def compiled(loss="mse", units=1, **options):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
    model.compile("sgd", loss, **options)
    return model


def unchanged(model, weights):
    same = all(map(np.array_equal, weights, model.get_weights()))
    return same and int(model.optimizer.iterations) == 0


class Fitting(keras.callbacks.Callback):
    """Trains on some of the rows once more, after the first epoch."""

    def on_epoch_end(self, epoch, logs=None):
        if not epoch:
            self.model.fit(x[:4], y[:4], verbose=0)


def test_a_fit_inside_of_a_fit_leaves_the_outer_history():
    model = compiled()
    history = model.fit(x, y, epochs=3, verbose=0, callbacks=[Fitting()])
    assert len(history.history["loss"]) == 3
    assert history.epoch == [0, 1, 2]
    assert model.history is history


@pytest.mark.parametrize("steps", [0, -1])
def test_no_steps_are_refused(steps):
    model = compiled()
    for run in (model.predict, lambda x, **options: model.evaluate(x, y, **options)):
        with pytest.raises(
            ValueError, match=f"`steps` must be a positive integer. Received: {steps}"
        ):
            run(x, steps=steps, verbose=0)


def test_a_validation_every_zero_epochs_is_refused():
    model = compiled()
    before = model.get_weights()
    with pytest.raises(ValueError, match="`validation_freq` must be the number of epochs"):
        model.fit(x, y, validation_data=(x, y), validation_freq=0, verbose=0)
    assert unchanged(model, before)


def test_data_without_batches_warn_at_the_line_of_the_user():
    model, empty = compiled(), tf.data.Dataset.from_tensor_slices((x[:0], y[:0])).batch(4)
    with pytest.warns(UserWarning, match="no batches: nothing was trained") as caught:
        model.fit(empty, verbose=0)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="no batches: nothing was evaluated") as caught:
        model.evaluate(empty, verbose=0)
    assert caught[0].filename == __file__


def test_too_few_batches_for_the_steps_warn():
    model = compiled()

    def batches():
        yield from [(x[:4], y[:4])] * 2

    for run in (model.evaluate, model.predict):
        with pytest.warns(
            UserWarning, match="Expected 5 steps, and there were batches for 2"
        ) as caught:
            run(batches(), steps=5, verbose=0)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.evaluate(batches(), steps=2, verbose=0)
        model.predict(batches(), steps=2, verbose=0)


def test_class_weights_are_those_of_rounded_labels():
    """As in Keras: smoothed labels 0.1 and 0.9 are the classes 0 and 1, in columns too."""
    labels = np.array([0.1, 0.9] * 6, "float32")
    weights = np.where(labels > 0.5, 3.0, 1.0)
    for targets in (labels, labels[:, None]):
        model = compiled()
        expected = model.evaluate(x, targets, sample_weight=weights, verbose=0)
        history = model.fit(x, targets, class_weight={0: 1.0, 1: 3.0}, batch_size=12, verbose=0)
        np.testing.assert_allclose(history.history["loss"], [expected], rtol=1e-6)


def test_class_weights_may_have_the_keys_that_unique_gives():
    labels = np.array([0.0, 1.0] * 6)
    results = []
    for keys in (np.unique(labels), [0, 1]):
        model = compiled()
        model.set_weights([np.ones((4, 1)), np.zeros(1)])
        given = dict(zip(keys, [1.0, 3.0], strict=True))
        results.append(
            model.fit(x, labels, class_weight=given, shuffle=False, verbose=0).history["loss"]
        )
    assert results[0] == results[1]
    assert compiled().fit(x, y, class_weight={}, verbose=0)
    with pytest.raises(ValueError, match=r"Unknown entry in `class_weight`.* Received: 0.5: 1.0"):
        compiled().fit(x, y, class_weight={0.5: 1.0}, verbose=0)


@pytest.mark.parametrize("loss", ["mse", "mae", "hinge", "poisson", "huber"])
def test_rows_are_not_compared_with_classes(loss):
    """A batch of three rows, and three classes: the vector of labels would be repeated for each row."""
    model = compiled(loss, 3, metrics=["mae"])
    before = model.get_weights()
    with pytest.raises(
        ValueError, match=r"y_true of shape \(None,\) and y_pred of shape \(None, 3\)"
    ):
        model.fit(x, y[:, 0], batch_size=3, verbose=0)
    assert unchanged(model, before)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": np.ones(12)}, "Received: `sample_weight` of the type dict"),
        (np.array(["a"] * 12), r"Received: `sample_weight` of dtype string and shape \(None,\)\.$"),
    ],
)
def test_wrong_sample_weights_are_named(weights, message):
    model = compiled()
    before = model.get_weights()
    with pytest.raises(ValueError, match=message):
        model.fit(x, y, sample_weight=weights, verbose=0)
    assert unchanged(model, before)


def test_a_loss_may_return_a_list_of_numbers_as_in_keras():
    def parts(y_true, y_pred):
        return [tf.reduce_mean(y_pred), tf.reduce_mean(y_true)]

    model = compiled(parts)
    expected = (model.predict(x, verbose=0).mean() + y.mean()) / 2
    assert model.evaluate(x, y, batch_size=12, verbose=0) == pytest.approx(expected, rel=1e-6)


def test_a_loss_that_returns_a_dict_is_named():
    model = compiled(lambda y_true, y_pred: {"loss": tf.reduce_mean(y_pred)})
    with pytest.raises(
        ValueError, match=r"Received: what the loss function returned, of the type dict"
    ):
        model.fit(x, y, verbose=0)


class Stepping(keras.Sequential):
    """A model whose steps return `result`."""

    result = None

    def train_step(self, data):
        return {"loss": 1.0, "note": self.result}

    def test_step(self, data):
        return {"note": self.result}

    def predict_step(self, data):
        return self.result


def stepping(result):
    model = Stepping([keras.Input((4,)), keras.layers.Dense(1)])
    model.result = result
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize("text", ["text", tf.constant("text")])
def test_texts_are_no_logs(text):
    for run in (stepping(text).fit, stepping(text).evaluate):
        with pytest.raises(
            ValueError, match=r"_step.*of Stepping returned a string for the log 'note'"
        ):
            run(x, y, verbose=0)


def test_a_number_for_each_batch_is_joined_to_a_vector():
    model = stepping(3.0)
    np.testing.assert_array_equal(model.predict(x, batch_size=4, verbose=0), [3.0, 3.0, 3.0])
    batches = tf.data.Dataset.from_tensor_slices(x).batch(4)
    np.testing.assert_array_equal(model.predict(batches, verbose=0), [3.0, 3.0, 3.0])
    assert model.predict(x, verbose=0) == 3.0


def test_a_predict_step_without_outputs_is_named():
    with pytest.raises(ValueError, match=r"`predict_step\(\)` of Stepping returned None"):
        stepping(None).predict(x, verbose=0)


@pytest.mark.parametrize("method", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_training_inside_of_a_function_is_refused(method):
    model = compiled()
    before = model.get_weights()
    with pytest.raises(RuntimeError, match=rf"`{method}\(\)` was called inside a `tf.function`"):
        tf.function(lambda: getattr(model, method)(x, y))()
    assert unchanged(model, before)


@pytest.mark.parametrize("method", ["predict", "predict_on_batch"])
def test_predicting_inside_of_a_map_is_refused(method):
    model, batches = compiled(), tf.data.Dataset.from_tensor_slices(x).batch(4)
    with pytest.raises(RuntimeError, match=rf"`{method}\(\)` was called inside"):
        batches.map(lambda rows: getattr(model, method)(rows))


def test_symbolic_tensors_are_no_data():
    model = compiled()
    with pytest.raises(ValueError, match=r"Expected `x` to be data\. Received: a symbolic tensor"):
        model.predict(keras.Input((4,)), verbose=0)
    with pytest.raises(ValueError, match=r"Expected `y` to be data\. Received: a symbolic tensor"):
        model.fit(x, keras.Input((4,), batch_size=12), verbose=0)


def test_an_unfrozen_layer_asks_for_another_compile():
    model = compiled()
    model.add(keras.layers.Dense(1))
    model.layers[0].trainable = False
    model.compile("adam", "mse")
    model.fit(x, y, verbose=0)
    model.layers[0].trainable = True
    with pytest.raises(ValueError, match="layers of a model were added or unfrozen, compile it"):
        model.fit(x, y, verbose=0)


def test_inputs_without_targets_say_how_data_are_nested():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    model = keras.Model([a, b], keras.layers.Add()([a, b]))
    model.compile("sgd", "mse")
    pairs = tf.data.Dataset.from_tensor_slices((x, x)).batch(4)
    with pytest.raises(ValueError, match=r"in a dataset, as `\(\(first, second\), y\)`"):
        model.fit(pairs, verbose=0)
