"""Gradients that wait for products in programs that XLA compiles: the same numbers, without copies."""

import itertools
import re

import numpy as np
import pytest
import tensorflow as tf

from tfkit.src.borrowed.private import function_pb2
from tfkit.src.engine import apart, shared_programs
from tfkit.src.engine.passes import orders
from tfkit.src.training.step import trace_once, traced

ROWS = tf.random.stateless_normal([8, 24], [1, 2])
SIZES = (24, 40, 56, 72)


def kernels():
    shapes = itertools.pairwise(SIZES)
    return [tf.Variable(tf.random.stateless_normal(it, [3, 4])) for it in shapes]


def update(variables, rate=0.01, activation=tf.tanh):
    """A step of gradient descent through three products."""
    with tf.GradientTape() as tape:
        y = ROWS
        for variable in variables:
            y = activation(y @ variable)
        loss = tf.reduce_sum(y**2)
    for gradient, variable in zip(tape.gradient(loss, variables), variables, strict=True):
        variable.assign(variable - rate * gradient)
    return loss


def loop(variables):
    def body(index):
        with tf.control_dependencies([update(variables)]):
            return (index + 1,)

    return tf.while_loop(lambda index: index < 5, body, (tf.constant(0),))[0]


def early(function):
    """The shapes of early gradients, by the shapes of the products that they wait for."""
    concrete = trace_once(function, [])

    def at(reference):
        name = reference.replace(":product", "")
        return tuple(concrete.graph.get_tensor_by_name(name).shape)

    definition = function_pb2.FunctionDef()
    definition.CopyFrom(concrete.function_def)
    apart.join(definition)
    found = orders.early_gradients(definition)
    return {at(it.result): [at(waited) for waited in it.waited] for it in found}


@pytest.mark.parametrize("activation", [tf.tanh, apart.relu])
def test_gradients_wait_for_the_last_product_that_reads_a_kernel(activation):
    variables = kernels()
    found = early(lambda: update(variables, activation=activation))
    # The first kernel is read in the forward pass only, so that nothing comes after its gradient.
    assert found == {(56, 72): [(8, 40)], (40, 56): [(8, 40)]}


def test_an_update_of_what_is_read_afterwards_does_not_wait():
    first, last = tf.Variable(tf.ones([2, 2])), tf.Variable(tf.ones([2, 2]))

    def function():
        first.assign(ROWS[:2, :2] @ last)
        last.assign(ROWS[:2, :2] @ first)  # The new value.
        return first @ last

    assert early(function) == {}


def test_no_gradients_wait_for_each_other():
    first, last = tf.Variable(tf.ones([2, 2])), tf.Variable(tf.ones([2, 2]))
    x, y = ROWS[:2, :2], ROWS[2:4, :2]

    def function():
        read_first = first @ x
        first.assign(x @ y + 1.0)
        read_last = last @ first  # Comes after the product for `first`, which must not wait for it.
        last.assign(y @ x + 1.0)
        return read_first, read_last, first.read_value(), last.read_value()

    expected = tf.function(function, autograph=False)()
    first.assign(tf.ones([2, 2]))
    last.assign(tf.ones([2, 2]))
    for a, b in zip(traced(function, [], jit_compile=True)(), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_products_that_are_each_the_gradient_of_the_other_factor(monkeypatch):
    shapes = (24, 4), (4, 40)
    factors = [tf.Variable(tf.random.stateless_normal(shape, [5, 6])) for shape in shapes]

    def function():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((ROWS @ (factors[0] @ factors[1])) ** 2)  # As in LoRA.
        for gradient, factor in zip(tape.gradient(loss, factors), factors, strict=True):
            factor.assign_sub(0.01 * gradient)
        return loss

    assert set(early(function)) == {(24, 4), (4, 40)}
    results = []
    for program in programs(function, monkeypatch):
        for factor, shape in zip(factors, shapes, strict=True):
            factor.assign(tf.random.stateless_normal(shape, [5, 6]))
        program()
        results.append([factor.numpy() for factor in factors])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_updates_nothing_waits():
    variables = kernels()
    assert early(lambda: ROWS @ variables[0] @ variables[1]) == {}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize(
    "values", [[], [1.0], [np.nan, np.inf], [-np.inf, -0.0], [[np.nan], [2.0], [3.0]]]
)
def test_the_zero_is_zero(values, dtype):
    dtype = tf.as_dtype(dtype)
    zero = orders._zero(dtype, dtype, tf.float32)
    result = zero(tf.constant(values, dtype), tf.constant(values))
    assert result.numpy().tobytes() == np.zeros((), dtype.as_numpy_dtype).tobytes()


def programs(function, monkeypatch):
    """A function as programs that XLA compiles, with gradients that wait, and without."""
    with_order = traced(function, [], jit_compile=True)
    monkeypatch.setattr(shared_programs, "early_gradients", lambda definition: [])
    return with_order, traced(function, [], jit_compile=True)


def copied_kernels(program):
    """The shapes of the matrices that XLA copies in a program."""

    def call():
        arguments = {"args": program._captures, "Tout": [tf.int32], "f": program._name.decode()}
        return tf.raw_ops.StatefulPartitionedCall(**arguments)[0]

    compiled = tf.function(call, jit_compile=True, autograph=False)
    text = compiled.experimental_get_compiler_ir()(stage="optimized_hlo")
    return set(re.findall(r"= f32\[(\d+,\d+)\]\S* copy\(", text))


def test_xla_copies_no_kernel_in_a_loop(monkeypatch):
    variables = kernels()
    with_order, without = programs(lambda: loop(variables), monkeypatch)
    assert copied_kernels(without) == {"40,56", "56,72"}
    assert copied_kernels(with_order) == set()


def test_the_numbers_are_the_same(monkeypatch):
    variables, results = kernels(), []
    for program in programs(lambda: loop(variables), monkeypatch):
        for variable, value in zip(variables, kernels(), strict=True):
            variable.assign(value)
        program()
        results.append([variable.numpy() for variable in variables])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
