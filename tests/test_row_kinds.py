"""How a tensor depends on the rows of a batch is found from the operations that made it."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit import ops
from tfkit.src.engine.row_kinds import ROWS, Kind, RowKinds
from tfkit.src.engine.row_rules import kind_after


def count(x):
    return tf.cast(tf.shape(x)[0], "float32")


def argmax(x):
    return tf.argmax(x, -1, output_type="int32")


def kernel():
    return tf.ones((4, 2))


SUMS = {
    "sum": lambda x: ops.sum(x, axis=0),
    "sum of all": tf.reduce_sum,
    "sum in 16 bits": lambda x: tf.zeros((), "bfloat16") + tf.reduce_sum(tf.cast(x, "bfloat16")),
    "sum of a product": lambda x: tf.matmul(x, tf.square(x), transpose_a=True),
    "einsum": lambda x: ops.einsum("bi,bj->ij", x, x),
    "segments": lambda x: tf.math.unsorted_segment_sum(x, argmax(x), 5),
    "one hot": lambda x: ops.sum(ops.one_hot(argmax(x), 5), axis=0),
    "histogram": lambda x: tf.histogram_fixed_width(x, [0.0, 1.0]),
    "scatter": lambda x: tf.scatter_nd(argmax(x)[:, None], x, [5, 4]),
    "selected": lambda x: tf.reduce_sum(tf.boolean_mask(x, x[:, 0] > 0)),
    "l2": tf.nn.l2_loss,
    "moving": lambda x: 0.9 * tf.ones(4) + 0.1 * ops.sum(x, axis=0),
    "number times mean": lambda x: tf.reduce_mean(x) * count(x),
    "rows so far": lambda x: 50 * tf.ones(()) + count(x),
}
MEANS = {
    "mean": ops.mean,
    "mean of axes": lambda x: tf.reduce_mean(x, [0, 1]),
    "by hand": lambda x: tf.reduce_sum(x, 0) / count(x),
    "by size": lambda x: tf.reduce_sum(x) / tf.cast(tf.size(x), "float32"),
    "protected": lambda x: tf.reduce_sum(x) / tf.maximum(count(x), 1.0),
    "crossentropy": lambda x: keras.losses.SparseCategoricalCrossentropy()(argmax(x), x),
    "moving": lambda x: 0.9 * tf.ones(4) + 0.1 * ops.mean(x, axis=0),
    "two views": lambda x: tf.reduce_mean(tf.concat([x, 2 * x], 0)),
}
OF_EACH_ROW = {
    "flip": lambda x: ops.flip(x, 1),
    "last flip": lambda x: x[:, ::-1],
    "roll": lambda x: tf.roll(x, 1, 1),
    "sort": lambda x: ops.sort(x, axis=1),
    "cumsum": lambda x: ops.cumsum(x, axis=1),
    "softmax": tf.nn.softmax,
    "einsum": lambda x: ops.einsum("...i,ij->...j", x, kernel()),
    "dense": lambda x: tf.matmul(x, kernel()),
    "tensordot": lambda x: tf.tensordot(tf.reshape(x, [-1, 2, 2]), tf.ones((2, 3)), 1),
    "steps and back": lambda x: tf.reshape(tf.reshape(x, [-1, 2]), [-1, 4]),
    "time first": lambda x: tf.transpose(tf.transpose(x[:, :, None], [1, 0, 2]), [1, 0, 2]),
    "all of them": lambda x: x[: tf.shape(x)[0]],
    "lookup": lambda x: tf.gather(kernel(), argmax(x)),
    "each its own": lambda x: tf.gather(x, argmax(x), axis=1, batch_dims=1),
    "views": lambda x: tf.split(tf.concat([x, 2 * x], 0), 2, 0)[1],
    "loop": lambda x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), [0, x])[1],
    "condition": lambda x: tf.cond(tf.reduce_any(x > 0), lambda: x, lambda: 2 * x),
    "zeros": lambda x: tf.zeros((tf.shape(x)[0], 4)) + x,
    "normalized": lambda x: ops.normalize(x, axis=1),
}
MET = {
    "flip": lambda x: ops.flip(x, 0),
    "backwards": lambda x: x[::-1],
    "half": lambda x: x[: tf.shape(x)[0] // 2],
    "first": lambda x: x[0],
    "shuffle": tf.random.shuffle,
    "roll": lambda x: ops.roll(x, 1, axis=0),
    "permuted": lambda x: tf.gather(x, tf.argsort(x[:, 0])),
    "neighbours": lambda x: tf.gather(x, [1, 0]),
    "gram": lambda x: tf.matmul(x, x, transpose_b=True),
    "einsum": lambda x: ops.einsum("bi,ci->bc", x, x),
    "pairs": lambda x: x[:, None] - x[None],
    "cumsum": lambda x: ops.cumsum(x, axis=0),
    "sort": lambda x: ops.sort(x, axis=0),
    "argsort": lambda x: ops.argsort(x, axis=0),
    "hardest": lambda x: tf.math.top_k(x[:, 0], 1)[0],
    "unique": lambda x: tf.unique(x[:, 0])[0],
    "softmax": lambda x: tf.nn.softmax(x, 0),
    "argmax": lambda x: tf.argmax(x, 0),
    "centered": lambda x: x - ops.mean(x, axis=0),
    "std": lambda x: ops.std(x, axis=0),
    "variance": lambda x: tf.nn.moments(x, [0])[1],
    "root": lambda x: tf.sqrt(tf.reduce_mean(x**2)),
    "ratio": lambda x: tf.reduce_sum(x) / tf.reduce_sum(tf.abs(x)),
    "mean of selected": lambda x: tf.reduce_mean(tf.boolean_mask(x, x[:, 0] > 0)),
    "unbiased": lambda x: tf.reduce_sum(x, 0) / (count(x) - 1),
    "groups": lambda x: tf.reduce_mean(tf.reshape(x, [2, -1, 4]), 0),
    "neighbours in groups": lambda x: tf.reshape(x, [-1, 2, 4]),
    "norm": lambda x: tf.linalg.l2_normalize(x, 0),
    "product": lambda x: ops.prod(x, axis=0),
    "mixed up": lambda x: 0.3 * x + 0.7 * tf.reverse(x, [0]),
}
OTHERS = {
    "constant": (lambda x: tf.constant(1.0), "count", 0),
    "number of rows": (lambda x: tf.shape(x)[0], "count", -1),
    "share": (lambda x: 1 / count(x), "count", 1),
    "columns": (lambda x: tf.shape(x)[1], "count", 0),
    "largest": (lambda x: ops.max(x, axis=0), "max", 0),
    "largest so far": (lambda x: ops.maximum(tf.zeros(4), ops.max(x, axis=0)), "max", 0),
    "smallest": (lambda x: -ops.max(-x), "min", 0),
    "any": (lambda x: tf.reduce_any(x > 3), "max", 0),
    "nested": (tf.function(lambda x: tf.reduce_sum(x)), "unknown", 0),
}
TABLE = [
    *((f"sum: {name}", function, "sum", 0) for name, function in SUMS.items()),
    *((f"mean: {name}", function, "sum", 1) for name, function in MEANS.items()),
    *((f"rows: {name}", function, "rows", 0) for name, function in OF_EACH_ROW.items()),
    *((f"met: {name}", function, "mixed", 0) for name, function in MET.items()),
    *((name, *row) for name, row in OTHERS.items()),
]


def kind_in_trace(function):
    """The kind of a function of a batch of four columns."""
    found = []

    def traced(batch):
        kinds = RowKinds(kind_after, set())
        rows = tf.identity(batch)
        kinds.note(rows, ROWS)
        found.append(kinds.of(function(rows)))
        return batch

    spec = tf.TensorSpec([None, 4], "float32")
    tf.function(traced, autograph=False).get_concrete_function(spec)
    return found[0]


@pytest.mark.parametrize(("name", "function", "form", "degree"), TABLE, ids=[it[0] for it in TABLE])
def test_the_kind_follows_from_the_operations(name, function, form, degree):
    kind = kind_in_trace(function)
    assert (kind.form, kind.degree) == (form, degree)
    assert kind.form != "rows" or kind.axis == 0
    assert kind.form != "mixed" or __file__ in kind.origin()
    assert (kind.plus is not None) == (name in ("sum: moving", "sum: rows so far"))


LOSSES = {
    "mean": (lambda y: tf.reduce_mean(y**2), 1),
    "sum": (lambda y: tf.reduce_sum(y**2), 0),
    "each": (lambda y: y**2, 0),
    "by hand": (lambda y: tf.reduce_sum(tf.abs(y)) / count(y), 1),
    "half": (lambda y: 0.5 * tf.nn.l2_loss(y), 0),
    "root": (lambda y: tf.sqrt(tf.reduce_mean(y**2)), None),
    "ratio": (lambda y: tf.reduce_sum(y) / tf.reduce_sum(tf.abs(y)), None),
    "variance": (tf.math.reduce_variance, None),
    "sum and mean": (lambda y: tf.reduce_sum(y) + tf.reduce_mean(y**2), None),
}
NETWORKS = {
    "dense": lambda x, kernel: tf.tanh(tf.matmul(x, kernel)),
    "einsum": lambda x, kernel: tf.einsum("ab...,bc->ac...", x, kernel),
    "convolution": lambda x, kernel: tf.nn.conv1d(x[:, :, None], kernel[:3, None], 1, "SAME"),
    "loop": lambda x, kernel: tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, kernel))), [0, x]
    )[1],
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_gradient_is_that_of_a_sum_or_of_a_mean(network, loss):
    weight = tf.Variable(np.ones((4, 4), "float32"))
    of_loss, degree = LOSSES[loss]

    def gradient(x):
        with tf.GradientTape() as tape:
            value = of_loss(NETWORKS[network](x, weight))
        return tape.gradient(value, weight)

    kind = kind_in_trace(gradient)
    assert (kind.form, kind.degree) == (("mixed", 0) if degree is None else ("sum", degree))


def test_a_long_chain_of_operations_is_followed():
    def chain(x):
        for _ in range(3000):
            x = x + 1
        return tf.reduce_sum(x)

    assert kind_in_trace(chain).form == "sum"


def test_values_that_replicas_have_exchanged_are_equal_on_all():
    def traced(batch):
        names = set()
        parts = [tf.identity(batch), tf.identity(batch)]
        kinds = [RowKinds(kind_after, names) for _ in parts]
        for own, part in zip(kinds, parts, strict=True):
            own.note(part, ROWS)
        total = tf.add_n([tf.reduce_sum(part, 0) for part in parts])
        assert [own.of(total) for own in kinds] == [Kind("count")] * 2
        assert kinds[1].of(parts[1] * total).form == "rows"
        return batch

    spec = tf.TensorSpec([None, 4], "float32")
    tf.function(traced, autograph=False).get_concrete_function(spec)
