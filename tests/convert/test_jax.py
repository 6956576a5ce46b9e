"""`to_jax` and `from_jax`: what JAX does with a converted layer, the founding guide's programs, refusals."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.convert.functions import Function, assert_drawn, drawn, rounded
from tests.guide.vae import vae_class
from tfkit import layers, ops
from tfkit.interop import from_jax, to_jax
from tfkit.src.export.convert.interpreter import ConversionError

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")
jnp = jax.numpy

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
STEPS = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")


def network():
    return tfkit.Sequential(
        [layers.Dense(6, activation="gelu"), layers.Rescaling(0.5), layers.Dense(2)]
    )


def squared(f, params, state, x):
    outputs, _ = f(params, state, x)
    return jnp.sum(outputs**2)


def test_paths_name_the_values():
    _, params, state = to_jax(layers.BatchNormalization(), X)
    assert list(params) == ["gamma", "beta"]
    assert list(state) == ["moving_mean", "moving_variance"]


def test_transformations_of_jax_apply():
    f, params, state = to_jax(network(), X)
    expected, _ = f(params, state, X)
    np.testing.assert_allclose(jax.jit(f)(params, state, X)[0], expected, atol=1e-6)
    single = jax.vmap(lambda x: f(params, state, x[None])[0][0])(X)
    np.testing.assert_allclose(single, expected, atol=1e-6)
    slope = jax.grad(lambda x: squared(f, params, state, x))
    direction = jnp.ones_like(X)
    _, along = jax.jvp(lambda x: squared(f, params, state, x), (X,), (direction,))
    np.testing.assert_allclose(along, jnp.sum(slope(X)), rtol=1e-4)
    # A product with the Hessian, forward over reverse; against a difference of slopes.
    _, product = jax.jvp(slope, (jnp.asarray(X),), (direction,))
    difference = (slope(X + 1e-2) - slope(X - 1e-2)) / 2e-2
    np.testing.assert_allclose(product, difference, atol=2e-2)
    _, scanned = jax.lax.scan(lambda carry, x: (carry, f(params, state, x[None])[0][0]), 0, X)
    np.testing.assert_allclose(scanned, expected, atol=1e-6)


def test_loops_over_time_have_gradients():
    layer = layers.GRU(4, return_sequences=True)
    f, params, state = to_jax(layer, STEPS)
    found = jax.grad(lambda p: squared(f, p, state, STEPS))(params)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(STEPS) ** 2)
    expected = tape.gradient(loss, layer.trainable_variables)
    for path, gradient in zip(params, expected, strict=True):
        np.testing.assert_allclose(found[path], gradient, rtol=1e-4, atol=1e-5)


def test_dropout_is_that_of_tfkit_and_its_seeds_move():
    layer = layers.Dropout(0.5, seed=11)
    f, params, state = to_jax(layer, X)
    for _ in range(3):
        outputs, state = f(params, state, X, training=True)
        np.testing.assert_array_equal(outputs, layer(X, training=True))
    (position,) = state.values()
    np.testing.assert_array_equal(position, layer.seed_generator.state)


@pytest.mark.parametrize("kind", ["integer", "array", "key"])
def test_a_seed_decides_all_numbers(kind):
    def seed(number):
        made = {"integer": int, "array": lambda n: jnp.array([n, 1]), "key": jax.random.key}
        return made[kind](number)

    pair = tfkit.Sequential([layers.Dropout(0.5, seed=1), layers.Dropout(0.5, seed=1)])
    x = np.ones((4, 50), "float32")
    f, params, state = to_jax(pair, x)
    draw = jax.jit(lambda seed: f(params, state, x, training=True, seed=seed)[0])
    first = draw(seed(5))
    np.testing.assert_array_equal(first, draw(seed(5)))
    assert (first != draw(seed(6))).any()
    # Each layer has a stream of its own: two equal ones would keep half of the numbers, not a quarter.
    assert 0.15 < (first != 0).mean() < 0.35


def test_losses_on_request():
    layer = layers.Dense(2, kernel_regularizer="l2", activity_regularizer="l1")
    f, params, state = to_jax(layer, X)
    *_, losses = f(params, state, X, losses=True)
    assert len(f(params, state, X)) == 2
    layer(X)
    np.testing.assert_allclose(sorted(losses), sorted(layer.losses), rtol=1e-5)


def test_values_come_back_all_or_none():
    model = network()
    f, params, state = to_jax(model, X)
    doubled = {path: 2 * value for path, value in params.items()}
    before = model.get_weights()
    for wrong, message in (
        ({**doubled, "nothing": 1.0}, "'nothing' is not known"),
        ({path: it for path, it in doubled.items() if "bias" not in path}, "bias' is missing"),
        (
            {path: np.zeros((7,), "float32") for path in doubled},
            r"has shape .* and the value \(7,\)",
        ),
        ({path: it > 0 for path, it in doubled.items()}, "of dtype float32, and the value of bool"),
        ({path: [[1], [1, 2]] for path in doubled}, "cannot be set: the value is not an array"),
    ):
        with pytest.raises(ValueError, match=message):
            from_jax(model, wrong)
    for a, b in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(a, b)
    from_jax(model, doubled, state)
    np.testing.assert_allclose(model(X), f(doubled, state, X)[0], atol=1e-6)


def test_integers_that_a_variable_cannot_hold_are_refused():
    class Counter(layers.Layer):
        def build(self, _):
            self.count = self.add_weight(shape=(2,), dtype="uint8", trainable=False)

        def call(self, x):
            return x

    layer = Counter()
    layer(X)
    from_jax(layer, {}, {"count": np.array([0, 255])})
    for wrong in (-1, 256, 1 << 40):
        with pytest.raises(
            ValueError, match=f"'count' is of dtype uint8, and the value has .*{wrong}"
        ):
            from_jax(layer, {}, {"count": np.array([wrong, 3 if wrong < 0 else wrong])})
    with pytest.raises(ValueError, match=r"both have values of the variables \['count'\]"):
        from_jax(layer, {"count": [1, 1]}, {"count": [2, 2]})
    assert layer.count.numpy().tolist() == [0, 255]


def test_the_layers_of_the_guide():
    class Linear(layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight((input_shape[-1], self.units), "random_normal")
            self.b = self.add_weight((self.units,), "random_normal")

        def call(self, inputs):
            return ops.matmul(inputs, self.w) + self.b

    class ComputeSum(layers.Layer):
        def __init__(self, input_dim):
            super().__init__()
            self.total = self.add_weight((input_dim,), "zeros", trainable=False)

        def call(self, inputs):
            self.total.assign_add(ops.sum(inputs, axis=0))
            return self.total

    linear = Linear(4)
    f, params, state = to_jax(linear, X)
    assert list(params) == ["w", "b"]
    np.testing.assert_allclose(f(params, state, X)[0], linear(X), atol=1e-6)

    f, params, state = to_jax(ComputeSum(2), np.ones((2, 2), "float32"))
    _, state = f(params, state, np.ones((2, 2), "float32"))
    outputs, state = f(params, state, np.ones((2, 2), "float32"))
    assert outputs.tolist() == state["total"].tolist() == [4.0, 4.0]


def test_the_autoencoder_of_the_guide_trains_as_in_fit():
    """Three epochs of Adam in JAX, on the same weights, batches and noise."""
    optax = pytest.importorskip("optax", reason="optax is not installed: pip install optax")
    x = np.random.default_rng(3).uniform(size=(256, 20)).astype("float32")
    tfkit.utils.set_random_seed(0)
    vae = vae_class(tfkit)(20, 16, 4)
    vae.compile(tfkit.optimizers.Adam(1e-3), loss=tfkit.losses.MeanSquaredError())
    vae.build((None, 20))
    f, params, state = to_jax(vae, x[:32])
    optimizer = optax.adam(1e-3, eps=1e-7)

    def loss_of(params, state, batch):
        outputs, state, losses = f(params, state, batch, training=True, losses=True)
        return jnp.mean((outputs - batch) ** 2) + sum(losses), state

    @jax.jit
    def step(params, state, slots, batch):
        (loss, state), slope = jax.value_and_grad(loss_of, has_aux=True)(params, state, batch)
        updates, slots = optimizer.update(slope, slots, params)
        return optax.apply_updates(params, updates), state, slots, loss

    slots, epochs = optimizer.init(params), []
    for _ in range(3):
        losses = []
        for batch in np.split(x, 8):
            params, state, slots, loss = step(params, state, slots, batch)
            losses.append(float(loss))
        epochs.append(np.mean(losses))
    history = vae.fit(x, x, batch_size=32, epochs=3, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(epochs, history, rtol=1e-4)
    expected = f(params, state, x)[0]
    from_jax(vae, params, state)
    np.testing.assert_allclose(vae(x), expected, atol=1e-5)


STORED = """
import sys
sys.modules["tensorflow"] = None  # From here on its import is an error.
import numpy as np
from jax import export
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
x, expected = np.load(sys.argv[2]), np.load(sys.argv[3])
np.testing.assert_allclose(program.call(x), expected, atol=1e-5)
np.testing.assert_allclose(program.call(x[:1]), expected[:1], atol=1e-5)
"""


@pytest.mark.parametrize("layer", [network, lambda: layers.LSTM(3), lambda: layers.Conv1D(2, 3)])
def test_a_stored_program_runs_without_tensorflow(layer, tmp_path):
    made = layer()
    f, params, state = to_jax(made, STEPS)
    (size,) = jax.export.symbolic_shape("batch")
    form = jax.ShapeDtypeStruct((size, 5, 3), "float32")
    program = jax.export.export(jax.jit(lambda x: f(params, state, x)[0]))(form)
    (tmp_path / "program").write_bytes(program.serialize())
    np.save(tmp_path / "x.npy", STEPS)
    np.save(tmp_path / "y.npy", made(STEPS))
    files = [str(tmp_path / name) for name in ("program", "x.npy", "y.npy")]
    subprocess.run([sys.executable, "-c", STORED, *files], check=True, timeout=120)


@pytest.mark.parametrize("all_outputs", [True, False])
def test_the_number_of_steps_may_be_free_too(all_outputs):
    made = layers.LSTM(3, return_sequences=all_outputs)
    f, params, state = to_jax(made, tf.TensorSpec((None, None, 3)))
    rows, steps = jax.export.symbolic_shape("rows, steps")
    form = jax.ShapeDtypeStruct((rows, steps, 3), "float32")
    program = jax.export.export(jax.jit(lambda x: f(params, state, x)[0]))(form)
    for x in (STEPS, STEPS[:1, :2]):
        np.testing.assert_allclose(program.call(x), made(x), atol=1e-6)


def test_an_operation_without_a_formula_is_named():
    class Joined(layers.Layer):
        def call(self, x):
            return tf.strings.length(tf.strings.as_string(x))

    with pytest.raises(
        ConversionError, match="of 'joined' is of type 'AsString', which has no formula"
    ):
        to_jax(Joined(), X)


def test_sizes_that_depend_on_data_are_refused():
    class Chosen(layers.Layer):
        def call(self, x):
            return tf.zeros([tf.cast(tf.reduce_sum(x), tf.int32), 2])

    f, params, state = to_jax(Chosen(), X)
    with pytest.raises(ConversionError, match="needs `shape` before the program runs"):
        f(params, state, X)


def test_a_loop_of_unknown_length_runs_and_says_that_it_has_no_gradient():
    class Halved(layers.Layer):
        def call(self, x):
            return tf.while_loop(lambda x: tf.reduce_sum(x) > 1, lambda x: [x / 2], [x])[0]

    layer = Halved()
    f, params, state = to_jax(layer, X)
    np.testing.assert_allclose(f(params, state, abs(X))[0], layer(abs(X)))
    with pytest.raises(ValueError, match=r"while_loop|fori_loop"):
        jax.grad(lambda x: squared(f, params, state, x))(abs(X))


def test_a_condition_on_data_is_chosen_in_the_program():
    class Signed(layers.Layer):
        def build(self, shape):
            self.count = self.add_weight((), "zeros", trainable=False)

        def call(self, x):
            def positive():
                self.count.assign_add(1.0)
                return 2 * x

            return tf.cond(tf.reduce_sum(x) > 0, positive, lambda: -x)

    f, params, state = to_jax(Signed(), X)
    run = jax.jit(f)
    outputs, state = run(params, state, abs(X))
    np.testing.assert_allclose(outputs, 2 * abs(X))
    outputs, state = run(params, state, -abs(X))
    np.testing.assert_allclose(outputs, abs(X))
    assert float(state["count"]) == 1


def test_a_written_gradient_inside_of_a_loop_is_refused_not_ignored():
    class Looped(layers.Layer):
        def call(self, x):
            return tf.while_loop(
                lambda i, y: i < 3, lambda i, y: (i + 1, rounded(y, 2.0)[1]), (0, x)
            )[1]

    f, params, state = to_jax(Looped(), X)
    np.testing.assert_array_equal(f(params, state, X)[0], X * 8)
    with pytest.raises(ConversionError, match="is a `custom_gradient` inside of a loop"):
        jax.grad(lambda x: squared(f, params, state, x))(X)


def test_what_is_no_derivative_is_converted_in_training():
    """The gradients of float8 are rounded, and those of scales are their next values."""
    layer = layers.Dense(2)
    layer.build((None, 3))
    layer.quantize("float8")
    f, params, state = to_jax(layer, X)
    found = jax.grad(lambda params: jnp.sum(jnp.sin(f(params, state, X, training=True)[0])))(params)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(layer(X, training=True)))
    expected = tape.gradient(loss, layer.trainable_variables)
    for path, gradient in zip(params, expected, strict=True):
        np.testing.assert_allclose(found[path], gradient, atol=1e-6)


def test_a_trained_variable_to_which_a_call_assigns_comes_back():
    layer = layers.SpectralNormalization(layers.Dense(2))
    layer(X)
    f, params, state = to_jax(layer, X)
    for _ in range(2):
        outputs, state = jax.jit(f, static_argnames="training")(params, state, X, training=True)
        params = {path: state.get(path, it) for path, it in params.items()}
        np.testing.assert_allclose(outputs, layer(X, training=True), atol=1e-6)
        np.testing.assert_allclose(state["kernel"], layer.kernel, atol=1e-6)
    from_jax(layer, {path: 2 * it for path, it in params.items()}, state)
    np.testing.assert_allclose(layer.kernel, 2 * params["kernel"])


def test_draws_of_tensorflows_generators_follow_from_a_seed_in_the_state():
    f, params, state = to_jax(Function(drawn), np.ones((300, 60), "float32"))
    x = np.ones((400, 60), "float32")
    first, after = f(params, state, x)
    assert_drawn([np.asarray(it) for it in first])
    assert (f(params, after, x)[0][0] != first[0]).any()
    np.testing.assert_array_equal(f(params, state, x, seed=3)[0], f(params, after, x, seed=3)[0])


def test_inputs_keep_their_dtype():
    layer = Function(lambda x: x * 2, autocast=False)
    for example in (jnp.ones((2, 3), "bfloat16"), tf.TensorSpec((None, 3), tf.bfloat16)):
        f, params, state = to_jax(layer, example)
        assert f(params, state, jnp.ones((5, 3), "bfloat16"))[0].dtype == jnp.bfloat16


def test_bits_of_64_are_refused():
    f, params, state = to_jax(
        Function(lambda x: ops.view(x, "float64")), np.ones((2, 4), "float32")
    )
    with pytest.raises(ConversionError, match="jax_enable_x64"):
        f(params, state, np.ones((2, 4), "float32"))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "Expected a layer or a model", lambda: to_jax(ops.relu, X)),
        (ValueError, "Pass examples of the inputs", lambda: to_jax(layers.Dense(2))),
        (TypeError, "takes a layer and a dict", lambda: from_jax(layers.Dense(2), [X])),
        (TypeError, "takes values by path", lambda: from_jax(layers.Dense(2), {1: X})),
        (TypeError, "takes `state` as a dict", lambda: from_jax(layers.Dense(2), {}, [X])),
    ],
)
def test_wrong_arguments_are_refused(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_other_inputs_and_paths_than_those_of_the_conversion_are_refused():
    f, params, state = to_jax(layers.Dense(2), X)
    with pytest.raises(
        ValueError, match=r"for an input of shape \(None, 3\). Received shape \(4, 2\)"
    ):
        f(params, state, X[:, :2])
    with pytest.raises(ValueError, match="for inputs of the form"):
        f(params, state, [X, X])
    with pytest.raises(ValueError, match=r"Missing: \['kernel'\]; not known: \['kernels'\]"):
        f({"kernels": params["kernel"], "bias": params["bias"]}, state, X)


def test_constants_that_32_bits_do_not_hold_are_refused():
    class Shifted(layers.Layer):
        def call(self, x):
            return tf.cast(x, tf.int64) + tf.constant(2**40, tf.int64)

    f, params, state = to_jax(Shifted(), X)
    with pytest.raises(OverflowError, match="jax_enable_x64"):
        f(params, state, X)
