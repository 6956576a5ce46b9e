"""Iterators over datasets: small batches in memory are read without a thread for prefetching."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.training.batches import _read_directly

ROWS = np.arange(24, dtype="float32").reshape(12, 2)


def rows(values=ROWS):
    return tf.data.Dataset.from_tensor_slices(values)


def prefetches(dataset):
    """Whether TensorFlow may add prefetching."""
    return dataset.options().experimental_optimization.inject_prefetch is not False


DIRECT = {
    "one batch again and again": lambda: tf.data.Dataset.from_tensors((ROWS, ROWS)).repeat(),
    "batches of shuffled rows": lambda: rows().shuffle(5, seed=3).repeat(2).batch(5),
    "parts": lambda: tf.data.Dataset.zip((rows().skip(1), rows().take(4))).shard(2, 1).batch(2),
    "numbers": lambda: tf.data.Dataset.range(8).concatenate(tf.data.Dataset.range(3)).batch(2),
}


@pytest.mark.parametrize("name", DIRECT)
def test_small_batches_in_memory(name):
    def first(dataset):
        return list(dataset.take(9).as_numpy_iterator())

    assert prefetches(DIRECT[name]())
    read = _read_directly(DIRECT[name]())
    assert not prefetches(read)
    tf.nest.map_structure(np.testing.assert_array_equal, first(read), first(DIRECT[name]()))


UNCHANGED = {
    "a function": lambda: rows().map(lambda row: row + 1).batch(4),
    "a generator": lambda: tf.data.Dataset.from_generator(
        lambda: iter(ROWS), output_signature=tf.TensorSpec([2])
    ).batch(4),
    "a prefetching dataset": lambda: rows().batch(4).prefetch(2),
    "large batches": lambda: rows(np.zeros((64, 33), "float32")).repeat().batch(32),
    "strings": lambda: rows(np.array(["a", "b"])).repeat().batch(2),
    "ragged rows": lambda: tf.data.Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_datasets_are_read_as_they_are(name):
    dataset = UNCHANGED[name]()
    assert _read_directly(dataset) is dataset


def test_a_choice_of_the_user_is_kept():
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = True
    dataset = rows().repeat().batch(4).with_options(options)
    assert _read_directly(dataset) is dataset


def test_training_continues_in_the_order_of_the_dataset():
    class Sums(keras.Model):
        def __init__(self):
            super().__init__()
            self.weight = self.add_weight(shape=(), initializer="ones")
            self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x):
            self.seen.assign(2 * self.seen + tf.reduce_sum(x))
            return x * self.weight

    def seen(dataset):
        model = Sums()
        model.compile("sgd", "mse")
        model.fit(dataset, epochs=2, steps_per_epoch=4, verbose=0)
        return float(model.seen)

    def pairs():
        return rows((ROWS, ROWS)).shuffle(4, seed=1).repeat().batch(5)

    expected = 0.0
    for x, _ in pairs().take(8).as_numpy_iterator():
        expected = 2 * expected + x.sum()
    assert seen(pairs()) == expected
