"""Attention: masks, causality and scores as in Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
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


@pytest.mark.parametrize("framework", [keras, tfkit])
def test_inputs_keep_their_masks(framework):
    """So that the next block of a transformer does not attend to padding. Keras removes them."""
    x = framework.layers.Embedding(4, 6, mask_zero=True)(np.array([[1, 2, 0]]))
    outputs = framework.layers.Add()([x, framework.layers.MultiHeadAttention(2, 3)(x, x)])
    kept = [getattr(each, "_keras_mask", None) is not None for each in (x, outputs)]
    assert kept == ([False, False] if framework is keras else [True, True])


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
    # The first query of the second sample sees nothing: weights of 0, where Keras 3.15.1 takes the mean.
    blind = np.zeros((2, 4, 1), bool)
    blind[1, 0] = causal
    for mask in ([QUERY_MASK, VALUE_MASK], [None, VALUE_MASK], None):
        ours, theirs = layer(inputs, mask=mask, **options), oracle(inputs, mask=mask, **options)
        for a, b in zip(ours, theirs, strict=True):
            b = np.where(blind & (mask is not None), 0, b)
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


# --- Groups of heads ----------------------------------------------------------------------------------


def grouped(**options):
    """A layer of two groups of two heads and Keras's, with the same weights, and their inputs."""
    sizes = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}
    layer = layers.GroupQueryAttention(**sizes, **options)
    oracle = keras.layers.GroupQueryAttention(**sizes, **options)
    draws = np.random.default_rng(0)
    query, value = (draws.normal(size=(2, steps, 6)).astype("float32") for steps in (5, 4))
    layer.build(query.shape, value.shape)
    oracle.build(query.shape, value.shape)
    layer.set_weights([draws.normal(size=weight.shape) for weight in oracle.weights])
    oracle.set_weights(layer.get_weights())
    return layer, oracle, query, value


PADDING = np.array([[1, 1, 1, 0], [0, 1, 0, 1]], bool)
QUERY_PADDING = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 1]], bool)


@pytest.mark.parametrize("scores", [True, False])
@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({}, {"use_causal_mask": True}),
        ({}, {"value_mask": PADDING, "query_mask": QUERY_PADDING}),
        ({}, {"value_mask": PADDING, "use_causal_mask": True}),
        ({}, {"attention_mask": np.tril(np.ones((1, 5, 4), bool), 1)}),
        ({"sliding_window": 2, "use_gate": True}, {"use_causal_mask": True}),
        ({"use_bias": False}, {"key_mask": PADDING}),
    ],
    ids=str,
)
def test_groups_see_what_they_see_in_keras(options, call, scores):
    layer, oracle, query, value = grouped(**options)
    ours = layer(query, value, **call, return_attention_scores=scores)
    theirs = oracle(query, value, **call, return_attention_scores=scores)
    for a, b in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_groups_of_one_head_are_multi_head_attention():
    layer, _, query, value = grouped()
    many = layers.MultiHeadAttention(4, 3)
    many(query, value)
    weights = [
        # Keys and values for each query head of a group.
        np.repeat(weight, 2, axis=-2) if weight.shape[-2:] == (2, 3) else weight
        for weight in layer.get_weights()
    ]
    shapes = {"query": 0, "key": 2, "value": 4, "attention_output": 6}
    order = [weights[shapes[part] + i] for part in ("query", "key", "value") for i in (0, 1)]
    many.set_weights(order + weights[6:])
    np.testing.assert_allclose(layer(query, value), many(query, value), rtol=1e-5, atol=1e-5)


def test_groups_of_unknown_sizes_in_a_model():
    query = tfkit.Input((None, 6))
    attended = layers.GroupQueryAttention(3, 4, 2)(query, query, use_causal_mask=True)
    assert attended.shape == (None, None, 6)
    model = tfkit.Model(query, attended)
    model.compile("adam", "mse")
    x = np.random.default_rng(0).normal(size=(8, 5, 6)).astype("float32")
    losses = model.fit(x, x, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert model.predict(x[:, :3], verbose=0).shape == (8, 3, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2, 1), "`head_dim`"),
        ((2, 3, 2), "`num_query_heads` .* a multiple of num_key_value_heads=2"),
        ((2, 2, 1, 1.5), "`dropout`"),
        ((2, 2, 1, 0.0, True, 0), "`sliding_window`"),
        ((2, 2, 1, 0.0, True, None, True), "`flash_attention`"),
    ],
)
def test_wrong_groups(arguments, message):
    with pytest.raises(ValueError, match=message):
        layers.GroupQueryAttention(*arguments)


def test_steps_of_keys_and_values_must_be_as_many():
    with pytest.raises(ValueError, match="numbers of steps must be equal"):
        layers.GroupQueryAttention(2, 2, 1)(*(np.ones((1, steps, 4)) for steps in (3, 4, 5)))
    with pytest.raises(ValueError, match=r"a query `\(batch, T, dim\)`"):
        layers.GroupQueryAttention(2, 2, 1)(np.ones((1, 3, 2, 4)), np.ones((1, 3, 2, 4)))


def test_an_attention_mask_with_its_axes_exchanged_is_refused():
    layer = layers.MultiHeadAttention(2, 4)
    query, value = tf.ones((2, 3, 4)), tf.ones((2, 5, 4))
    for shape in ((2, 3, 5), (2, 1, 3, 5), (1, 3, 5), (3, 5), (2, 1, 5)):
        assert layer(query, value, attention_mask=tf.ones(shape, "bool")).shape == (2, 3, 4)
    with pytest.raises(
        ValueError, match=r"last axes, \(3, 5\)\. Received: attention_mask of shape \(2, 5, 3\)"
    ):
        layer(query, value, attention_mask=tf.ones((2, 5, 3), "bool"))


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize(
    ("name", "sizes"), [("MultiHeadAttention", (4, 2)), ("GroupQueryAttention", (3, 4, 2))]
)
def test_a_mask_of_each_head_goes_with_padding_and_causal_masks(name, sizes, heads):
    layer = getattr(layers, name)(*sizes)
    rng = np.random.default_rng(0)
    query = rng.normal(size=(4, 5, 8)).astype("float32")  # As many samples as heads.
    padding = np.arange(5) < np.array([5, 3, 4, 2])[:, None]
    mask = rng.random((4, heads, 5, 5)) < 0.8
    mask[..., 0] = True
    every = mask & padding[:, None, None, :] & np.tril(np.ones((5, 5), bool))
    expected = layer(query, query, attention_mask=every)
    actual = layer(query, query, attention_mask=mask, value_mask=padding, use_causal_mask=True)
    np.testing.assert_array_equal(actual, expected)
    scores = layer(query, query, attention_mask=every, return_attention_scores=True)[1]
    assert np.all(scores.numpy()[~np.broadcast_to(every, scores.shape)] == 0)


def test_a_subclass_may_pass_arrays_as_masks():
    layer = layers.MultiHeadAttention(2, 3)
    x = np.ones((1, 4, 2, 3), "float32")
    layer.build((1, 4, 3), (1, 4, 3))
    mask = np.tril(np.ones((1, 4, 4), bool))
    given, _ = layer._compute_attention(x, x, x, mask)
    made, _ = layer._compute_attention(x, x, x, tf.constant(mask))
    np.testing.assert_array_equal(given, made)
