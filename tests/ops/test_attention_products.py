"""The products of attention are those of Einstein's sums, in either form."""

import numpy as np
import pytest
import tensorflow as tf

from tfkit.src.ops import attention_products

SCORES, MEANS = "bthd,bshd->bhts", "bhts,bshd->bthd"


def heads(rng, *shape):
    return tf.constant(rng.normal(size=shape), "float32")


@pytest.mark.parametrize(
    ("targets", "sources"), [(24, 128), (128, 24), (23, 24), (24, 129), (1, 30)]
)
def test_products_and_gradients_are_those_of_einsum(targets, sources):
    rng = np.random.default_rng(0)
    queries, keys = heads(rng, 2, targets, 3, 4), heads(rng, 2, sources, 3, 4)
    values, weights = heads(rng, 2, sources, 3, 5), heads(rng, 2, 3, targets, sources)

    def results(scores, means):
        with tf.GradientTape() as tape:
            tape.watch((queries, keys, weights, values))
            outputs = scores(queries, keys), means(weights, values)
            total = sum(tf.reduce_sum(tf.sin(x)) for x in outputs)
        return *outputs, *tape.gradient(total, (queries, keys, weights, values))

    actual = results(attention_products.scores, attention_products.weighted_means)
    expected = results(lambda *x: tf.einsum(SCORES, *x), lambda *x: tf.einsum(MEANS, *x))
    for each, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("steps", [8, 32])
def test_a_batch_of_one_is_not_repeated(steps):
    with pytest.raises(tf.errors.InvalidArgumentError, match="dimension"):
        attention_products.scores(tf.ones((1, steps, 2, 4)), tf.ones((3, steps, 2, 4)))


@pytest.mark.parametrize(
    ("steps", "is_matmul"), [(23, False), (24, True), (128, True), (129, False), (None, False)]
)
def test_the_form_follows_from_the_number_of_steps(steps, is_matmul):
    spec = tf.TensorSpec([None, steps, 2, 4])
    graph = tf.function(attention_products.scores).get_concrete_function(spec, spec).graph
    assert ("BatchMatMulV2" in {op.type for op in graph.get_operations()}) == is_matmul
