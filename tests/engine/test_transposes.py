"""Gradients of tall kernels as transposed products, in steps that XLA compiles: the same numbers."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine import passes
from tfkit.src.engine.passes import transposes
from tfkit.src.engine.passes.transposes import transposed_of


def gradient_nodes(shape):
    """Returns the nodes of the products in the gradient of a kernel of a shape, after marking."""

    def gradient(rows, kernel):
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            loss = tf.reduce_sum(tf.sin(rows @ kernel))
        result = tape.gradient(loss, kernel)
        passes.mark_products(tf.compat.v1.get_default_graph())
        return result

    specs = tf.TensorSpec([None, shape[0]]), tf.TensorSpec(shape)
    graph = tf.function(gradient, autograph=False).get_concrete_function(*specs).graph
    return [node for node in graph.as_graph_def().node if node.op == "MatMul"]


@pytest.mark.parametrize("shape", [(512, 32), (96, 3), (96, 1)], ids=str)
@pytest.mark.parametrize("num_rows", [1, 511, 512])
def test_the_transposed_product_is_equal(shape, num_rows):
    (found,) = filter(None, map(transposed_of, gradient_nodes(shape)))
    product = tf.function(found, jit_compile=True, autograph=False)
    draws = np.random.default_rng(0)
    left, right = (draws.normal(size=(num_rows, size)).astype("float32") for size in shape)
    expected = left.T.astype("float64") @ right
    np.testing.assert_allclose(product(left, right), expected, rtol=1e-5, atol=2e-4)


def test_only_gradients_of_tall_kernels_gain_by_it():
    for shape in ((128, 512), (128, 128), (784, 64), (512, 128), (90, 30), (None, 8)):
        assert not any(map(transposed_of, gradient_nodes(shape))), shape
    for shape in ((128, 32), (784, 10)):
        assert len(list(filter(None, map(transposed_of, gradient_nodes(shape))))) == 1, shape


def products_in(function, num_columns):
    """Returns the lines of XLA's program with a product."""
    compiled = tf.function(function, jit_compile=True, autograph=False)
    left, right = tf.ones((512, 1024)), tf.ones((512, num_columns))
    program = compiled.experimental_get_compiler_ir(left, right)(stage="optimized_hlo")
    return [line for line in program.splitlines() if " dot(" in line]


def test_xla_does_not_turn_the_product_back():
    (product,) = products_in(transposes._transposed(is_column=False), num_columns=16)
    assert "f32[16,1024]" in product.split(" dot(")[0]


def test_a_single_column_is_no_product_which_xla_would_read_by_columns():
    assert not products_in(transposes._transposed(is_column=True), num_columns=1)
    (found,) = filter(None, map(transposed_of, gradient_nodes((1024, 1))))
    assert not products_in(found, num_columns=1)


def test_a_program_with_transposed_gradients_trains_as_one_without_xla():
    x = np.random.default_rng(1).normal(size=(96, 8, 128)).astype("float32")
    weights = []
    for compiles in (True, False):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=compiles)
        model.fit(x, x[..., :1], batch_size=32, epochs=2, shuffle=False, verbose=0)
        weights.append(model.layers[0].kernel.numpy())
    np.testing.assert_allclose(*weights, rtol=1e-4, atol=1e-6)
