"""A layer or variable that a call uses and that nobody's `weights` contain is an error, wherever it is."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

X = np.ones((4, 2), "float32")
Y = np.ones((4, 1), "float32")


class Calls(layers.Layer):
    """A layer that calls a function of the user's."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, inputs):
        return self.function(inputs)


class CallsInModel(tfkit.Model):
    """A model that does."""

    def __init__(self, function):
        super().__init__()
        self.head = layers.Dense(1)
        self.function = function

    def call(self, inputs):
        return self.head(self.function(inputs))


GLOBAL = layers.Dense(3)


def in_a_global(inputs):
    return GLOBAL(inputs)


class Plain:
    """An object that no layer looks into."""

    of_the_class = layers.Dense(3)

    def __init__(self):
        self.inside = {"dense": layers.Dense(3)}

    def __call__(self, inputs):
        return self.inside["dense"](inputs)

    def call_of_the_class(self, inputs):
        return self.of_the_class(inputs)


def closure(layer):
    def function(inputs):
        return layer(inputs)

    return function


def default_argument(inputs, layer=layers.Dense(3)):  # noqa: B008
    return layer(inputs)


def deep():
    inner, middle = layers.Dense(3), Calls(None)
    middle.function = closure(inner)
    return closure(Calls(closure(middle)))


PLACES = {
    "global": lambda: in_a_global,
    "closure": lambda: closure(layers.Dense(3)),
    "default": lambda: default_argument,
    "partial": lambda: functools.partial(closure, layers.Dense(3))(),
    "object": Plain,
    "class": lambda: Plain().call_of_the_class,
    "model": lambda: closure(tfkit.Sequential([tfkit.Input((2,)), layers.Dense(3)])),
    "state alone": lambda: closure(layers.BatchNormalization(center=False, scale=False)),
    "deep": deep,
}
HIDDEN = (
    r"Layer '.*' \(of type \w+\) is called in the `call\(\)` of .*, but its \d+ weights are in no "
    "caller's"
)


@pytest.mark.parametrize("place", PLACES)
def test_a_hidden_layer_is_named_in_a_direct_call(place):
    with pytest.raises(ValueError, match=HIDDEN):
        CallsInModel(PLACES[place]())(X)


def functional(function):
    inputs = tfkit.Input((2,))
    return tfkit.Model(inputs, layers.Dense(1)(Calls(function)(inputs)))


MODELS = {
    "subclass": CallsInModel,
    "functional": functional,
    "lambda": lambda function: tfkit.Sequential(
        [tfkit.Input((2,)), layers.Lambda(function), layers.Dense(1)]
    ),
    "nested": lambda function: tfkit.Sequential([tfkit.Input((2,)), CallsInModel(function)]),
    "time": lambda function: tfkit.Sequential(
        [
            layers.Reshape((1, 2)),
            layers.TimeDistributed(Calls(function)),
            layers.Flatten(),
            layers.Dense(1),
        ]
    ),
}


WAYS = ("evaluate", "predict", "eager", "tape")


@pytest.mark.parametrize(
    ("kind", "how"), [*((kind, "fit") for kind in MODELS), *(("subclass", how) for how in WAYS)]
)
def test_a_hidden_layer_is_named_in_every_way_of_running(kind, how):
    model = MODELS[kind](closure(layers.Dense(2)))
    model.compile("sgd", "mse", run_eagerly=how == "eager")
    run = {
        "predict": lambda: model.predict(X, verbose=0),
        "evaluate": lambda: model.evaluate(X, Y, verbose=0),
        "tape": lambda: model(X),
    }.get(how, lambda: model.fit(X, Y, verbose=0))
    with tf.GradientTape(), pytest.raises(ValueError, match=HIDDEN):
        run()


def test_a_layer_that_moves_out_of_an_attribute_is_found_in_the_next_trace():
    dense = layers.Dense(2)
    model = CallsInModel(closure(dense))
    model.kept = dense
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    assert len(model.weights) == 4
    del model.kept
    with pytest.raises(ValueError, match=HIDDEN):
        model.fit(X, Y, verbose=0)


def test_a_frozen_layer_may_be_hidden_and_files_lack_it(tmp_path):
    dense = layers.Dense(2, trainable=False)
    model = CallsInModel(closure(dense))
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    assert len(model.weights) == 2
    for save in (
        lambda: model.save_weights(tmp_path / "m.weights.h5"),
        lambda: model.save(tmp_path / "m.h5"),
    ):
        with pytest.warns(
            UserWarning, match="calls the frozen layer '.*' .*which no attribute holds"
        ):
            save()
    model.kept = dense
    model.save_weights(tmp_path / "m.weights.h5")


class Generates(layers.Layer):
    """A layer whose weights are the values of those of a layer that it does not hold."""

    def __init__(self, below, values=None):
        super().__init__()
        self.compute, self.values = below.stateless_call, values

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(2, 3), initializer="ones")

    def call(self, inputs):
        values = [self.kernel, tf.zeros(3)] if self.values is None else self.values()
        return self.compute(values, [], inputs)[0]


@pytest.mark.parametrize("eager", [False, True])
def test_a_layer_with_given_values_may_be_hidden(eager):
    dense = layers.Dense(3)
    dense.build((None, 2))
    before = dense.get_weights()
    part = Generates(dense)
    model = tfkit.Sequential([tfkit.Input((2,)), layers.Dense(2), part, layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=eager)
    first = [weight.numpy() for weight in model.weights]
    model.fit(X, Y, verbose=0)
    assert len(model.weights) == 5
    assert all(
        (weight.numpy() != old).any() for weight, old in zip(model.weights, first, strict=True)
    )
    for value, old in zip(dense.get_weights(), before, strict=True):
        np.testing.assert_array_equal(value, old)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("change", [lambda it: it, lambda it: it.value, lambda it: it * 2.0])
def test_the_given_values_may_not_be_those_of_hidden_weights(change, eager):
    dense = layers.Dense(3)
    dense.build((None, 2))
    part = Generates(dense, lambda: [change(weight) for weight in dense.weights])
    model = tfkit.Sequential([tfkit.Input((2,)), part, layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=eager)
    with pytest.raises(ValueError, match=r"is read in the .* but it is in no `weights`"):
        model.fit(X, Y, verbose=0)


def test_a_layer_below_one_with_given_values_may_not_be_hidden():
    below = Calls(closure(layers.Dense(3)))
    below.built = True
    with pytest.raises(ValueError, match=HIDDEN):
        CallsInModel(lambda inputs: below.stateless_call([], [], inputs)[0])(X)


def test_a_layer_of_the_trained_model_may_be_called_in_a_part_of_it():
    class Adversaries(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.shared = layers.Dense(2)
            self.one = Calls(closure(self.shared))
            self.two = tfkit.Sequential([Calls(closure(self.shared)), layers.Dense(1)])

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.two(self.one(x)) - y) ** 2)
            weights = self.trainable_weights
            self.optimizer.apply(tape.gradient(loss, weights), weights)
            return {"loss": loss}

    model = Adversaries()
    model.compile("sgd")
    model.fit(X, Y, verbose=0)
    assert len(model.weights) == 4


def test_a_layer_in_a_metric_or_a_loss_may_be_used():
    class Distance(tfkit.metrics.Mean):
        def __init__(self):
            super().__init__(name="distance")
            self.encoder = layers.Dense(2)

        def update_state(self, values, sample_weight=None):
            return super().update_state(self.encoder(values))

    class Perceptual(tfkit.losses.Loss):
        def __init__(self):
            super().__init__()
            self.features = layers.Dense(2)

        def call(self, y_true, y_pred):
            return tf.reduce_mean((self.features(y_true) - self.features(y_pred)) ** 2, -1)

    class Model(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.distance = layers.Dense(1), Distance()

        def call(self, inputs):
            self.distance.update_state(inputs)
            return self.dense(inputs)

    model = Model()
    model.compile("sgd", Perceptual())
    model.fit(X, Y, verbose=0)
    assert len(model.trainable_weights) == 2


def test_a_list_of_weights_that_a_subclass_defines_counts():
    class Lists(CallsInModel):
        @property
        def weights(self):
            return super().weights + self.function.weights

        @property
        def trainable_weights(self):
            return super().trainable_weights + self.function.trainable_weights

    dense = layers.Dense(2)

    class Function:
        weights = property(lambda self: dense.weights)
        trainable_weights = property(lambda self: dense.trainable_weights)

        def __call__(self, inputs):
            return dense(inputs)

    model = Lists(Function())
    model.compile("sgd", "mse")
    model(X)
    before = dense.get_weights()
    model.fit(X, Y, verbose=0)
    assert not np.array_equal(before[0], dense.get_weights()[0])


def test_a_warm_call_is_not_checked(monkeypatch):
    model = CallsInModel(tf.nn.relu)
    model.compile("sgd", "mse", run_eagerly=True)
    model(X)
    checked = []
    monkeypatch.setattr("tfkit.src.core.tracking.all_layers", checked.append)
    model(X)
    assert checked == []


# --- Variables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tf.Variable, tfkit.Variable])
@pytest.mark.parametrize("eagerly", [False, True])
def test_a_trainable_variable_in_a_closure_is_named_in_fit(make, eagerly):
    scale = make(2.0)
    model = CallsInModel(lambda inputs: inputs * scale)
    model.compile("sgd", "mse", run_eagerly=eagerly)
    with pytest.raises(
        ValueError, match=r"variable '.*' of shape \(\) is read in the `call\(\)` of model"
    ):
        model.fit(X, Y, verbose=0)


def test_a_variable_that_is_held_or_not_trainable_may_be_used():
    scale, fixed = tf.Variable(2.0), tf.Variable(1.0, trainable=False)
    model = CallsInModel(lambda inputs: inputs * scale + fixed)
    model._self_scale = scale
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    assert scale.numpy() != 2.0


def test_a_variable_in_a_loss_is_the_losses_own():
    temperature = tf.Variable(2.0)
    model = tfkit.Sequential([layers.Dense(1)])
    model.compile("sgd", lambda y, y_pred: tf.reduce_mean((y - y_pred) ** 2, -1) * temperature)
    model.fit(X, Y, verbose=0)
    assert temperature.numpy() == 2.0
