"""Copies and pickles: equal weights and predictions, training that goes on equally, nothing shared."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def through_joblib(value):
    file = io.BytesIO()
    joblib.dump(value, file)
    file.seek(0)
    return joblib.load(file)


WAYS = [pickled, copy.deepcopy, copy.copy, through_joblib]


@pytest.fixture(params=WAYS, ids=["pickle", "deepcopy", "copy", "joblib"])
def copied(request):
    return request.param


X = np.random.default_rng(0).random((24, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


class Doubled(keras.layers.Layer):
    """A layer that is not registered, with an argument that no file can hold."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function = function

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale")

    def call(self, inputs):
        return self.function(inputs * self.scale)


class Net(keras.Model):
    def __init__(self, width, inner=None):
        super().__init__()
        self.inner = inner
        self.hidden = [keras.layers.Dense(width, "relu"), Doubled(np_free_double)]
        self.drop = keras.layers.Dropout(0.25)
        self.head = keras.layers.Dense(1)

    def call(self, inputs, training=None):
        for layer in self.hidden:
            inputs = layer(inputs)
        return self.head(self.drop(inputs))


def np_free_double(x):
    return x * 2.0


def own_loss(y, p):
    return tf.reduce_mean((y - p) ** 2, axis=-1)


def sequential():
    layers = [keras.Input((3,)), keras.layers.Dense(4, "relu"), keras.layers.Dropout(0.5)]
    return keras.Sequential([*layers, keras.layers.BatchNormalization(), keras.layers.Dense(1)])


def deferred():
    return keras.Sequential([keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])


def functional():
    x = keras.Input((3,))
    shared = keras.layers.Dense(3, "relu")
    y = keras.layers.Concatenate()([shared(shared(x)), Doubled(np_free_double)(x)])
    return keras.Model(x, keras.layers.Dense(1)(keras.layers.GaussianNoise(0.1)(y)))


MODELS = {"sequential": sequential, "deferred": deferred, "functional": functional}
MODELS["subclassed"] = lambda: Net(4)
WITH = {
    "adam": lambda: keras.optimizers.Adam(0.01, clipnorm=1.0, use_ema=True),
    "schedule": lambda: keras.optimizers.SGD(
        keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.9), momentum=0.9, nesterov=True
    ),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Nadam(), 8.0, 2),
    "decayed": lambda: keras.optimizers.AdamW(0.01, gradient_accumulation_steps=3),
}


def same_weights(first, second):
    assert len(first.weights) == len(second.weights)
    for a, b in zip(first.weights, second.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def same_training(first, second):
    """Both go on for two epochs, bit for bit."""
    results = []
    for model in (first, second):
        keras.utils.set_random_seed(5)
        results.append(model.fit(X, Y, batch_size=8, epochs=2, verbose=0).history)
    assert results[0] == results[1]
    same_weights(first, second)
    for a, b in zip(first.optimizer.variables, second.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


KINDS = [(name, pickled) for name in MODELS] + [("functional", way) for way in WAYS[1:]]


@pytest.mark.parametrize(("name", "copied"), KINDS)
def test_trained_models(name, copied):
    model = MODELS[name]()
    model.compile(WITH["adam"](), own_loss, metrics=["mae", keras.metrics.MeanSquaredError()])
    model.fit(X, Y, batch_size=8, verbose=0)
    drawn = np.random.get_state()[2]
    other = copied(model)
    assert np.random.get_state()[2] == drawn
    same_weights(model, other)
    assert not {id(w) for w in model.variables} & {id(w) for w in other.variables}
    np.testing.assert_array_equal(model.predict(X, verbose=0), other.predict(X, verbose=0))
    assert other.name == model.name
    assert [layer.name for layer in other.layers] == [layer.name for layer in model.layers]
    assert other.history.history == model.history.history
    assert other.history.model is other
    assert [m.name for m in other.metrics] == [m.name for m in model.metrics]
    same_training(model, other)


@pytest.mark.parametrize("optimizer", sorted(WITH.keys() - {"adam"}))
def test_optimizers_of_models(optimizer):
    model = sequential()
    model.compile(WITH[optimizer](), "mse")
    model.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    same_training(model, copy.deepcopy(model))


def test_models_that_are_not_built(copied):
    model = deferred()
    model.compile("sgd", "mse")
    other = copied(model)
    assert not other.built
    assert other.optimizer is not model.optimizer
    other.fit(X, Y, verbose=0)
    assert not model.built


def test_what_was_set_later_is_copied(copied):
    model = Net(4)
    model(X)
    model.hidden[0].trainable = False
    model.alpha, model.table = 0.5, {"a": np.arange(3)}
    model.critic_optimizer = keras.optimizers.Adam(0.5)
    model.critic_optimizer.apply([tf.ones(2)], [tf.Variable(tf.ones(2))])
    model.tracker = keras.metrics.Mean(name="tracker")
    model.tracker.update_state([1.0, 3.0])
    other = copied(model)
    assert [layer.trainable for layer in other.hidden] == [False, True]
    assert len(other.trainable_weights) == len(model.trainable_weights) == 3
    assert other.alpha == 0.5
    assert other.table["a"].tolist() == [0, 1, 2]
    assert float(other.tracker.result()) == 2.0
    assert int(other.critic_optimizer.iterations) == 1
    assert other.critic_optimizer is not model.critic_optimizer


class Adversarial(keras.Model):
    """With a `compile` and two optimizers of its own."""

    def __init__(self):
        super().__init__()
        self.generator, self.critic = sequential(), sequential()

    def compile(self, g_optimizer, c_optimizer):
        super().compile()
        self.g_optimizer, self.c_optimizer = g_optimizer, c_optimizer
        self.g_loss = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.g_loss]

    def call(self, x):
        return self.critic(x) + self.generator(x)

    def train_step(self, data):
        x, y = data
        for net, optimizer in ((self.generator, self.g_optimizer), (self.critic, self.c_optimizer)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((net(x, training=True) - y) ** 2)
            optimizer.apply_gradients(
                zip(tape.gradient(loss, net.trainable_weights), net.trainable_weights, strict=True)
            )
        self.g_loss.update_state(loss)
        return {"g_loss": self.g_loss.result()}


def test_a_compile_of_ones_own():
    model = Adversarial()
    model.compile(keras.optimizers.Adam(0.01), keras.optimizers.Adam(0.02))
    model.fit(X, Y, batch_size=8, verbose=0)
    other = pickled(model)
    results = []
    for one in (model, other):
        keras.utils.set_random_seed(3)
        results.append(one.fit(X, Y, batch_size=8, epochs=2, verbose=0).history)
    assert results[0] == results[1]
    same_weights(model, other)


def test_lambdas_and_local_classes_are_copied_in_memory():
    class Local(Doubled):
        pass

    x = keras.Input((3,))
    y = Local(lambda x: x + 1.0)(keras.layers.Lambda(lambda x: x * 3.0)(x))
    model = keras.Model(x, y)
    model.compile("sgd", lambda y, p: tf.abs(y - p))
    other = copy.deepcopy(model)
    np.testing.assert_array_equal(other(X), model(X))
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"lambda|Local"):
        pickle.dumps(model)


def test_layers(copied):
    layer = keras.layers.LSTM(2, stateful=True, return_sequences=True)
    x = np.ones((2, 3, 4), "float32")
    layer(x)
    other = copied(layer)
    keras.config.run_functions_eagerly(True)  # A compiled call may round differently.
    try:
        np.testing.assert_array_equal(other(x), layer(x))  # With the states that were kept.
    finally:
        keras.config.run_functions_eagerly(False)
    bare = copied(keras.layers.Dense(3, kernel_regularizer="l2", name="bare"))
    assert not bare.built
    assert bare.kernel_regularizer.l2 == pytest.approx(0.01)
    assert bare(X).shape == (24, 3)
    mixed = keras.layers.Dense(3, dtype="mixed_bfloat16")
    mixed(X)
    np.testing.assert_array_equal(copied(mixed)(X), mixed(X))
    mixed.trainable = False
    frozen = copied(mixed)
    assert [weight.trainable for weight in frozen.weights] == [False, False]
    frozen.trainable = True
    assert len(frozen.trainable_weights) == 2


class Stored(keras.layers.Layer):
    """Says itself what is kept of it."""

    def build(self, input_shape):
        self.w = self.add_weight(shape=(2,), name="w")
        self.table = {}

    def call(self, x):
        return x

    def save_own_variables(self, store):
        store["w"], store["keys"] = self.w.numpy(), np.array(list(self.table), "int64")

    def load_own_variables(self, store):
        self.w.assign(store["w"])
        self.table = {int(key): True for key in store["keys"]}


def test_layers_that_store_themselves(copied):
    layer = Stored()
    layer(X)
    layer.table[7] = True
    other = copied(layer)
    assert other.table == {7: True}
    np.testing.assert_array_equal(other.w, layer.w)


@pytest.mark.parametrize("name", ["Adam", "SGD", "Adafactor", "Ftrl", "Muon", "RMSprop"])
def test_optimizers_alone(name, copied):
    optimizer = getattr(keras.optimizers, name)(0.01)
    if name == "Adam":
        optimizer.exclude_from_weight_decay(var_names=["bias"])
    weights = [tf.Variable(tf.ones((3, 3))), tf.Variable(tf.ones(3))]
    gradients = [tf.fill((3, 3), 0.3), tf.range(3.0)]
    optimizer.apply(gradients, weights)
    other, others = copied(optimizer), copy.deepcopy(weights)
    assert int(other.iterations) == 1
    again, third = copied(other), copy.deepcopy(weights)  # A copy whose slots still wait.
    for one, variables in ((optimizer, weights), (other, others), (again, third)):
        one.apply(gradients, variables)
    for mine, second, last in zip(weights, others, third, strict=True):
        np.testing.assert_array_equal(mine, second)
        np.testing.assert_array_equal(mine, last)


def test_an_optimizer_for_other_weights_is_refused():
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.apply([tf.ones(3)], [tf.Variable(tf.ones(3))])
    with pytest.raises(ValueError, match=r"shape \(4,\).*copy whose original.*shape \(3,\)"):
        copy.deepcopy(optimizer).build([tf.Variable(tf.ones(4))])


def test_metrics_losses_and_the_rest(copied):
    for metric in (keras.metrics.Mean(), keras.metrics.AUC(), keras.metrics.F1Score()):
        metric.update_state(*([[0.5, 1.5]] if metric.name == "mean" else [[[1.0, 0], [0, 1]]] * 2))
        other = copied(metric)
        np.testing.assert_array_equal(other.result(), metric.result())
        metric.reset_state()
        assert np.any(other.result() != metric.result())
        assert [v.path if hasattr(v, "path") else "" for v in other.variables] == [
            v.path if hasattr(v, "path") else "" for v in metric.variables
        ]
    loss = copied(keras.losses.Huber(2.0))
    assert float(loss([[0.0]], [[1.0]])) == 0.5
    seeds = keras.random.SeedGenerator(3)
    seeds.next()
    np.testing.assert_array_equal(copied(seeds).next(), seeds.next())
    wait = keras.callbacks.EarlyStopping(patience=7)
    assert copied(wait).patience == 7


def test_histories_and_what_holds_a_model(copied):
    model = sequential()
    model.compile("adam", "mse")
    stop = keras.callbacks.EarlyStopping("loss", restore_best_weights=True)
    history = model.fit(X, Y, verbose=0, callbacks=[stop])
    held = copied({"history": history, "model": model, "stop": stop})
    if copied is copy.copy:
        held = {name: copy.copy(value) for name, value in held.items()}
    assert held["history"].history == history.history
    np.testing.assert_array_equal(held["model"].predict(X, verbose=0), model.predict(X, verbose=0))
    if copied is not copy.copy:  # One model stays one.
        assert held["history"].model is held["model"] is held["stop"].model


def test_a_layer_that_cannot_be_made_again_says_why():
    model = Net(3)
    model(X)
    model.late = keras.layers.Dense(2)
    model.late(X)
    with pytest.raises(ValueError, match=r"late/kernel.*Make all layers in the constructor"):
        copy.deepcopy(model)


def test_a_layer_that_is_made_again_with_other_variables_is_not_copied():
    """Neither with more of them nor with fewer, nor with others in size."""
    sizes = []

    class Odd(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            for index, size in enumerate(sizes):
                self.add_weight(name=f"w{index}", shape=(size,))

    keras.saving.register_keras_serializable("odd")(Odd)
    for before, after, differing in ([1, 2], [1], "w1"), ([1], [1, 2], "w1"), ([1], [2], "w0"):
        sizes[:] = before
        layer = Odd()
        sizes[:] = after
        with pytest.raises(ValueError, match=f"cannot be copied.*They differ at .*{differing}"):
            copy.deepcopy(layer)
