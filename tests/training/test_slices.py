"""Datasets that are slices of tensors: trained on as arrays, in the order that the dataset has."""

import gc

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.training import tensor_slices
from tfkit.src.training.data import ArrayData
from tfkit.src.training.tensor_slices import SlicesData, as_slices

ROWS = np.arange(100)


def pairs():
    return tf.data.Dataset.from_tensor_slices((ROWS, {"doubled": ROWS * 2}))


TAKEN = {
    "batches": lambda rows: rows.batch(7),
    "full batches": lambda rows: rows.batch(7, drop_remainder=True).prefetch(2),
    "read in parallel": lambda rows: rows.batch(30, num_parallel_calls=2),
    "one batch": lambda rows: rows.batch(500),
    "shuffled": lambda rows: rows.shuffle(10, seed=3).batch(7).prefetch(tf.data.AUTOTUNE),
    "shuffled once": lambda rows: rows.shuffle(100, 1, reshuffle_each_iteration=False).batch(9),
    "shuffled, full batches": lambda rows: rows.shuffle(100, 2).batch(9, drop_remainder=True),
    "shuffled twice": lambda rows: rows.shuffle(7, seed=1).shuffle(9, seed=2).batch(10),
    "the middle": lambda rows: rows.take(60).skip(20).batch(8),
    "the middle, full batches": lambda rows: rows.skip(20).take(20).batch(8, drop_remainder=True),
    "a part, shuffled": lambda rows: rows.skip(20).shuffle(30, seed=5).take(50).batch(8),
    "shuffled as a whole": lambda rows: rows.take(30).shuffle(tf.data.UNKNOWN_CARDINALITY).batch(8),
    "by the global seed": lambda rows: rows.shuffle(50).batch(8),
}


@pytest.mark.parametrize("name", TAKEN)
def test_batches_are_those_of_the_dataset(name):
    tf.random.set_seed(7)
    dataset = TAKEN[name](pairs())
    data = as_slices(dataset)
    assert isinstance(data, SlicesData if "huffle" in name or "seed" in name else ArrayData)
    for _ in range(3):
        expected, given = list(dataset), list(data.batches())
        assert len(given) == len(expected) == data.num_batches
        tf.nest.map_structure(np.testing.assert_array_equal, given, expected)


LEFT = {
    "rows changed": lambda rows: rows.map(lambda row, more: (row, more)).batch(5),
    "batches changed": lambda rows: rows.batch(5).filter(lambda row, more: row[0] > 3),
    "rows repeated": lambda rows: rows.repeat(2).batch(5),
    "batches repeated": lambda rows: rows.batch(5).repeat(),
    "batches shuffled": lambda rows: rows.batch(5).shuffle(4),
    "batches of batches": lambda rows: rows.batch(2).batch(3),
    "rows": lambda rows: rows,
    "nothing": lambda rows: rows.take(0).batch(5),
    "no full batch": lambda rows: rows.batch(500, drop_remainder=True),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_datasets_are_read(name):
    assert as_slices(LEFT[name](pairs())) is None


def test_ragged_rows_are_read():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
    assert as_slices(rows.batch(1)) is None


def test_parts_of_one_shuffle_have_no_row_in_common():
    shuffled = pairs().shuffle(100, seed=1, reshuffle_each_iteration=False)
    parts = [shuffled.take(70).batch(10), shuffled.skip(70).batch(10)]
    first, second = ([row for row, _ in as_slices(part).batches()] for part in parts)
    np.testing.assert_array_equal(np.sort(np.concatenate(first + second)), ROWS)


@pytest.mark.parametrize("window", [1, 1000, 2**15 + 1, 10**6])
def test_an_order_of_many_rows_is_that_of_the_dataset(window):
    rows = np.arange(100_000)
    dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(window, seed=4).batch(len(rows))
    data = as_slices(dataset)
    for _ in range(2):
        np.testing.assert_array_equal(data.order([]), dataset.get_single_element())


def test_a_shuffle_without_seeds_is_another_each_time():
    orders = [[*as_slices(pairs().shuffle(100).batch(100)).order([]).numpy()] for _ in range(2)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == [*ROWS]


def test_a_shuffle_that_tensorflow_has_changed_is_left_to_it(monkeypatch):
    monkeypatch.setattr(tensor_slices, "agrees_with_tensorflow", lambda: False)
    assert as_slices(pairs().shuffle(5, seed=1).batch(5)) is None
    assert as_slices(pairs().batch(5)) is not None


def make_model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    return model


X = np.random.default_rng(1).random((50, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weights", [None, {0: 1.0, 1: 2.0, 2: 3.0}])
def test_a_training_is_that_of_the_pipeline(weights):
    targets = (Y > 1.5).astype("int32")

    def histories(change):
        model = make_model()
        train = tf.data.Dataset.from_tensor_slices((X, targets)).shuffle(20, seed=1).batch(8)
        test = tf.data.Dataset.from_tensor_slices((X, targets)).shuffle(9, seed=2).batch(9)
        options = {"epochs": 3, "class_weight": weights, "verbose": 0}
        first = model.fit(change(train), validation_data=change(test), **options).history
        second = model.fit(change(train), **options).history  # Goes on with other orders.
        return [*first.values(), *second.values(), model.evaluate(change(test), verbose=0)]

    ours, read = histories(lambda it: it), histories(lambda it: it.map(lambda *batch: batch))
    for given, expected in zip(ours, read, strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-5)


def test_predictions_are_in_the_order_of_the_dataset():
    model = make_model()
    rows = tf.data.Dataset.from_tensor_slices((X, Y))
    np.testing.assert_allclose(model.predict(rows.batch(8), verbose=0), model(X), rtol=1e-5)
    once = rows.shuffle(50, seed=3, reshuffle_each_iteration=False).batch(8)
    expected = np.concatenate([model(x) for x, _ in once])
    np.testing.assert_allclose(model.predict(once, verbose=0), expected, rtol=1e-5)
    streamed = np.concatenate(list(model.predict(once, stream=True)))
    np.testing.assert_allclose(streamed, expected, rtol=1e-5)


@pytest.mark.parametrize("shuffled", [False, True])
def test_steps_of_an_epoch_go_on_in_the_dataset_and_begin_anew(shuffled):
    def losses(change):
        model = make_model()
        rows = tf.data.Dataset.from_tensor_slices((X, Y))
        rows = rows.shuffle(50, seed=3) if shuffled else rows
        with pytest.warns(UserWarning, match="ran out of data"):
            history = model.fit(
                change(rows.batch(10)),
                epochs=4,
                steps_per_epoch=3,
                validation_data=change(rows.batch(9)),
                validation_steps=2,
                verbose=0,
            )
        assert int(model.optimizer.iterations) == 10
        return [*history.history.values(), model.evaluate(change(rows.batch(10)), steps=2)]

    ours, read = losses(lambda it: it), losses(lambda it: it.map(lambda *batch: batch))
    for given, expected in zip(ours, read, strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-5)


def test_a_shuffle_that_is_gone_leaves_nothing():
    gc.collect()
    before = len(tensor_slices._shuffles)
    dataset = pairs().shuffle(5).batch(5)
    assert as_slices(dataset) is not None
    assert len(tensor_slices._shuffles) == before + 1
    del dataset
    gc.collect()
    assert len(tensor_slices._shuffles) == before
