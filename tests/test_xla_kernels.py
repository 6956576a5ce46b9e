"""What XLA would compute unlike TensorFlow's kernels: programs and trainings have the kernels' values."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers, ops
from tfkit.src.training.planner import GRAPH_LOOP, XLA_LOOP, XLA_STEP
from tfkit.src.training.step import traced

INF, NAN = np.inf, np.nan
SPECIAL = np.array([0, -0.0, 1, -1, INF, -INF, NAN, 3e4, -3e4, 0.5, 4, -2])


def pair(x):
    return tf.stack([x, 0 * x])


OPERATIONS = {
    name: function
    for functions in (
        [
            tf.abs,
            tf.acos,
            tf.acosh,
            tf.asin,
            tf.asinh,
            tf.atan,
            tf.atanh,
            tf.cos,
            tf.cosh,
            tf.exp,
            tf.sin,
        ],
        [tf.sinh, tf.sqrt, tf.square, tf.tan, tf.tanh, tf.sigmoid, tf.math.erf, tf.math.expm1],
        [tf.math.log, tf.math.log1p, tf.math.reciprocal, tf.math.rsqrt, tf.math.softplus],
        [tf.math.reciprocal_no_nan, tf.math.log_sigmoid, tf.nn.elu, tf.nn.gelu, tf.nn.leaky_relu],
        [tf.nn.relu, tf.nn.relu6, tf.nn.selu, tf.nn.silu, tf.nn.softsign],
    )
    for function in functions
    for name in [function.__name__]
} | {
    "a guarded root": lambda x: tf.where(x > 0, tf.sqrt(x), 0),
    "relu of a root": lambda x: tf.nn.relu(tf.sqrt(x)),
    "minimum of a root": lambda x: tf.minimum(tf.sqrt(x), 0.5),
    "a norm": lambda x: tf.norm(pair(x), axis=0),
    "normalized": lambda x: tf.math.l2_normalize(pair(x), 0),
    "maximum": lambda x: tf.maximum(x, tf.zeros([], x.dtype)),
    "maximum, second": lambda x: tf.maximum(tf.zeros([], x.dtype), x),
    "minimum, second": lambda x: tf.minimum(tf.zeros([], x.dtype), x),
    "clipped": lambda x: tf.clip_by_value(x, -1, 1),
    "greatest": lambda x: tf.reduce_max(pair(x), 0),
    "greatest of all": lambda x: tf.reduce_max(x, keepdims=True) * tf.ones_like(x),
    "least": lambda x: tf.reduce_min(pair(x), [0], keepdims=True),
    "log of a sum": lambda x: tf.reduce_logsumexp(pair(x), 0),
    "masked": lambda x: tf.cast(x > 100, x.dtype) * x,
    "product": lambda x: tf.reduce_prod(pair(x), 0),
    "division": lambda x: tf.math.divide_no_nan(x, x),
    "xlogy": lambda x: tf.math.xlogy(x, x),
}


def value_and_gradient(function):
    def both(x, upstream):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        gradient = tape.gradient(y, x, upstream * tf.ones_like(y))
        return y, gradient

    return both


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float32") for name in OPERATIONS]
    + [(name, "float16") for name in ("sqrt", "rsqrt", "reciprocal", "elu", "selu", "masked")]
    + [(name, "float64") for name in ("maximum, second", "minimum, second", "greatest", "least")],
)
def test_values_and_gradients_are_those_of_the_kernels(name, dtype):
    body, x = value_and_gradient(OPERATIONS[name]), tf.constant(SPECIAL, dtype)
    specs = [tf.TensorSpec([None], dtype), tf.TensorSpec([], dtype)]
    in_graph, in_xla = traced(body, specs), traced(body, specs, jit_compile=True)
    rtol = 1e-2 if dtype == "float16" else 1e-4
    for upstream in (0.0, 1.0):
        upstream = tf.constant(upstream, dtype)
        expected = body(x, upstream)
        for given in (in_graph(x, upstream), in_xla(x, upstream)):
            for mine, theirs in zip(given, expected, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol, atol=1e-6)


# --- Trainings ------------------------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(40, 3)).astype("float32")
ROWS[::3] = 0  # Distances of 0, each with another step.


def in_a_loop(x):
    return tf.while_loop(
        lambda i, _: i < 2, lambda i, y: (i + 1, ops.sqrt(y)), (0, x), maximum_iterations=2
    )[1]


ENDS = {
    "where": lambda d: tf.where(d > 0, tf.sqrt(d), 0.0),
    "ops": lambda d: ops.where(d > 0, ops.sqrt(d), 0.0),
    "rsqrt": lambda d: tf.where(d > 0, tf.math.rsqrt(d), 0.0),
    "minimum": lambda d: tf.minimum(tf.sqrt(d), -1.0) + d,
    "relu": lambda d: tf.nn.relu(-tf.sqrt(d)) + d,
    "norm": lambda d: tf.where(d > 0, tf.norm(d, axis=-1, keepdims=True), 0.0),
    "reciprocal": lambda d: tf.where(d > 0, 1e-3 * tf.math.reciprocal(d), 0.0),
    "loop": lambda d: tf.where(d > 0, in_a_loop(d), 0.0),
}


class End(layers.Layer):
    """A function of the squares of its inputs, which are 0 at some rows."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function = function

    def build(self, shape):
        self.scale = self.add_weight(shape=shape[-1:], initializer="ones")

    def call(self, x):
        return self.function(tf.square(x * self.scale))


def make(name, **options):
    tfkit.utils.set_random_seed(0)
    model = tfkit.Sequential([tfkit.Input((3,)), End(ENDS[name]), layers.Dense(1)])
    model.compile("sgd", "mse", **options)
    return model


def fit(model, epochs=2, **options):
    model.fit(ROWS, ROWS[:, :1], batch_size=8, epochs=epochs, verbose=0, shuffle=False, **options)
    return [it.numpy() for it in model.weights]


def assert_same(given, expected):
    for mine, theirs in zip(given, expected, strict=True):
        assert np.isfinite(theirs).all()
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ENDS)
def test_each_plan_trains_alike(name):
    expected = fit(make(name, run_eagerly=True))
    in_graph, in_xla = make(name, jit_compile=False), make(name, jit_compile=True)
    assert_same(fit(in_graph), expected)
    assert_same(fit(in_xla), expected)
    assert in_graph.plan["train"].kind == GRAPH_LOOP
    assert in_xla.plan["train"].kind == (XLA_STEP if name == "loop" else XLA_LOOP)


def test_datasets_train_alike():
    data = tf.data.Dataset.from_tensor_slices((ROWS, ROWS[:, :1])).batch(8)
    found = []
    for option in (False, True):
        model = make("where", jit_compile=option)
        model.fit(data, epochs=2, verbose=0)
        found.append([it.numpy() for it in model.weights])
    assert_same(*found)


def test_nothing_changes_when_a_training_changes_to_xla():
    tfkit.config.set_compile_after(8)
    model, kinds = make("where"), []
    for _ in range(3):  # 5 steps each
        weights = fit(model, epochs=1)
        kinds.append(model.plan["train"].kind)
    tfkit.config.set_compile_after(10**9)
    longer = make("where")
    fit(longer)
    model = make("where")
    tfkit.config.set_compile_after(8)
    changed = fit(model, epochs=3)
    assert model.plan["train"].kind == XLA_LOOP
    assert kinds[0] == GRAPH_LOOP
    tfkit.config.set_compile_after(10**9)
    expected = fit(make("where"), epochs=3)
    assert_same(changed, expected)
    assert_same(weights, expected)


# TensorFlow cannot take the lists of a loop's gradient out of XLA.
@pytest.mark.parametrize("name", sorted(ENDS.keys() - {"loop"}))
def test_a_tape_around_a_compiled_call(name):
    model, plain = make(name, jit_compile=True), make(name, run_eagerly=True)

    def gradients(model):
        for _ in range(2):  # The first call is eager.
            with tf.GradientTape() as tape:
                outputs = model(ROWS)
        return tape.gradient(outputs, model.trainable_weights)

    assert_same(gradients(model), [it.numpy() for it in gradients(plain)])


def test_gradients_of_gradients_where_they_are_finite():
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sqrt(x) + tf.math.rsqrt(x) + tf.math.reciprocal(x)
            slope = tape.gradient(y, x, tf.constant([0.0, 1.0, 2.0]))
        return outer.gradient(slope, x)

    x = tf.constant([2.0, 3.0, 4.0])
    compiled = traced(second, [tf.TensorSpec([3])], jit_compile=True)
    np.testing.assert_allclose(compiled(x), second(x), rtol=1e-5)
