"""Modules of Flax's NNX in `FlaxLayer`: training beside plain NNX, on TensorFlow and on JAX; files."""

import numpy as np
import pytest

import tfkit
from tfkit import layers

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")
nnx = pytest.importorskip("flax.nnx", reason="Flax is not installed: pip install flax")
jnp = jax.numpy

X = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
Y = np.random.default_rng(1).normal(size=(24, 3)).astype("float32")


@tfkit.saving.register_keras_serializable("nnx")
class Net(nnx.Module):
    """A list of layers, running means, dropout."""

    def __init__(self, rate=0.5):
        rngs = nnx.Rngs(0)
        self.rate = rate
        self.blocks = nnx.List([nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 8, rngs=rngs)])
        self.norm = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)
        self.dropout = nnx.Dropout(rate, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        for block in self.blocks:
            x = jax.nn.gelu(block(x))
        return self.head(self.dropout(self.norm(x)))

    def doubled(self, inputs):
        return 2.0 * self(inputs)

    def get_config(self):
        return {"rate": self.rate}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def network(rate=0.5, engine="tensorflow"):
    model = tfkit.Sequential([tfkit.Input((4,)), layers.FlaxLayer(Net(rate), seed=1)])
    model.compile(tfkit.optimizers.SGD(0.1), "mse", engine=engine)
    return model


def test_weights_are_those_of_the_module():
    net = Net()
    layer = layers.FlaxLayer(net, name="net")
    assert layer.params["blocks"][1]["kernel"].path == "net/kernel"
    assert len(layer.trainable_weights) == 8
    assert len(layer.non_trainable_weights) == 2
    net.eval()
    np.testing.assert_allclose(layer(X), net(X), atol=1e-6)
    again = layers.FlaxLayer(net, method="doubled")(X)
    by_function = layers.FlaxLayer(net, method=lambda module, inputs: 2.0 * module(inputs))(X)
    np.testing.assert_allclose(again, 2 * net(X), atol=1e-6)
    np.testing.assert_allclose(by_function, again, atol=1e-6)


@pytest.mark.parametrize("engine", ["tensorflow", "jax"])
def test_training_equals_that_of_plain_nnx(engine):
    net = Net(rate=0.0)
    net.train()
    for _ in range(2):
        for rows in range(0, 24, 8):
            x, y = X[rows : rows + 8], Y[rows : rows + 8]
            gradients = nnx.grad(lambda net, x=x, y=y: jnp.mean((net(x) - y) ** 2))(net)
            params = nnx.state(net, nnx.Param)
            nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients))
    model = network(0.0, engine)
    model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    assert ("JAX" in str(model.plan)) == (engine == "jax")
    layer = model.layers[0]
    for found, kind in ((layer.params, nnx.Param), (layer.state, nnx.BatchStat)):
        expected = nnx.to_pure_dict(nnx.state(net, kind))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), found, expected)
    net.eval()
    np.testing.assert_allclose(model.predict(X, verbose=0), net(X), atol=1e-5)


def test_draws_are_the_same_on_both_engines_and_differ_from_call_to_call():
    first, second = (network(engine=engine) for engine in ("tensorflow", "jax"))
    for model in (first, second):
        model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    for one, two in zip(first.variables, second.variables, strict=True):
        np.testing.assert_allclose(two, one, atol=1e-5, err_msg=one.path)
    layer = first.layers[0]
    calls = [np.asarray(layer(X, training=True)) for _ in range(2)]
    assert abs(calls[0] - calls[1]).max() > 0.1


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.weights.h5"])
def test_files(name, tmp_path):
    model = network()
    model.fit(X, Y, verbose=0)
    if "weights" in name:
        model.save_weights(tmp_path / name)
        loaded = network()
        loaded.load_weights(tmp_path / name)
    else:
        model.save(tmp_path / name)
        loaded = tfkit.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))


def test_refusals():
    with pytest.raises(TypeError, match=r"`flax\.linen\.Module` or a `flax\.nnx\.Module`"):
        layers.FlaxLayer(object())
    with pytest.raises(ValueError, match=r"has its values itself: set them there"):
        layers.FlaxLayer(Net(), variables={})


def test_a_function_of_jax_is_itself_in_a_conversion():
    """Its gradient is JAX's, with no code of XLA between."""
    model = network(0.0)
    f, params, state = tfkit.interop.to_jax(model, X)
    outputs, _ = f(params, state, X)
    np.testing.assert_allclose(outputs, model(X), atol=1e-6)
    program = str(jax.make_jaxpr(jax.grad(lambda p: f(p, state, X)[0].sum()))(params))
    assert "call_exported" not in program
    assert "dot_general" in program
    with pytest.raises(NotImplementedError, match="JaxFunction"):
        tfkit.interop.to_torch(model, X)
