"""Products in two halves of their rows, in steps that XLA compiles: the same numbers for any rows."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine import passes
from tfkit.src.engine.passes import halves as halving


def products(shape):
    """Returns the nodes of products of a dense layer with a kernel of a shape, marked as in a step."""
    dense = keras.layers.Dense(shape[1])
    dense.build((None, shape[0]))
    function = tf.function(dense, autograph=False)
    graph = function.get_concrete_function(tf.TensorSpec([None, shape[0]])).graph
    passes.mark_products(graph)
    return [node for node in graph.as_graph_def().node if node.op == "MatMul"]


@pytest.mark.parametrize("num_rows", [1, 31, 38, 39, 64, 65, 99, 130])
def test_halves_are_equal_to_the_whole(num_rows):
    (node,) = products((256, 256))
    halves = tf.function(halving.halves_of(node), jit_compile=True, autograph=False)
    left, right = np.random.default_rng(0).normal(size=(2, 256, 256)).astype("float32")
    left = tf.constant(left[:num_rows])
    given = halves(left, tf.constant(right))
    assert given.shape == (num_rows, 256)
    np.testing.assert_allclose(given, left @ right, rtol=1e-5, atol=256 * 1.2e-7)


def test_only_products_of_steps_that_gain_by_it_have_halves():
    assert halving.halves_of(*products((64, 784)))
    assert not halving.halves_of(*products((784, 64)))  # Halves of the left would be copied.
    assert not halving.halves_of(*products((16, 32)))  # Too small.
    assert not halving.halves_of(*products((1024, 1024)))  # Both cores work on it.


def test_a_program_with_halves_trains_as_one_without_xla():
    x = np.random.default_rng(1).normal(size=(160, 256)).astype("float32")
    weights = []
    for compiles in (True, False):
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [keras.layers.Dense(256, activation="tanh"), keras.layers.Dense(1)]
        )
        model.compile("sgd", "mse", jit_compile=compiles)
        model.fit(x, x[:, :1], batch_size=64, epochs=2, shuffle=False, verbose=0)
        weights.append(model.layers[0].kernel.numpy())
    np.testing.assert_allclose(*weights, rtol=1e-4, atol=1e-6)
