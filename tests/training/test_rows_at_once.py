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


VARIABLES = {"size": tf.Variable(2), "axis": tf.Variable(0)}


def checked(x, condition):
    with tf.control_dependencies([tf.debugging.Assert(condition, [x])]):
        return tf.identity(x)


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
    "parts of the rows": lambda x: tf.multiply(*tf.split(x, 2, 0)),
    "sum of as many as rows": lambda x: tf.reduce_sum(
        tf.broadcast_to(x, [count(x), count(x), 16]), 0
    ),
    "number of ones": lambda x: x / tf.reduce_sum(tf.ones_like(tf.zeros([count(x)]))),
    "number of exponents": lambda x: x / tf.reduce_sum(tf.exp(tf.zeros([count(x)]))),
    "number of zeros": lambda x: x / tf.cast(tf.size(tf.zeros([count(x), 3])), "float32"),
    "as many as zeros": lambda x: x / tf.cast(tf.shape(tf.zeros([count(x), 3]))[0], "float32"),
    "as many parts as rows": lambda x: tf.reshape(tf.reshape(x, (-1, 4))[: count(x)], (-1, 16)),
    "as many columns as rows": lambda x: tf.reduce_sum(x[:, : count(x)], 1),
    "the column of their number": lambda x: x[:, count(x)],
    "repeated, not known how often": lambda x: tf.tile(x, [VARIABLES["size"], 1]),
    "broadcast to rows": lambda x: tf.broadcast_to(x, [VARIABLES["size"], 16]),
    "cumulative sum along an axis": lambda x: tf.cumsum(x, VARIABLES["axis"]),
    "reversed along an axis": lambda x: tf.reverse(x, [VARIABLES["axis"]]),
    "columns chosen by rows": lambda x: tf.transpose(
        tf.compat.v1.where(x[:, 0] > 0, tf.transpose(x), 2 * tf.transpose(x))
    ),
    "check of their number": lambda x: checked(x, count(x) > 8),
    "check of the largest": lambda x: checked(x, tf.reduce_max(x) > 0),
    "check of the sum": lambda x: checked(x, tf.reduce_sum(x) > 0),
    "check of one of them": lambda x: checked(x, tf.reduce_any(x > 0)),
    "check in a call": lambda x: tf.function(lambda y: checked(y, count(y) > 8))(x),
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
    "lookup in tables": lambda x: tf.transpose(
        tf.gather(tf.ones((16, 5)), tf.transpose(tf.cast(x, "int32")), batch_dims=1, axis=1)
    ),
    "one hot": lambda x: tf.one_hot(tf.cast(x, "int32"), 3),
    "repeated columns": lambda x: tf.repeat(x, 2, 1),
    "split columns": lambda x: tf.multiply(*tf.split(x, 2, 1)),
    "check of all": lambda x: checked(x, tf.reduce_all(x < 1e9)),
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


ROWS = np.random.default_rng(1).normal(size=(12, 16)).astype("float32")
RANDOM = ("shuffled",)


def results_of(run):
    """The results of batches, joined; `None` where one is refused or they do not fit together."""
    try:
        parts = [np.atleast_1d(np.asarray(it)) for it in run()]
        return np.concatenate(parts)
    except (tf.errors.OpError, ValueError):
        return None


@pytest.mark.parametrize("name", [it for it in (MEETING | SEPARATE) if it not in RANDOM])
def test_predictions_are_those_of_the_batches(name):
    call = (MEETING | SEPARATE)[name]
    layer = type("Called", (layers.Layer,), {"call": lambda _, x: call(x)})
    model = tfkit.Sequential([tfkit.Input((16,)), layer()])
    for rows, steps in ((12, None), (10, None), (12, 2)):
        batches = np.split(ROWS[:rows], range(4, rows, 4))[:steps]
        expected = results_of(lambda batches=batches: (call(tf.constant(it)) for it in batches))
        options = {"batch_size": 4, "steps": steps, "verbose": 0}
        found = results_of(
            lambda rows=rows, options=options: [model.predict(ROWS[:rows], **options)]
        )
        if expected is None or found is None:
            assert expected is found, (rows, steps)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


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
    monkeypatch.setattr(program, "_joined_rows", (15, 15))
    sizes, outputs = calls_of(model, batch_size=4)
    assert sizes == [12, 11]
    np.testing.assert_allclose(outputs, by_batch(model, DATA, 4), rtol=1e-6)


def test_a_value_that_is_refused_is_refused_by_batch():
    model = tfkit.Sequential(
        [tfkit.Input((3,)), layers.Embedding(3, 2, name="table"), layers.Dense(2)]
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="table"):
        model.predict(np.full((9, 3), 7), batch_size=4, verbose=0)
    x = np.zeros((9, 3), "int32")
    np.testing.assert_allclose(
        model.predict(x, batch_size=4, verbose=0), by_batch(model, x, 4), rtol=1e-6
    )


@pytest.mark.parametrize(
    "condition", [lambda x: tf.shape(x)[0] == 23, lambda x: tf.reduce_max(x) > DATA.max() - 1e-3]
)
def test_a_check_that_holds_for_all_rows_is_made_for_each_batch(condition):
    class Checked(layers.Layer):
        def call(self, x):
            return checked(x, condition(x))

    model = tfkit.Sequential([tfkit.Input((3,)), Checked()])
    np.testing.assert_array_equal(model.predict(DATA, batch_size=23, verbose=0), DATA)
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.predict(DATA, batch_size=4, verbose=0)


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
