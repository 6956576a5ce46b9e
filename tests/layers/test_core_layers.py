"""Dense, Embedding, Masking, Activation, Wrapper, EinsumDense: seeds, masks, and what they refuse."""

import json
import traceback

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit.random
from tfkit import layers


def test_equal_seeds_give_the_initial_weights_of_keras():
    def weights(module):
        made = [
            (module.Dense(4), (2, 3)),
            (module.Embedding(5, 3), (2, 3)),
            (module.EinsumDense("abc,cde->abde", (None, 2, 3)), (2, 4, 6)),
            (module.Attention(use_scale=True, score_mode="concat"), [(2, 4, 6), (2, 4, 6)]),
            (module.AdditiveAttention(), [(2, 4, 6), (2, 4, 6)]),
        ]
        for layer, shape in made:
            layer.build(shape)
        heads = module.MultiHeadAttention(2, 3, dropout=0.1)
        heads.build((2, 4, 6), (2, 5, 6))
        return [value for layer, _ in made for value in layer.get_weights()] + heads.get_weights()

    tfkit.utils.set_random_seed(11)
    ours = weights(layers)
    keras.utils.set_random_seed(11)
    theirs = weights(keras.layers)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_dense_takes_integers_and_sparse_tensors():
    layer = layers.Dense(4)
    dense = tf.constant([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    expected = layer(dense)
    np.testing.assert_allclose(layer(tf.cast(dense, "int64")), expected, rtol=1e-6)
    np.testing.assert_allclose(layer(tf.sparse.from_dense(dense)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.Dense(-1), r"`units` of layer Dense.*positive integer.*units=-1"),
        (lambda: layers.Dense(2.5), "units=2.5"),
        (lambda: layers.Dense(2, activation="rleu"), r"'rleu'. Did you mean 'relu'\?"),
        (lambda: layers.Dense(2, units_=3), r"passed to Dense: \{'units_': 3\}"),
        (lambda: layers.Embedding(0, 2), "`input_dim` of layer Embedding.*input_dim=0"),
        (lambda: layers.Embedding(2, True), "`output_dim`.*output_dim=True"),
        (lambda: layers.EinsumDense("ab->ac", 3), "`equation` of layer EinsumDense.*'ab->ac'"),
        (lambda: layers.ReLU(negative_slope=-1), "`negative_slope` of layer ReLU.*-1"),
        (lambda: layers.Wrapper("dense"), "`layer` of layer Wrapper.*'dense'"),
        (lambda: layers.Lambda("relu"), "`function` of layer Lambda.*'relu'"),
    ],
)
def test_bad_arguments_are_refused_by_the_constructor(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("layer", "inputs", "message"),
    [
        (layers.Dense(2), tf.ones(3), r"expected min_ndim=2, found ndim=1.*\(3,\)"),
        (layers.Dense(2), tf.constant([["a"]]), r"'dense.*string tensor of shape \(1, 1\)"),
        (layers.Embedding(3, 2), tf.constant(["a"]), "integer ids.*string"),
        (layers.EinsumDense("ab,bc->ac", (2, 2)), tf.ones((2, 3)), "'ab,bc->ac' does not fit"),
        (layers.EinsumDense("ab,bc->ac", 2, bias_axes="d"), tf.ones((2, 3)), "bias_axes='d'"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(layer, inputs, message):
    with pytest.raises(ValueError, match=message):
        layer(inputs)


def test_another_size_of_features_is_refused():
    layer = layers.Dense(2)
    layer.build((None, 3))
    with pytest.raises(ValueError, match="axis -1 of input shape to have value 3, found 4"):
        layer(tf.ones((1, 4)))


def test_embedding_takes_float_ids_given_weights_and_refuses_unknown_ids():
    table = np.arange(1200, dtype="float32").reshape(600, 2)
    layer = layers.Embedding(600, 2, weights=table, dtype="mixed_bfloat16")
    np.testing.assert_array_equal(layer.embeddings, table)
    # 257 is no bfloat16.
    np.testing.assert_allclose(layer(tf.constant([257.0])), [[514, 516]], rtol=0.01)
    assert "weights" not in layer.get_config()
    with pytest.raises(tf.errors.InvalidArgumentError, match="600"):
        layer(tf.constant([600]))


def test_embedding_says_that_input_length_is_gone():
    with pytest.warns(UserWarning, match="`input_length` is deprecated"):
        layers.Embedding(3, 2, input_length=4)


def test_embedding_gradients_are_slices():
    layer = layers.Embedding(1000, 2)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([1, 2])))
    assert isinstance(tape.gradient(loss, layer.embeddings), tf.IndexedSlices)


def test_masks_of_padding_reach_the_layers_after():
    seen = []

    class Spy(layers.Layer):
        def call(self, inputs, mask=None):
            seen.append(mask)
            return inputs

    ids = tf.constant([[1, 2, 0], [3, 0, 0]])
    hidden = layers.Dense(4)(layers.Dropout(0.5)(layers.Embedding(5, 2, mask_zero=True)(ids)))
    Spy()(hidden)
    np.testing.assert_array_equal(seen[0], [[True, True, False], [True, False, False]])


def test_masking_zeroes_and_masks_the_steps_of_its_value():
    inputs = tf.constant([[[7.0, 7.0], [7.0, 1.0], [7.0, 7.0]]])
    outputs = layers.Masking(7.0)(inputs)
    np.testing.assert_array_equal(outputs, [[[0, 0], [7, 1], [0, 0]]])
    np.testing.assert_array_equal(outputs._keras_mask, [[False, True, False]])


def test_softmax_leaves_masked_entries_out():
    layer, oracle = layers.Softmax(), keras.layers.Softmax()
    inputs = tf.constant([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    mask = tf.constant([[True, False, True], [False, False, False]])
    np.testing.assert_allclose(layer(inputs, mask=mask), oracle(inputs, mask=mask), rtol=1e-6)
    of_integers = tf.cast(mask, "int64")
    np.testing.assert_array_equal(layer(inputs, mask=of_integers), layer(inputs, mask=mask))


def test_a_wrapper_builds_and_tracks_the_layer_inside():
    class Twice(layers.Wrapper):
        def call(self, inputs):
            return self.layer(self.layer(inputs))

    layer = Twice(layers.Dense(3))
    layer.build((None, 3))
    assert len(layer.weights) == 2
    copy = Twice.from_config(layer.get_config())
    assert copy.layer.units == 3


@pytest.mark.parametrize(
    ("shape", "message"),
    [((2, 3), "must be broadcastable"), ((1, 1, 3), "must not have more dimensions")],
)
def test_a_mask_larger_than_the_inputs_of_softmax_is_refused(shape, message):
    for where in (layers, keras.layers):
        with pytest.raises(ValueError, match=message):
            where.Softmax()(np.ones((1, 3), "float32"), mask=np.ones(shape, "float32"))
    layer, oracle = layers.Softmax(), keras.layers.Softmax()
    inputs = np.arange(6.0, dtype="float32").reshape(2, 3)
    mask = np.array([1.0, 0.0, 1.0])
    np.testing.assert_allclose(layer(inputs, mask=mask), oracle(inputs, mask=mask), rtol=1e-6)


def test_a_sparse_product_has_the_gradients_of_the_dense_one():
    layer, rng = layers.Dense(4), np.random.default_rng(0)
    dense = rng.normal(size=(5, 6)).astype("float32") * (rng.uniform(size=(5, 6)) > 0.7)
    dense[:, 2] = 0
    entries = tf.sparse.from_dense(dense)
    layer(entries)

    def gradients(x, values):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch(values)
                loss = tf.reduce_sum(layer(x) ** 3)
            first = tape.gradient(loss, [layer.kernel, values])
            penalty = tf.reduce_sum(tf.convert_to_tensor(first[0]) ** 2)
        return first, outer.gradient(penalty, layer.kernel)

    (kernel, values), second = gradients(entries, entries.values)
    x = tf.constant(dense)
    (whole, all_values), expected = gradients(x, x)
    used = np.flatnonzero(dense.any(axis=0))
    assert isinstance(kernel, tf.IndexedSlices)
    assert sorted(kernel.indices.numpy()) == used.tolist()
    np.testing.assert_allclose(tf.convert_to_tensor(kernel), whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values, tf.gather_nd(all_values, entries.indices), rtol=1e-5)
    np.testing.assert_allclose(tf.convert_to_tensor(second), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_cast_of_mixed_precision_is_no_step_of_a_functional_model(sparse):
    entry = tfkit.Input((6,), sparse=sparse)
    hidden = layers.Dense(3, dtype="mixed_bfloat16")(entry)
    model = tfkit.Model(entry, layers.Dense(2)(hidden))
    assert [hidden.dtype, model.output.dtype] == ["bfloat16", "float32"]
    assert [type(layer).__name__ for layer in model.layers] == ["InputLayer", "Dense", "Dense"]
    again = tfkit.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    x = np.eye(6, dtype="float32")
    x = tf.sparse.from_dense(x) if sparse else x
    np.testing.assert_array_equal(again(x), model(x))


def test_numbers_of_numpy_are_numbers():
    n, x = np.int64, tf.ones((2, 4, 6))
    made = [
        layers.Embedding(n(2), n(3)),
        layers.Conv1D(n(2), n(3), strides=n(1)),
        layers.Reshape(np.array([3, 8])),
        layers.EinsumDense("abc,cd->abd", (None, n(3))),
        layers.BatchNormalization(axis=n(1)),
        layers.RNN([layers.LSTMCell(n(2)), layers.GRUCell(n(3))]),
        layers.Dropout(np.float32(0.5)),
    ]
    for layer in made:
        config = layer.get_config()
        json.dumps(config)
        assert type(layer).from_config(config)(x).shape == layer(x).shape


def test_an_embedding_of_ragged_ids_keeps_a_known_batch_size():
    outputs = layers.Embedding(5, 4)(tfkit.KerasTensor((2, None), "int32", ragged=True))
    assert (outputs.shape, outputs.ragged) == ((2, None, 4), True)
    deep = layers.Embedding(5, 4)(tfkit.KerasTensor((None, None, None, 3), "int32", ragged=True))
    assert deep.shape == (None, None, None, 3, 4)


# --- ReversibleEmbedding ------------------------------------------------------------------------------


@pytest.mark.parametrize("tie_weights", [True, False])
@pytest.mark.parametrize("cap", [None, 2.0])
def test_vectors_become_logits(tie_weights, cap):
    options = {"tie_weights": tie_weights, "logit_soft_cap": cap}
    layer = layers.ReversibleEmbedding(7, 3, **options)
    oracle = keras.layers.ReversibleEmbedding(7, 3, **options)
    layer.build()
    oracle.build()
    draws = np.random.default_rng(0)
    layer.set_weights([draws.normal(size=weight.shape) for weight in oracle.weights])
    oracle.set_weights(layer.get_weights())
    assert [weight.label for weight in layer.weights] == [weight.name for weight in oracle.weights]
    vectors = draws.normal(size=(2, 4, 3)).astype("float32")
    logits = layer(vectors, reverse=True)
    np.testing.assert_allclose(logits, oracle(vectors, reverse=True), rtol=1e-5, atol=1e-6)
    run = tf.function(
        lambda x: layer(x, reverse=True), input_signature=[tf.TensorSpec([None, None, 3])]
    )
    np.testing.assert_allclose(run(vectors), logits, rtol=1e-6)


def test_logits_have_no_mask_and_a_dtype_of_their_own():
    layer = layers.ReversibleEmbedding(
        7, 3, mask_zero=True, reverse_dtype="float32", dtype="mixed_bfloat16"
    )
    ids = tfkit.Input((4,), dtype="int32")
    vectors = layer(ids)
    logits = layer(vectors, reverse=True)
    assert (vectors.dtype, logits.dtype, logits.shape) == ("bfloat16", "float32", (None, 4, 7))
    model = tfkit.Model(ids, [vectors, logits])
    given, outputs = model(np.array([[1, 0, 2, 0]]))
    assert given._keras_mask.numpy().tolist() == [[True, False, True, False]]
    assert getattr(outputs, "_keras_mask", None) is None
    assert layer(np.array([[0, 1, 2]]), reverse=True).shape == (1, 7)


def test_wrong_reversible_embeddings():
    with pytest.raises(ValueError, match="`logit_soft_cap`"):
        layers.ReversibleEmbedding(7, 3, logit_soft_cap=0)
    with pytest.raises(ValueError, match="`reverse_dtype`"):
        layers.ReversibleEmbedding(7, 3, reverse_dtype="int32")
    with pytest.raises(ValueError, match="`output_dim`"):
        layers.ReversibleEmbedding(7, 0)


def test_a_language_model_with_tied_weights(tmp_path):
    tfkit.utils.set_random_seed(1)
    layer = layers.ReversibleEmbedding(7, 8)
    ids = tfkit.Input((None,), dtype="int32")
    model = tfkit.Model(ids, layer(layers.LSTM(8, return_sequences=True)(layer(ids)), reverse=True))
    loss = tfkit.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tfkit.optimizers.Adam(0.05), loss)
    x = np.arange(70).reshape(10, 7) % 7
    losses = model.fit(x, (x + 1) % 7, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]
    for name in ("model.h5", "model.keras"):
        model.save(tmp_path / name)
        loaded = tfkit.saving.load_model(tmp_path / name)
        np.testing.assert_allclose(loaded(x), model(x), atol=1e-6)


def test_a_product_is_three_calls_below_the_call_of_a_layer(monkeypatch):
    """`Layer.__call__`, its phases, and `Dense.call`: in two files."""
    dense, found = layers.Dense(2), []
    multiply = tf.matmul

    def spy(*factors):
        found.extend(it for it in traceback.extract_stack() if "/tfkit/src/" in it.filename)
        return multiply(*factors)

    monkeypatch.setattr(tf, "matmul", spy)

    class Outer(layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = dense

        def call(self, inputs):
            found.clear()
            return self.dense(inputs)

    Outer()(tf.ones((1, 3)))
    start = max(i for i, it in enumerate(found) if it.name == "__call__")
    assert [it.name for it in found[start:]] == ["__call__", "_tfkit_call_in_phases", "call"]
    assert len({it.filename for it in found[start:]}) == 2


@pytest.mark.parametrize("options", [{}, {"padding": "same", "strides": 1}, {"pool_size": (3, 1)}])
@pytest.mark.parametrize("rows", [1, 9])
def test_compiled_calls_find_the_largest_of_each_window(options, rows):
    layer = layers.MaxPooling2D(**{"pool_size": 2, **options})
    model = tfkit.Sequential([layer])
    images = tf.random.stateless_normal([rows, 7, 6, 3], [1, 2])
    outputs = [model(images) for _ in range(3)]  # The first call runs eagerly.
    expected = keras.layers.MaxPooling2D.from_config(layer.get_config())(images)
    with tf.GradientTape() as tape:
        tape.watch(images)
        outputs.append(model(images))
    for each in (*outputs, model.predict(images, verbose=0)):
        np.testing.assert_array_equal(each, expected)
    with tf.GradientTape() as by_formula:
        by_formula.watch(images)
        expected = layer.call(images)
    np.testing.assert_array_equal(
        tape.gradient(outputs[-1], images), by_formula.gradient(expected, images)
    )
