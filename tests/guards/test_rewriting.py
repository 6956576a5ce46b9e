"""Functions rewritten: what is added to them has names of its own."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.guards.test_sizes import traced
from tfkit.src.engine.guards.rewriting import Rewriter
from tfkit.src.engine.guards.survey import Survey

R = None
# TensorFlow gives these operations constants of its own, called `.../axis`, `.../shape` and the like.
ASKED = {
    "gather of columns": (lambda x: tf.gather(x, [0, 2], axis=-1), [(R, R)]),
    "broadcast": (lambda x, y: tf.broadcast_to(x, tf.shape(y)), [(R, R), (R, R)]),
    "equation": (lambda x, y: tf.einsum("ab,ac->bc", x, y), [(R, R), (R, R)]),
    "gradient of columns": (
        lambda x: tf.gradients(tf.gather(x, [0, 2], axis=-1), x)[0],
        [(R, R)],
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_no_two_operations_have_one_name(name):
    function, shapes = ASKED[name]
    trace = traced(function, *shapes)
    survey = Survey(trace, trace.graph.as_graph_def())
    assert survey.asserts_shapes(survey.name) or survey.asks(survey.name)
    for rewritten in Rewriter(survey).functions:
        names = [node.name for node in rewritten.definition.node_def]
        assert len(names) == len(set(names))


def test_a_model_that_takes_columns_of_an_unknown_size_is_compiled_by_xla():
    class Columns(tfkit.layers.Layer):
        def call(self, x):
            x = tfkit.ops.reshape(x, (tfkit.ops.shape(x)[0], 6))
            return tfkit.ops.take(x, np.array([1, 5]), axis=-1)

    model = tfkit.Sequential([tfkit.Input((2, 3)), Columns(), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    model.fit(np.ones((4, 2, 3)), np.ones((4, 1)), verbose=0)
