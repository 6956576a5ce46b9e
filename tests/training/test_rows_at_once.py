"""`predict` computes small batches at once, but only where no row of a result depends on other rows."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES
from tfkit import layers
from tfkit.src.engine.separate_rows import has_separate_rows


def count(x):
    return tf.shape(x)[0]


def has_separate(call, shape=(None, 16), dtype="float32"):
    traced = tf.function(call, autograph=False)
    return has_separate_rows(traced.get_concrete_function(tf.TensorSpec(shape, dtype)))


def looped(x):
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + tf.reduce_mean(x)), (0, x))[1]


MEETING = {
    "mean of rows": lambda x: x - tf.reduce_mean(x, 0, keepdims=True),
    "mean of all": lambda x: x - tf.reduce_mean(x),
    "norm of all": lambda x: x / tf.norm(x),
    "norm of columns": lambda x: tf.math.l2_normalize(x, 0),
    "cumulative sum": lambda x: tf.cumsum(x, 0),
    "reversed": lambda x: tf.reverse(x, [0]),
    "rolled": lambda x: tf.roll(x, 1, 0),
    "sorted": lambda x: tf.sort(x, 0),
    "shuffled": lambda x: tf.random.shuffle(x),
    "softmax of rows": lambda x: tf.nn.softmax(x, 0),
    "index of a row": lambda x: x + tf.cast(tf.range(count(x)), "float32")[:, None],
    "divided by their number": lambda x: x / tf.cast(count(x), "float32"),
    "multiplied by a part of their number": lambda x: (
        x * tf.cast(count(x) // 2 * 2, "float32") / tf.cast(count(x), "float32")
    ),
    "number of values": lambda x: x * tf.cast(tf.size(x), "float32"),
    "where there are 32": lambda x: tf.where(tf.equal(count(x), 32), x, 2 * x),
    "constant of 32 rows": lambda x: x + np.arange(512, dtype="float32").reshape(32, 16),
    "32 rows": lambda x: tf.ensure_shape(x, (32, 16)),
    "products of rows": lambda x: x @ tf.transpose(x) @ x,
    "products of rows by einsum": lambda x: tf.einsum("ij,kj->ik", x, x) @ x,
    "first row": lambda x: x[:1] + x,
    "every second row": lambda x: x[::2],
    "without the last row": lambda x: x[:-1],
    "halves exchanged": lambda x: tf.concat([x[count(x) // 2 :], x[: count(x) // 2]], 0),
    "two rows in one": lambda x: tf.reshape(x, (-1, 32)),
    "stacked, two in one": lambda x: tf.reshape(tf.concat([x, x], 0), (-1, 32))[:, :16],
    "repeated, two in one": lambda x: tf.reshape(tf.tile(x, (2, 1)), (-1, 32))[:, :16],
    "repeated": lambda x: tf.tile(x, (2, 1))[: count(x)],
    "transposed": lambda x: tf.reshape(tf.transpose(x), (-1, 16)),
    "parts transposed": lambda x: tf.reshape(
        tf.transpose(tf.reshape(x, (-1, 4, 4)), (1, 0, 2)), (-1, 16)
    ),
    "gathered": lambda x: tf.gather(x, tf.zeros_like(x[:, 0], "int32")),
    "one hot of their number": lambda x: tf.one_hot(tf.cast(x[:, 0], "int32"), count(x)) @ x,
    "segments": lambda x: tf.math.unsorted_segment_sum(
        x, tf.zeros_like(x[:, 0], "int32"), count(x)
    ),
    "padded": lambda x: tf.pad(x, [[1, 0], [0, 0]])[:-1],
    "triangle": lambda x: tf.linalg.band_part(tf.eye(count(x)), 0, -1) @ x,
    "loop": looped,
    "selected": lambda x: tf.boolean_mask(x, x[:, 0] > 0),
    "unique": lambda x: tf.gather(x, tf.unique(tf.cast(x[:, 0], "int32"))[1]),
    "statistics of a batch": lambda x: tf.compat.v1.nn.fused_batch_norm(
        x[:, None, None], tf.ones(16), tf.zeros(16), is_training=True
    )[0],
    "scalar": lambda x: tf.constant(1.0),
    "no rows": lambda x: tf.ones((3, 16)),
}

SEPARATE = {
    "product": lambda x: tf.nn.relu(x @ tf.ones((16, 4)) + tf.ones(4)),
    "product by einsum": lambda x: tf.einsum("...j,jk->...k", x, tf.ones((16, 4))),
    "softmax": lambda x: tf.nn.softmax(x),
    "norm of each": lambda x: tf.math.l2_normalize(x, 1),
    "flattened": lambda x: tf.reshape(tf.reshape(x, (-1, 2, 8)), (count(x), 16)),
    "parts": lambda x: tf.reshape(tf.reshape(x, (-1, 4)) @ tf.ones((4, 4)), (-1, 16)),
    "columns reversed": lambda x: tf.reverse(x, [1])[:, ::2],
    "joined columns": lambda x: tf.concat([x, x[:, :1]], 1),
    "parts transposed and back": lambda x: tf.transpose(
        tf.nn.softmax(tf.transpose(tf.reshape(x, (-1, 4, 4)), (1, 0, 2))), (1, 0, 2)
    ),
    "attention": lambda x: tf.matmul(x[:, :, None], x[:, :, None], transpose_b=True),
    "padded columns": lambda x: tf.pad(x, [[0, 0], [1, 1]]),
    "lookup": lambda x: tf.gather(tf.ones((5, 3)), tf.cast(x, "int32")),
    "one hot": lambda x: tf.one_hot(tf.cast(x, "int32"), 3),
    "convolution": lambda x: tf.nn.conv2d(
        tf.reshape(x, (-1, 4, 4, 1)), tf.ones((2, 2, 1, 3)), 1, "SAME"
    ),
}


@pytest.mark.parametrize("name", MEETING)
def test_rows_that_meet_are_found(name):
    assert not has_separate(MEETING[name])


@pytest.mark.parametrize("name", SEPARATE)
def test_separate_rows_are_found(name):
    assert has_separate(SEPARATE[name])


class Meeting(layers.Layer):
    """What a row of a batch gets from the others."""

    def call(self, x):
        return x - tf.reduce_mean(x, axis=0)


def model_of(*others):
    tfkit.utils.set_random_seed(1)
    return tfkit.Sequential([tfkit.Input((3,)), layers.Dense(4, "relu"), *others])


DATA = np.random.default_rng(0).normal(size=(23, 3)).astype("float32")


def by_batch(model, x, size):
    return np.concatenate([np.asarray(model(x[i : i + size])) for i in range(0, len(x), size)])


def calls_of(model, **options):
    """The sizes of the batches that a prediction runs, and its results."""
    model.predict(DATA[:1], verbose=0)
    (program,) = model._tfkit_programs._latest.values()
    sizes, run = [], program.run_batch
    program.run_batch = lambda batch: sizes.append(len(tf.nest.flatten(batch)[0])) or run(batch)
    try:
        return sizes, model.predict(DATA, verbose=0, **options)
    finally:
        del program.run_batch


def test_small_batches_are_computed_at_once():
    model = model_of(layers.Dropout(0.5), layers.Dense(2))
    sizes, outputs = calls_of(model, batch_size=4)
    assert sizes == [23]
    np.testing.assert_allclose(outputs, by_batch(model, DATA, 4), rtol=1e-6)


def test_rows_that_meet_are_computed_by_batch():
    model = model_of(Meeting())
    sizes, outputs = calls_of(model, batch_size=4)
    assert sizes == []  # The loop runs them.
    np.testing.assert_allclose(outputs, by_batch(model, DATA, 4), rtol=1e-5, atol=1e-6)


def test_callbacks_see_each_batch():
    seen = []

    class Note(tfkit.callbacks.Callback):
        def on_predict_batch_end(self, batch, logs):
            seen.append((batch, len(logs["outputs"])))

    model = model_of()
    sizes, outputs = calls_of(model, batch_size=10, callbacks=[Note()])
    assert seen == [(0, 10), (1, 10), (2, 3)]
    assert sizes == [10, 10, 3]
    np.testing.assert_allclose(outputs, by_batch(model, DATA, 10), rtol=1e-6)


def test_many_rows_are_computed_in_several_calls(monkeypatch):
    model = model_of()
    model.predict(DATA[:1], verbose=0)
    (program,) = model._tfkit_programs._latest.values()
    monkeypatch.setattr(program, "rows_at_once", 11)
    sizes, outputs = calls_of(model, batch_size=4)
    assert sizes == [8, 8, 7]
    np.testing.assert_allclose(outputs, by_batch(model, DATA, 4), rtol=1e-6)


def test_a_check_of_the_number_of_rows_holds_for_batches():
    class Checked(layers.Layer):
        def call(self, x):
            with tf.control_dependencies([tf.debugging.assert_less(tf.shape(x)[0], 8)]):
                return tf.identity(x)

    model = model_of(Checked())
    sizes, outputs = calls_of(model, batch_size=4)
    assert sizes == [23]  # Refused, and computed again by the loop.
    np.testing.assert_allclose(outputs, by_batch(model, DATA, 4), rtol=1e-6)
    assert calls_of(model, batch_size=4)[0] == []
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.predict(DATA, batch_size=9, verbose=0)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layers_give_a_row_the_same_in_any_batch(case):
    layer = case.make(layers)
    data = [
        tf.nest.map_structure(lambda it: np.concatenate([it] * 3), item) for item in case.data()
    ]
    inputs = tf.nest.flatten(data)
    size = len(inputs[0]) // 3
    specs = [tf.TensorSpec((None, *it.shape[1:]), it.dtype) for it in inputs]
    layer(*tf.nest.map_structure(tf.constant, data))

    def call(*tensors):
        return tf.nest.flatten(layer(*tf.nest.pack_sequence_as(data, tensors)))

    function = tf.function(call, autograph=False).get_concrete_function(*specs)
    if not has_separate_rows(function):
        return
    whole = function(*map(tf.constant, inputs))
    parts = [
        function(*(tf.constant(it[start : start + size - 1]) for it in inputs))
        for start in range(0, len(inputs[0]), size - 1)
    ]
    for a, b in zip(whole, map(list, zip(*parts, strict=True)), strict=True):
        np.testing.assert_allclose(a, tf.concat(b, 0), rtol=1e-5, atol=1e-6)
