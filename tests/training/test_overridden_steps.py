"""What overridden steps, losses and metrics are given, as in Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
Y = X[:, :1]


def form(data):
    """The nest of what a step is given, tuples and lists alike."""
    if isinstance(data, (tuple, list)):
        return tuple(map(form, data))
    if isinstance(data, dict):
        return {key: form(value) for key, value in data.items()}
    return None if data is None else data.dtype.name


def spy(library):
    """A compiled model whose steps note the form of their data and its static number of rows."""

    class Spy(library.Model):
        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1)
            self.seen = []

        def call(self, inputs):
            leaf = tf.nest.flatten(inputs)[0]
            return self.dense(leaf)

        def note(self, data):
            rows = tf.nest.flatten(data)[0].shape[0]
            entry = (form(data), rows)
            self.seen += [] if entry in self.seen else [entry]

        def train_step(self, data):
            self.note(data)
            return {"loss": tf.constant(1.0)}

        def test_step(self, data):
            self.note(data)
            return {"loss": tf.constant(1.0)}

        def predict_step(self, data):
            self.note(data)
            return super().predict_step(data)

    model = Spy()
    model(X)
    model.compile("sgd", "mse")
    return model


WITHOUT_Y = {
    "an array": X,
    "a list": [X],
    "a tuple": (X,),
    "two arrays": [X, X],
    "a dict": {"a": X},
}


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
@pytest.mark.parametrize("x", WITHOUT_Y.values(), ids=WITHOUT_Y)
def test_x_alone_reaches_the_step_as_in_keras(x, method):
    seen = []
    for library in (keras, tfkit):
        model = spy(library)
        getattr(model, method)(x, batch_size=3, verbose=0)
        seen.append([given for given, _ in model.seen])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("run_eagerly", [True, False])
def test_one_batch_reaches_the_step_as_in_keras(run_eagerly):
    seen = []
    for library in (keras, tfkit):
        model = spy(library)
        model.run_eagerly = run_eagerly
        for x in (X, [X, X], {"a": X}):
            for rest in ((), (Y,), (Y, Y[:, 0])):
                model.train_on_batch(x, *rest)
                model.test_on_batch(x, *rest)
            model.predict_on_batch(x)
        seen.append([given for given, _ in model.seen])
    assert seen[0] == seen[1]
    assert ("float32", None, None) in seen[1]


@pytest.mark.parametrize("library", [keras, tfkit])
def test_validation_data_without_targets_reaches_the_step_as_in_keras(library):
    model = spy(library)
    model.fit(X, Y, batch_size=3, validation_data=(X,), verbose=0)
    assert [given for given, _ in model.seen] == [("float32", "float32"), "float32"]


def slices(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])


SIZED = {
    "slices": lambda: slices(X, Y).batch(4, drop_remainder=True),
    "shuffled": lambda: slices(X, Y).shuffle(6).batch(4, drop_remainder=True).prefetch(1),
    "mapped": lambda: slices(X, Y).batch(4, drop_remainder=True).map(lambda x, y: (x, y)),
    "x alone": lambda: slices(X).batch(4, drop_remainder=True),
    "with a rest": lambda: slices(X, Y).batch(4),
}


@pytest.mark.filterwarnings("ignore:`shuffle=True` was passed")
@pytest.mark.parametrize("method", ["fit", "evaluate"])
@pytest.mark.parametrize("dataset", SIZED.values(), ids=SIZED)
def test_a_batch_size_without_rest_is_known_to_the_step(dataset, method):
    seen = []
    for library in (keras, tfkit):
        model = spy(library)
        getattr(model, method)(dataset(), verbose=0)
        seen.append(model.seen)
    assert seen[0] == seen[1]


def test_predict_knows_the_size_of_batches_without_rest():
    model = spy(tfkit)
    outputs = model.predict(SIZED["x alone"](), verbose=0)
    assert model.seen == [("float32", 4)]
    assert outputs.shape == (4, 1)
    assert model.predict(X, verbose=0).shape == (6, 1)  # Another trace, for any number of rows.


@pytest.mark.parametrize("jit_compile", [True, False])
def test_a_step_that_needs_the_static_size_trains(jit_compile):
    class Flat(tfkit.layers.Layer):
        def call(self, inputs):
            return tf.zeros((inputs.shape[0], 1)) + tf.reduce_sum(inputs, axis=1, keepdims=True)

    model = tfkit.Sequential([tfkit.layers.Dense(2), Flat()])
    model.compile("sgd", "mse", jit_compile=jit_compile)
    for dataset in ("slices", "mapped"):
        before = model.get_weights()
        model.fit(SIZED[dataset]().repeat(3), verbose=0)
        after = model.get_weights()
        assert not before or any((a != b).any() for a, b in zip(after, before, strict=True))


def build(library, **methods):
    class Net(library.Model):
        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1, kernel_initializer="ones")

        def call(self, inputs):
            return self.dense(inputs)

    made = type("Made", (Net,), {name: make(Net) for name, make in methods.items()})
    model = made()
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def squares(y, y_pred):
    return tf.reduce_mean((y - y_pred) ** 2)


def loss_before_3_5(net):
    return lambda self, x=None, y=None, y_pred=None, sample_weight=None: 2 * squares(y, y_pred)


def loss_other_names(net):
    return lambda self, inputs, target, output, weight: 2 * squares(target, output)


def loss_allow_empty(net):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
        return 2 * net.compute_loss(self, x, y, y_pred, sample_weight, allow_empty)

    return compute_loss


def loss_training(net):
    def compute_loss(self, x, y, y_pred, sample_weight, training=True):
        return 2 * net.compute_loss(self, x, y, y_pred, sample_weight, training)

    return compute_loss


def loss_anything(net):
    return lambda self, *args, **kwargs: 2 * net.compute_loss(self, *args, **kwargs)


def loss_training_required(net):
    return lambda self, x, y, y_pred, sample_weight, training: (3 - training) * squares(y, y_pred)


LOSSES = [loss_before_3_5, loss_other_names, loss_allow_empty, loss_training, loss_anything]
LOSSES += [loss_training_required]


@pytest.mark.parametrize("make", LOSSES)
def test_each_form_of_compute_loss_is_accepted(make):
    logs = []
    for library in (keras, tfkit):
        model = build(library, compute_loss=make)
        history = model.fit(X, Y, batch_size=3, shuffle=False, verbose=0).history
        logs.append([history["loss"][0], *model.evaluate(X, Y, verbose=0)])
    np.testing.assert_allclose(logs[0], logs[1], rtol=1e-5)


def metrics_required(net):
    def compute_metrics(self, x, y, y_pred, sample_weight):
        results = net.compute_metrics(self, x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)
        return {**results, "mean": tf.reduce_mean(y_pred)}

    return compute_metrics


def metrics_anything(net):
    return lambda self, *args, **kwargs: net.compute_metrics(self, *args, **kwargs)


@pytest.mark.parametrize("make", [metrics_required, metrics_anything])
def test_each_form_of_compute_metrics_is_accepted(make):
    logs = []
    for library in (keras, tfkit):
        model = build(library, compute_metrics=make)
        logs.append(model.fit(X, Y, batch_size=3, shuffle=False, verbose=0).history)
    assert logs[0].keys() == logs[1].keys()
    for name in logs[0]:
        np.testing.assert_allclose(logs[0][name], logs[1][name], rtol=1e-5)


def step_with_compiled_loss(net):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.compiled_metrics.update_state(y, y_pred)
        return {"loss": loss, "mae": self.get_metrics_result()["mae"]}

    return train_step


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_compiled_loss_and_compiled_metrics_are_there():
    results = []
    for library in (keras, tfkit):
        model = build(library, train_step=step_with_compiled_loss)
        history = model.fit(X, Y, batch_size=3, shuffle=False, verbose=0).history
        results.append([*history["mae"], *model.get_weights()[0].ravel()])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_compiled_loss_warns_that_it_is_deprecated():
    model = build(tfkit)
    assert tfkit.Sequential([tfkit.layers.Dense(1)]).compiled_metrics is None
    with pytest.warns(UserWarning, match="compute_loss"):
        assert float(model.compiled_loss(Y, Y + 1)) == pytest.approx(1.0)


@pytest.mark.parametrize("library", [keras, tfkit])
def test_make_train_function_makes_a_step_on_an_iterator(library):
    model = build(library)
    model(X)
    before = model.get_weights()[0]
    model.make_train_function()
    function = model.train_function
    assert model.make_train_function() is function
    logs = function(iter(slices(X, Y).batch(3)))
    assert set(logs) == {"loss", "mae"}
    assert (model.get_weights()[0] != before).any()
    after = model.get_weights()[0]
    model.make_test_function()
    assert set(model.test_function(iter(slices(X, Y).batch(3)))) == {"loss", "mae"}
    np.testing.assert_array_equal(model.get_weights()[0], after)
    model.make_train_function(force=True)
    assert model.train_function is not function


def test_make_predict_function_gives_outputs():
    model = build(tfkit)
    outputs = model.make_predict_function()(iter(slices(X).batch(6)))
    np.testing.assert_allclose(outputs, model(X), rtol=1e-6)


def test_predict_step_may_branch_on_values():
    def predict_step(net):
        def predict_step(self, data):
            outputs = self(data, training=False)
            if tf.reduce_sum(outputs) > 0:
                outputs = outputs * 2
            return outputs

        return predict_step

    model = build(tfkit, predict_step=predict_step)
    ones = np.ones((4, 3), "float32")
    for x, expected in ((ones, 6.0), (-ones, -3.0)):
        np.testing.assert_allclose(model.predict(x, verbose=0), np.full((4, 1), expected))


def test_outputs_of_predict_may_be_written_to():
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Identity()])
    whole = X.copy()
    for outputs in (
        model.predict(whole, verbose=0),
        model.predict(whole, batch_size=4, verbose=0),
        model.predict(whole, batch_size=4),
        model.predict(slices(whole).batch(4), verbose=0),
        model.predict_on_batch(whole),
        next(iter(model.predict(whole, stream=True))),
    ):
        outputs *= 255
    np.testing.assert_array_equal(whole, X)  # Nobody else's memory was written to.


def _with_own_evaluate(library):
    class Zeroed(library.Model):
        """Evaluates with other weights than it trains, as programs with averaged weights do."""

        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1, kernel_initializer="ones")
            self.returns_dict = True

        def call(self, inputs):
            return self.dense(inputs)

        def evaluate(self, *args, **kwargs):
            trained = self.get_weights()
            self.set_weights([0 * weight for weight in trained])
            if not self.returns_dict:
                kwargs["return_dict"] = False
            try:
                return super().evaluate(*args, **kwargs)
            finally:
                self.set_weights(trained)

    model = Zeroed()
    model.compile("sgd", "mse", metrics=["mae"])
    return model


@pytest.mark.parametrize("form", ["arrays", "weights", "dataset", "split"])
def test_fit_validates_with_an_overridden_evaluate(form):
    x = np.arange(60, dtype="float32").reshape(20, 3) / 60
    y, weights = x.sum(axis=1, keepdims=True), np.arange(20, dtype="float32")
    own = {
        "arrays": {"validation_data": (x, y), "validation_steps": 2, "validation_batch_size": 4},
        "weights": {"validation_data": (x, y, weights)},
        "dataset": {"validation_data": tf.data.Dataset.from_tensor_slices((x, y)).batch(4)},
        "split": {"validation_split": 0.25},
    }[form]
    found = [
        _with_own_evaluate(library)
        .fit(x, y, batch_size=5, shuffle=False, epochs=2, verbose=0, **own)
        .history
        for library in (tfkit, keras)
    ]
    assert set(found[0]) == set(found[1]) == {"loss", "mae", "val_loss", "val_mae"}
    for name, values in found[1].items():
        np.testing.assert_allclose(found[0][name], values, rtol=1e-5, atol=1e-6)


def test_an_overridden_evaluate_does_not_begin_a_generator_again():
    def batches():
        for number in range(6):
            yield np.full((2, 3), number, "float32"), np.full((2, 1), number, "float32")

    model = _with_own_evaluate(tfkit)  # Its outputs are zeros.
    x = np.zeros((4, 3), "float32")
    fit = model.fit(x, x[:, :1], epochs=3, verbose=0, validation_data=batches(), validation_steps=2)
    assert fit.history["val_loss"] == [0.5, 6.5, 20.5]


def test_overridden_evaluate_that_returns_no_dict_is_refused():
    model = _with_own_evaluate(tfkit)
    model.returns_dict = False
    x = np.ones((4, 3), "float32")
    with pytest.raises(TypeError, match="must return a dict"):
        model.fit(x, x[:, :1], validation_data=(x, x[:, :1] + 2), verbose=0)


def test_a_step_that_one_model_has():
    for library in (keras, tfkit):
        model = library.Sequential([library.Input((3,)), library.layers.Dense(1)])
        model.train_step = lambda data: {"mine": tf.reduce_sum(data[0]) * 0.0 + 2.0}
        model.compile("sgd", "mse")
        assert model.fit(X, Y, verbose=0).history == {"mine": [2.0]}
