"""Sizes of axes in a trace: which are known to be equal, and never two that can differ."""

import pytest
import tensorflow as tf

from tfkit.src.engine.guards.known_values import KnownValues
from tfkit.src.engine.guards.survey import Survey


def traced(function, *shapes):
    specs = [tf.TensorSpec(shape) for shape in shapes]
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def sizes_in(function, *shapes):
    """The sizes of a function's result, those of its arguments as `a0`, `a1` for the first, `b0`, ..."""
    trace = traced(function, *shapes)
    sizes = KnownValues(trace.graph)._sizes
    names = {
        size: f"{letter}{axis}"
        for letter, tensor in zip("abc", trace.inputs, strict=False)
        for axis, size in enumerate(sizes.of(tensor) or ())
    }
    found = sizes.of(trace.outputs[0].op.inputs[0])
    return (
        None
        if found is None
        else [size if isinstance(size, int) else names.get(size, "?") for size in found]
    )


R = None
FUNCTIONS = {
    "elementwise": (lambda x: tf.tanh(x) * 2 + 1, [(R, 3)], ["a0", 3]),
    "of two that may differ": (lambda x, y: x + y, [(R, 3), (R, 3)], ["?", 3]),
    "of one and a row": (lambda x, y: x + y[0], [(R, 3), (R, 3)], ["a0", 3]),
    "product": (lambda x: tf.matmul(x, tf.ones([3, 5])), [(R, 3)], ["a0", 5]),
    "transposed product": (lambda x: tf.matmul(x, x, transpose_a=True), [(R, R)], ["a1", "a1"]),
    "batched product": (lambda x: x @ tf.linalg.matrix_transpose(x), [(R, 7, R)], ["a0", 7, 7]),
    "equation": (
        lambda x, y: tf.einsum("abc,cd->adb", x, y),
        [(R, R, 3), (3, R)],
        ["a0", "b1", "a1"],
    ),
    "mean": (lambda x: tf.reduce_mean(x, -1, keepdims=True), [(R, R)], ["a0", 1]),
    "sum": (lambda x: tf.reduce_sum(x, 0), [(R, R)], ["a1"]),
    "transposed": (lambda x: tf.transpose(x, [1, 0, 2]), [(R, R, 2)], ["a1", "a0", 2]),
    "reshaped by its shape": (lambda x: tf.reshape(x, [tf.shape(x)[0], 6]), [(R, 2, 3)], ["a0", 6]),
    "reshaped, one left": (lambda x: tf.reshape(x, [-1, 2, 3]), [(R, 2, 3)], ["a0", 2, 3]),
    "reshaped, one part of it": (lambda x: tf.reshape(x, [-1, 3]), [(R, 2, 3)], ["?", 3]),
    "broadcast": (lambda x: tf.broadcast_to(x[:1], tf.shape(x)), [(R, 3)], ["a0", 3]),
    "tiled": (lambda x: tf.tile(x, [1, 2]), [(R, 3)], ["a0", 6]),
    "tiled by a size": (
        lambda x: tf.tile(x[:, :1], [1, tf.shape(x)[0]]),
        [(R, 3)],
        ["?", "a0"],
    ),
    "filled": (lambda x: tf.fill([tf.shape(x)[1], 2], 0.0), [(R, R)], ["a1", 2]),
    "every second": (lambda x: tf.fill(tf.shape(x)[::2], 0.0), [(R, 4, R)], ["a0", "a2"]),
    "every second row": (lambda x: x[::2], [(R, 3)], ["?", 3]),
    "rows of a table": (
        lambda x, y: tf.gather(y, tf.cast(x, tf.int32)),
        [(R, 4), (9, 2)],
        ["?", 4, 2],
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_sizes_have_one_name(name):
    function, shapes, expected = FUNCTIONS[name]
    assert sizes_in(lambda *x: tf.identity(function(*x)), *shapes) == expected


def test_a_size_that_is_not_known_twice_is_not_equal_to_itself_elsewhere():
    trace = traced(lambda x: (tf.identity(x[::2]), tf.identity(x[::3])), (None,))
    sizes = KnownValues(trace.graph)._sizes
    one, other = (sizes.of(output) for output in trace.outputs)
    assert one != other


def predicates_in(function, *shapes):
    trace = traced(function, *shapes)
    survey = Survey(trace, trace.graph.as_graph_def())
    return survey.asserts_shapes(survey.name) or survey.asks(survey.name)


def attention(x):
    scores = tf.einsum("abc,adc->abd", x, x)
    return tf.einsum("abd,adc->abc", tf.nn.softmax(scores), x)


def test_an_attention_and_its_gradient_need_not_be_asked():
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_mean(attention(x))
        return tape.gradient(loss, x)

    assert not predicates_in(step, (None, 5, 4))


def test_factors_of_different_arguments_are_asked():
    assert predicates_in(lambda x, y: tf.einsum("ab,ac->bc", x, y), (None, 3), (None, 3))
    assert predicates_in(lambda x, y: tf.broadcast_to(x, tf.shape(y)), (None, 3), (None, 3))
