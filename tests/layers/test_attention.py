"""Attention: masks, causality and scores as in Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import layers


def sequences():
    draws = np.random.default_rng(0)
    return [tf.constant(draws.normal(size=shape), "float32") for shape in ((2, 4, 6), (2, 3, 6))]


def pair(name, inputs, **arguments):
    layer = getattr(layers, name)(**arguments)
    oracle = getattr(keras.layers, name)(**arguments)
    layer(*inputs)
    oracle(*inputs)
    draws = np.random.default_rng(1)
    layer.set_weights([draws.normal(size=weight.shape) for weight in layer.weights])
    oracle.set_weights(layer.get_weights())
    return layer, oracle


QUERY_MASK = tf.constant([[True, True, True, False], [True, False, False, False]])
VALUE_MASK = tf.constant([[True, True, False], [False, True, True]])


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize(
    "options",
    [
        {"use_causal_mask": True},
        {"value_mask": VALUE_MASK},
        {"value_mask": VALUE_MASK, "use_causal_mask": True},
        {"attention_mask": tf.constant(np.tri(4, 3, -1)[np.newaxis].repeat(2, 0), "bool")},
        {"return_attention_scores": True, "key_mask": VALUE_MASK},
    ],
    ids=lambda options: "-".join(options),
)
def test_multi_head_masks(dropout, options):
    query, value = sequences()
    arguments = {"num_heads": 2, "key_dim": 3, "dropout": dropout, "sliding_window": 3}
    layer, oracle = pair("MultiHeadAttention", (query, value), **arguments)
    ours, theirs = layer(query, value, **options), oracle(query, value, **options)
    for a, b in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_mask_of_the_query_travels_on():
    query, value = sequences()
    query._keras_mask = QUERY_MASK
    layer = layers.MultiHeadAttention(2, 3)
    outputs, scores = layer(query, value, return_attention_scores=True)
    np.testing.assert_array_equal(outputs._keras_mask, QUERY_MASK)
    assert scores.shape == (2, 2, 4, 3)
    assert np.all(scores.numpy()[0, :, 3] == 0)


def test_key_and_output_shape():
    query, value = sequences()
    key = value[..., :2]
    layer, oracle = pair(
        "MultiHeadAttention", (query, value, key), num_heads=2, key_dim=3, output_shape=(2, 5)
    )
    outputs = layer(query, value, key)
    assert outputs.shape == (2, 4, 2, 5)
    np.testing.assert_allclose(outputs, oracle(query, value, key), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Attention", "AdditiveAttention"])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_masks(name, causal):
    inputs = sequences()
    layer, oracle = pair(name, (inputs,), use_scale=True)
    options = {"use_causal_mask": causal, "return_attention_scores": True}
    for mask in ([QUERY_MASK, VALUE_MASK], [None, VALUE_MASK], None):
        ours, theirs = layer(inputs, mask=mask, **options), oracle(inputs, mask=mask, **options)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Attention", "AdditiveAttention", "MultiHeadAttention"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_masked_scores_of_16_bits_are_finite(name, dtype):
    """What masked scores are made less by must be a number of the dtype: 1e9 is infinite in float16."""
    query, value = (tf.cast(4 * each, dtype) for each in sequences())
    if name == "MultiHeadAttention":
        layer = layers.MultiHeadAttention(2, 3, dtype=dtype)
        attend = lambda mask: layer(query, value, value_mask=mask)  # noqa: E731
    else:
        layer = getattr(layers, name)(dtype=dtype)
        attend = lambda mask: layer([query, value], mask=[None, mask])  # noqa: E731
    partly = attend(VALUE_MASK)
    assert np.all(np.isfinite(tf.cast(partly, "float32")))
    # What is masked has no weight at all, whatever stands there.
    value = tf.where(VALUE_MASK[..., tf.newaxis], value, tf.cast(-60, dtype))
    np.testing.assert_array_equal(attend(VALUE_MASK), partly)
    # A query that sees nothing gets a mean of what it does not see: still a number.
    assert np.all(np.isfinite(tf.cast(attend(tf.zeros_like(VALUE_MASK)), "float32")))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.MultiHeadAttention(0, 2), "`num_heads` of layer MultiHeadAttention.*=0"),
        (lambda: layers.MultiHeadAttention(2, 2, sliding_window=-1), "sliding_window=-1"),
        (lambda: layers.MultiHeadAttention(2, 2, flash_attention=True), "no flash attention"),
        (lambda: layers.Attention(score_mode="cosine"), "'dot' or 'concat'.*'cosine'"),
        (lambda: layers.Attention()(tf.ones((2, 3, 4))), r"\[query, value\]"),
        (lambda: layers.AdditiveAttention()(tf.ones((2, 3, 4))), r"\[query, value\]"),
        (lambda: layers.MultiHeadAttention(2, 2, output_shape=8.0), "Invalid `output_shape`.*8.0"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_mask_of_attention_is_that_of_the_query_by_name_too():
    for layer in (layers.Attention(), layers.AdditiveAttention()):
        assert layer.compute_mask(inputs=sequences(), mask=[QUERY_MASK, None]) is QUERY_MASK
        assert layer.compute_mask(inputs=sequences(), mask=None) is None


def test_the_shape_of_an_argument_that_is_not_passed_may_be_none():
    layer, oracle = (
        each.MultiHeadAttention(2, 3, output_shape=(5, 7)) for each in (layers, keras.layers)
    )
    for shapes in [((2, 4, 6), (2, 3, 6), None), ([2, 4, 6], [2, 3, 6], [2, 3, 5])]:
        assert layer.compute_output_shape(*shapes) == (2, 4, 5, 7)
        assert tuple(oracle.compute_output_shape(*shapes)) == (2, 4, 5, 7)
