"""Functions of JAX and PyTorch where TensorFlow computes, and the reverse: errors say what to do."""

import numpy as np
import pytest

import tfkit
from tfkit import layers, ops

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

X, Y = np.ones((8, 4), "float32"), np.ones((8, 4), "float32")
INSTEAD = {jax: "layers.JaxLayer.*engine='jax'", torch: "layers.TorchModuleWrapper.*to_torch"}


def notes_of(function, error=TypeError):
    with pytest.raises(error) as caught:
        function()
    return " ".join(getattr(caught.value, "__notes__", ()))


@pytest.mark.parametrize("library", INSTEAD, ids=["jax", "torch"])
def test_their_functions_in_a_call(library):
    tanh = jax.numpy.tanh if library is jax else torch.tanh

    class Own(layers.Layer):
        def call(self, inputs):
            return tanh(inputs)

    model = tfkit.Sequential([layers.Dense(4), Own()])
    model.compile("sgd", "mse")
    symbolic = tfkit.Input((4,))
    ways = (lambda: Own()(X), lambda: Own()(symbolic), lambda: model.fit(X, Y, verbose=0))
    for found in map(notes_of, ways):
        assert INSTEAD[library].partition(".*")[0] in found
        assert INSTEAD[library].partition(".*")[2] in found
        assert found.count("do not compute with tensors of TensorFlow") == 1


def test_ops_and_layers_in_a_function_that_jax_traces():
    dense = layers.Dense(2)
    dense.build((None, 4))
    for function in (ops.sum, dense):
        for transform in (jax.jit, jax.grad):
            found = notes_of(lambda f=function, t=transform: t(lambda x: f(x))(X), Exception)
            assert "`interop.to_jax(layer, example)`" in found
            assert "`compile(engine='jax')`" in found
    assert notes_of(lambda: ops.reshape(X, (3, 3)), Exception) == ""
