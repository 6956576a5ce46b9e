"""Functions of JAX and modules of Flax as layers: calls, training, files, exports, as Keras has them."""

import pickle

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")
jnp = jax.numpy

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
Y = np.random.default_rng(1).normal(size=(6, 3)).astype("float32")
KERNEL = np.random.default_rng(2).normal(size=(4, 3)).astype("float32")


@tfkit.saving.register_keras_serializable("jax layers")
def affine(params, inputs):
    return jnp.tanh(inputs @ params["kernel"] + params["bias"])


@tfkit.saving.register_keras_serializable("jax layers")
def affine_weights(rng, inputs):
    kernel = jax.random.normal(rng, (inputs.shape[-1], 3))
    return {"kernel": kernel, "bias": jnp.zeros(3)}


@tfkit.saving.register_keras_serializable("jax layers")
def normalized(params, state, rng, inputs, training):
    """A layer with all arguments: noise and running means while training."""
    if not training:
        return (inputs - state["mean"]) * params, state
    mean = 0.9 * state["mean"] + 0.1 * inputs.mean(0)
    noise = jax.random.normal(rng, inputs.shape)
    return (inputs + noise) * params, {"mean": mean, "calls": state["calls"] + 1}


@tfkit.saving.register_keras_serializable("jax layers")
def normalized_weights(rng, inputs):
    width = inputs.shape[-1]
    return jnp.ones(width), {"mean": jnp.zeros(width), "calls": jnp.zeros((), "int32")}


def network(**options):
    return tfkit.Sequential(
        [
            tfkit.Input((4,)),
            layers.JaxLayer(affine, affine_weights, seed=1),
            layers.JaxLayer(normalized, normalized_weights, seed=2),
            layers.Dense(3),
        ],
        **options,
    )


@pytest.fixture(scope="module")
def trained():
    model = network()
    model.compile("adam", "mse")
    model.fit(X, Y, epochs=2, batch_size=4, verbose=0)
    return model


def test_weights_have_the_names_of_the_nest():
    layer = layers.JaxLayer(affine, affine_weights, seed=3)
    layer.build((None, 4))
    assert [it.path for it in layer.weights] == ["jax_layer/bias", "jax_layer/kernel"]
    assert set(layer.params) == {"bias", "kernel"}
    again = layers.JaxLayer(affine, affine_weights, seed=3)
    again.build((2, 4))
    np.testing.assert_array_equal(layer.params["kernel"], again.params["kernel"])


@pytest.mark.parametrize("jit_compile", [False, True])
def test_training_equals_that_of_the_same_layer_in_tensorflow(jit_compile):
    values = {"kernel": KERNEL, "bias": np.zeros(3, "float32")}
    mine = tfkit.Sequential([tfkit.Input((4,)), layers.JaxLayer(affine, params=values)])
    other = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(3, activation="tanh")])
    other.layers[0].kernel.assign(KERNEL)
    losses = []
    for model in (mine, other):
        model.compile("adam", "mse", jit_compile=jit_compile)
        history = model.fit(X, Y, epochs=3, batch_size=4, shuffle=False, verbose=0)
        losses.append(history.history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    np.testing.assert_allclose(mine.predict(X, verbose=0), other.predict(X, verbose=0), atol=1e-5)


def test_keras_gives_the_same_numbers():
    keras = pytest.importorskip("keras")
    values = {"kernel": KERNEL, "bias": np.ones(3, "float32")}
    outputs = [
        np.asarray(library.layers.JaxLayer(affine, params=values)(X)) for library in (tfkit, keras)
    ]
    np.testing.assert_allclose(*outputs, atol=1e-6)
    state = {"mean": np.ones(4, "float32"), "calls": np.zeros((), "int32")}
    pairs = []
    for library in (tfkit, keras):
        layer = library.layers.JaxLayer(
            normalized, params=np.ones(4, "float32"), state=state, seed=5
        )
        outputs = layer(X, training=True)
        pairs.append((np.asarray(outputs), np.asarray(layer.state["mean"])))
    for mine, theirs in zip(*pairs, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_state_and_keys_go_on():
    layer = layers.JaxLayer(normalized, normalized_weights, seed=2)
    first, second = (layer(X, training=True).numpy() for _ in range(2))
    assert abs(first - second).min() > 0
    assert int(layer.state["calls"]) == 2
    np.testing.assert_allclose(layer.state["mean"], 0.19 * X.mean(0), rtol=1e-5)
    plain = layer(X)
    np.testing.assert_allclose(plain, X - 0.19 * X.mean(0), atol=1e-6)
    assert len(layer.trainable_weights) == 1
    assert len(layer.non_trainable_weights) == 2


@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_files(trained, name, tmp_path):
    trained.save(tmp_path / name)
    loaded = tfkit.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), trained.predict(X, verbose=0))
    histories = [
        it.fit(X, Y, shuffle=False, verbose=0).history["loss"] for it in (loaded, pickled(trained))
    ]
    np.testing.assert_array_equal(*histories)


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def test_a_saved_model_needs_no_jax(trained, tmp_path):
    trained.export(tmp_path / "served", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "served"))
    outputs = loaded.serve(tf.constant(X))
    np.testing.assert_allclose(outputs, trained.predict(X, verbose=0), atol=1e-6)


def test_nests_and_mixed_precision():
    def both(params, inputs):
        return {"sum": inputs[0] + params[0], "other": (inputs[1] * params[1],)}

    layer = layers.JaxLayer(both, params=[np.float32(1), np.float32(2)], dtype="mixed_bfloat16")
    outputs = layer([X, X[:, :2]])
    assert outputs["sum"].dtype == tf.bfloat16
    assert layer.params[0].dtype == tf.float32
    assert outputs["other"][0].shape == (6, 2)
    symbolic = layer([tfkit.Input((4,)), tfkit.Input((2,))])
    assert symbolic["sum"].shape == (None, 4)


def test_a_converted_layer_becomes_a_layer_again():
    """Its parameters are named by paths."""
    model = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(4, "tanh"), layers.Dense(2)])
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    f, params, state = tfkit.interop.to_jax(model, x)
    again = layers.JaxLayer(lambda params, inputs: f(params, state, inputs)[0], params=params)
    np.testing.assert_allclose(again(x), model(x), atol=1e-6)
    assert again.params.keys() == params.keys()
    assert len(again.trainable_weights) == 4


def test_refusals():
    with pytest.raises(ValueError, match="cannot all be `None`"):
        layers.JaxLayer(affine)
    with pytest.raises(ValueError, match="Unsupported argument in `call_fn`: `x`"):
        layers.JaxLayer(lambda params, x: x, affine_weights)
    with pytest.raises(ValueError, match="Missing required argument in `call_fn`: `inputs`"):
        layers.JaxLayer(lambda params: params, affine_weights)
    with pytest.raises(TypeError, match="must be a function"):
        layers.JaxLayer("affine", affine_weights)
    with pytest.raises(ValueError, match=r"must return `\(params, state\)`"):
        layers.JaxLayer(normalized, affine_weights)(X)
    with pytest.raises(ValueError, match=r"must return `\(outputs, state\)`"):
        layers.JaxLayer(lambda state, inputs: inputs, state=np.zeros(2, "float32"))(X)
    with pytest.raises(TypeError, match="it has no name"):
        layers.JaxLayer(lambda inputs: inputs).get_config()


# --- Flax -----------------------------------------------------------------------------------------------


def flax_network():
    flax = pytest.importorskip("flax", reason="Flax is not installed: pip install flax")

    @tfkit.saving.register_keras_serializable("jax layers")
    class Network(flax.linen.Module):
        width: int = 5

        @flax.linen.compact
        def __call__(self, inputs, training=False):
            x = flax.linen.Dense(self.width)(inputs)
            x = flax.linen.BatchNorm(use_running_average=not training)(x)
            return flax.linen.Dropout(0.5, deterministic=not training)(x)

        @flax.linen.compact
        def short(self, inputs):
            return flax.linen.Dense(2)(inputs)

        def get_config(self):
            return {"width": self.width}

        @classmethod
        def from_config(cls, config):
            return cls(**config)

    return Network


def test_a_module_of_flax(tmp_path):
    # For equal weights, drops and batches in each run: the loss of a few noisy steps may rise.
    tfkit.utils.set_random_seed(0)
    network = flax_network()
    model = tfkit.Sequential(
        [tfkit.Input((4,)), layers.FlaxLayer(network(width=3)), layers.Dense(3)]
    )
    flax_layer = model.layers[0]
    assert set(flax_layer.state) == {"batch_stats"}
    assert len(flax_layer.trainable_weights) == 4
    model.compile(tfkit.optimizers.Adam(0.1), "mse")
    before = model.get_weights()
    losses = model.fit(X, Y, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert all((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
    model.save(tmp_path / "flax.keras")
    loaded = tfkit.models.load_model(tmp_path / "flax.keras")
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))


def test_methods_and_variables_of_flax():
    network = flax_network()()
    assert layers.FlaxLayer(network, method="short")(X).shape == (6, 2)
    assert layers.FlaxLayer(network, method=type(network).short)(X).shape == (6, 2)
    variables = network.init(jax.random.PRNGKey(0), X)
    layer = layers.FlaxLayer(network, variables=variables)
    np.testing.assert_allclose(layer(X), network.apply(variables, X), atol=1e-6)
    with pytest.raises(TypeError, match=r"must be a `flax.linen.Module`"):
        layers.FlaxLayer(layers.Dense(1))


def test_params_and_state_have_the_form_that_the_function_takes():
    def start(inputs):
        return [[np.ones(inputs.shape[1:], "float32")]], {"calls": np.int32(0), "none": None}

    def count(params, state, inputs):
        [[scale]] = params
        return inputs * scale, {"calls": state["calls"] + 1, "none": None}

    layer = layers.JaxLayer(count, start)
    assert layer.params is None
    layer(tfkit.Input((4,)))
    layer(X)
    [[scale]] = layer.params
    assert scale is layer.trainable_weights[0]
    assert int(layer.state["calls"]) == 1
    assert layer.state["none"] is None
