"""Bounds: which checks ask of arguments alone, and what programs do where a row is out of them."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine.guards import predicates
from tfkit.src.engine.guards.bounds import Bounds
from tfkit.src.engine.guards.survey import Survey

layers = keras.layers
TABLE = tf.constant(np.arange(20.0, dtype="float32").reshape(10, 2))


def bounds_of(function, *specs):
    traced = tf.function(function, autograph=False).get_concrete_function(*specs)
    survey = Survey(traced, traced.graph.as_graph_def())
    return survey.bounds.sizes, survey.asks(survey.name)


def spec(dtype, shape=(None,)):
    return tf.TensorSpec(shape, dtype)


# Functions of an argument, its dtype, and the size that is found; `None` where a predicate must be asked.
FORMS = {
    "as it is": (lambda x: tf.gather(TABLE, x), "int32", 10),
    "reshaped": (lambda x: tf.gather(TABLE, tf.reshape(x, [-1, 1])[:, 0]), "int64", 10),
    "another axis": (lambda x: tf.gather(TABLE, x, axis=1), "int32", 2),
    "two uses": (lambda x: (tf.gather(TABLE, x), tf.gather(TABLE, x, axis=1)), "int32", 2),
    "wider": (lambda x: tf.gather(TABLE, tf.cast(x, "int64")), "uint8", 10),
    "cut off": (lambda x: tf.gather(TABLE, tf.cast(x, "int32")), "float32", 10),
    "labels": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(x, tf.zeros([tf.shape(x)[0], 7])),
        "int32",
        7,
    ),
    "rows of a scatter": (
        lambda x: tf.tensor_scatter_nd_add(TABLE, x[:, None], tf.ones([tf.shape(x)[0], 2])),
        "int32",
        10,
    ),
    "too narrow": (lambda x: tf.gather(tf.zeros([40000]), tf.cast(x, "int16")), "int32", None),
    "rounded": (
        lambda x: tf.gather(TABLE, tf.cast(tf.cast(x, "bfloat16"), "int32")),
        "float32",
        None,
    ),
    "counted badly": (
        lambda x: tf.gather(tf.zeros([300]), tf.cast(tf.cast(x, "bfloat16"), "int32")),
        "int32",
        None,
    ),
    "computed": (lambda x: tf.gather(TABLE, x + 1), "int32", None),
    "places in two axes": (
        lambda x: tf.tensor_scatter_nd_add(TABLE, tf.stack([x, x], 1), tf.ones([tf.shape(x)[0]])),
        "int32",
        None,
    ),
    "a table of unknown size": (lambda x: tf.gather(x, x), "int32", None),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_bound_is_found_where_nothing_else_is_asked(name):
    function, dtype, size = FORMS[name]
    sizes, asks = bounds_of(function, spec(dtype))
    assert sizes == ({} if size is None else {0: size})
    assert asks is (size is None)


def test_rows_of_a_variable_are_bounded():
    table = tf.Variable(TABLE)
    assert bounds_of(lambda x: tf.gather(table, x), spec("int32")) == ({0: 10}, False)


def test_a_check_in_a_branch_is_no_bound():
    def function(x):
        return tf.cond(tf.size(x) > 1, lambda: tf.gather(TABLE, x), lambda: tf.zeros([1, 2]))

    assert bounds_of(function, spec("int32")) == ({}, True)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float32", "bfloat16"])
@pytest.mark.parametrize("bad", [-1, 3, 100])
def test_rows_out_of_bounds_are_found(dtype, bad):
    if bad < 0 and tf.as_dtype(dtype).is_unsigned:
        bad = 255
    good = tf.cast([[0, 1], [2, 0]], dtype)
    wrong = tf.cast([[0, 1], [bad, 0]], dtype)
    bounds = Bounds({1: 3})
    for accept in (bounds.accept, bounds.accept_rows):
        assert accept([wrong, good])
        assert not accept([good, wrong])


def test_not_a_number_is_out_of_bounds():
    assert not Bounds({0: 3}).accept_rows([tf.constant([0.0, np.nan])])


def test_rows_are_asked_in_parts(monkeypatch):
    monkeypatch.setattr("tfkit.src.engine.guards.bounds._CHUNK", 4)
    for row in (0, 3, 8, 10):
        array = np.zeros((11, 2), "int32")
        assert Bounds({0: 3}).accept_rows([tf.constant(array)])
        array[row, 1] = 3
        assert not Bounds({0: 3}).accept_rows([tf.constant(array)])


def test_labels_and_indices_of_the_batch_need_no_predicate(monkeypatch):
    def refuse(*_):
        raise AssertionError("a predicate was traced")

    monkeypatch.setattr(predicates, "_made", refuse)
    model = keras.Sequential([layers.Embedding(10, 4), layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=True)
    x, y = np.zeros((16, 5), "int32"), np.zeros((16, 5), "int32")
    model.fit(x, y, batch_size=4, verbose=0)
    assert model.evaluate(x, y, batch_size=4, verbose=0)


SIZE = 4


def classifier():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((2,)), layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)
    return model


def samples(num_steps):
    generator = np.random.default_rng(1)
    x = generator.normal(size=(SIZE * num_steps, 2)).astype("float32")
    return x, generator.integers(0, 3, len(x))


@pytest.mark.parametrize("form", ["arrays", "dataset"])
@pytest.mark.parametrize("bad_step", [0, 3, 18])
def test_steps_before_a_bad_label_are_made_and_no_more(form, bad_step):
    x, y = samples(20)

    def fit(model, x, y):
        data = (x, y)
        if form == "dataset":  # One that `fit` does not recognize as slices of arrays.
            data = (tf.data.Dataset.from_tensor_slices(data).batch(SIZE).map(lambda x, y: (x, y)),)
        options = {"batch_size": SIZE, "shuffle": False} if form == "arrays" else {}
        model.fit(*data, **options, verbose=0)

    expected, model = classifier(), classifier()
    if bad_step:
        fit(expected, x[: SIZE * bad_step], y[: SIZE * bad_step])
    y[SIZE * bad_step + 2] = 3
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"(?s)label value of 3.* step {bad_step + 1} "
    ):
        fit(model, x, y)
    for ours, theirs in zip(model.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_bad_row_that_no_step_takes_changes_nothing():
    x, y = samples(7)
    expected, model = classifier(), classifier()
    for each in (expected, model):
        each.fit(x, y, batch_size=SIZE, shuffle=False, steps_per_epoch=3, epochs=2, verbose=0)
        y[-1] = 99
    for ours, theirs in zip(model.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_are_asked_about_again_for_other_data():
    model = classifier()
    x, y = samples(4)
    model.fit(x, y, batch_size=SIZE, verbose=0)
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 3"):
        model.fit(x[:SIZE], np.full(SIZE, 3), batch_size=SIZE, verbose=0)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
