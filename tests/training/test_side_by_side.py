"""`predict` computes batches side by side, but only where none changes what another computes."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.training import prediction

ROWS = 42
DATA = np.random.default_rng(0).normal(size=(ROWS, 6, 3)).astype("float32")


class Meeting(layers.Layer):
    """Keeps its batches from being joined: what a row of a batch gets from the others."""

    def call(self, x):
        return x - tf.reduce_mean(x, axis=0)


class Counted(layers.Layer):
    def build(self, shape):
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        return x * 0 + self.count.assign_add(1)


class Overlapping(layers.Layer):
    """Whether a batch is computed while another one is."""

    def __init__(self):
        super().__init__()
        self.barrier = threading.Barrier(2)

    def call(self, x):
        def wait(value):
            try:
                self.barrier.wait(30)
            except threading.BrokenBarrierError:
                return np.zeros_like(value)
            return np.ones_like(value)

        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype, stateful=False), x.shape)


def model_of(*parts):
    tfkit.utils.set_random_seed(0)
    return tfkit.Sequential([tfkit.Input((6, 3)), *parts])


def program_of(model):
    return model._tfkit_programs._latest["predict"]


def by_batch(model, size):
    return np.concatenate(
        [model.predict_on_batch(DATA[at : at + size]) for at in range(0, ROWS, size)]
    )


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_batches_overlap():
    model = model_of(Overlapping())
    found = model.predict(DATA[:40], batch_size=20, verbose=0)
    assert found.all()


MADE = {
    "rows that meet": lambda: [Meeting(), layers.Flatten(), layers.Dense(2)],
    "LSTM": lambda: [layers.LSTM(4), layers.Dense(2)],
    "GRU": lambda: [layers.GRU(4, return_sequences=True), layers.GRU(2)],
    "attention": lambda: [Meeting(), layers.LayerNormalization(), layers.Dense(2, "gelu")],
}


@pytest.mark.parametrize("name", MADE)
def test_results_are_equal_to_the_bit(name, monkeypatch):
    model = model_of(*MADE[name]())
    found = model.predict(DATA, batch_size=4, verbose=0)
    assert set(program_of(model)._loops) == {prediction._SIDE_BY_SIDE}
    monkeypatch.setattr(prediction, "_SIDE_BY_SIDE", 1)
    np.testing.assert_array_equal(model.predict(DATA, batch_size=4, verbose=0), found)
    np.testing.assert_allclose(found, by_batch(model, 4), rtol=1e-5, atol=1e-6)


def test_batches_that_change_something_follow_each_other():
    model = model_of(Counted())
    found = model.predict(DATA, batch_size=4, verbose=0)[:, 0, 0]
    np.testing.assert_array_equal(found, np.arange(ROWS) // 4 + 1)
    assert set(program_of(model)._loops) == {1}


class Positions(layers.Layer):
    """Counts batches and rows, as a stream of seeds counts its draws."""

    def build(self, shape):
        weight = {"initializer": "zeros", "trainable": False, "dtype": "int64"}
        self.batches = self.add_weight(shape=(), **weight)
        self.both = self.add_weight(shape=(2,), **weight)

    def call(self, x):
        before = self.batches.assign_add(1) - 1
        self.both.assign_add([1, 10])
        read = tf.identity(self.both)
        self.both.assign_add([0, 5])
        found = tf.stack([before, *tf.unstack(read), *tf.unstack(self.both.read_value())])
        return x[:, 0, :1] * 0 + tf.cast(found, x.dtype)


def test_batches_that_count_are_computed_side_by_side():
    model = model_of(Positions())
    for first in (0, 11):  # The counters continue.
        found = model.predict(DATA, batch_size=4, verbose=0)
        index = first + np.arange(ROWS) // 4
        expected = [index, index + 1, 15 * index + 10, index + 1, 15 * index + 15]
        np.testing.assert_array_equal(found, np.transpose(expected))
    assert set(program_of(model)._loops) == {prediction._SIDE_BY_SIDE}
    assert [it.tolist() for it in model.get_weights()] == [22, [22, 22 * 15]]
    np.testing.assert_array_equal(model.predict(DATA[:1], verbose=0), [[22, 23, 340, 23, 345]])
    np.testing.assert_array_equal(model.predict_on_batch(DATA[:1]), [[23, 24, 355, 24, 360]])


def test_calls_in_threads_get_values_of_their_own():
    model = model_of(Positions())
    model.predict(DATA[:1], verbose=0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.predict(DATA[:1], verbose=0)[0, 0], range(200)))
    assert sorted(found) == list(range(1, 201))


class Refusing(layers.Layer):
    def call(self, x):
        tf.debugging.assert_less(x, 90.0, "too large")
        return x


def test_counting_batches_are_checked():
    model = model_of(Refusing(name="refusing"), Positions())
    x = DATA.copy()
    x[30] = 100
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"layer '.*/refusing'"):
        model.predict(x, batch_size=4, verbose=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        model.predict(x[30:31], verbose=0)
    assert model.predict(DATA, batch_size=4, verbose=0).shape == (ROWS, 5)


def test_draws_are_those_of_batches_in_order():
    found = []
    for predict in (
        lambda it: it.predict(DATA, batch_size=4, verbose=0),
        lambda it: by_batch(it, 4),
    ):
        inputs = tfkit.Input((6, 3))
        found.append(
            predict(tfkit.Model(inputs, layers.GaussianNoise(1.0, seed=3)(inputs, training=True)))
        )
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_large_batches_follow_each_other():
    model = model_of(Meeting())
    model.predict(DATA, batch_size=4, verbose=0)
    program = program_of(model)
    assert program._num_side_by_side(10**5) > 1
    assert program._num_side_by_side(10**8) == 1
    assert program.first_steps(10**8) == 1


@pytest.mark.parametrize("size", [8, 5, 150])
def test_joined_batches_are_computed_side_by_side_too(size, monkeypatch):
    model = model_of(layers.Flatten(), layers.Dense(2))
    model.predict(DATA[:1], verbose=0)
    program = program_of(model)
    monkeypatch.setattr(program, "_joined_rows", (size, size))
    found = model.predict(np.concatenate([DATA] * 5), batch_size=2, verbose=0)
    expected = np.concatenate([model.predict_on_batch(DATA)] * 5)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert len(program._loops) == (size < 150)


def test_few_batches_are_one_program(monkeypatch):
    model = model_of(Counted())
    model.predict(DATA, batch_size=4, verbose=0)
    program = program_of(model)
    steps, run = [], program.run
    monkeypatch.setattr(program, "run", lambda *given: steps.append(given[2]) or run(*given))
    model.predict(DATA[:8], batch_size=4, verbose=0)
    assert steps == [2]


def test_an_error_of_a_later_batch_is_raised_with_its_layer():
    inputs = tfkit.Input((2,), dtype="int32")
    words = layers.Embedding(5, 3, name="words")(inputs)
    model = tfkit.Model(inputs, Meeting()(words))
    x = np.zeros((40, 2), "int32")
    model.predict(x, batch_size=4, verbose=0)
    x[30] = 9
    with pytest.raises(tf.errors.InvalidArgumentError, match="words"):
        model.predict(x, batch_size=4, verbose=0)


def test_changed_weights_and_threads():
    model = model_of(Meeting(), layers.Flatten(), layers.Dense(2))
    before = model.predict(DATA, batch_size=4, verbose=0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.predict(DATA, batch_size=4, verbose=0), range(12)))
    for each in found:
        np.testing.assert_array_equal(each, before)
    model.set_weights([2 * it for it in model.get_weights()])
    np.testing.assert_allclose(model.predict(DATA, batch_size=4, verbose=0), 2 * before, rtol=1e-6)


@pytest.mark.parametrize("layer", [layers.GRU, layers.SimpleRNN, layers.LSTM])
def test_recurrent_layers_keep_nothing_for_a_gradient(layer):
    model = model_of(layer(4, use_bias=False))
    model.predict(DATA, verbose=0)
    definition = program_of(model).trace.definition
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    assert not any(it.op == "TensorListSetItem" for it in nodes)


def test_a_predict_step_may_differentiate_a_recurrent_layer():
    class Sensitive(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.recurrent = layers.GRU(4)

        def call(self, x):
            return self.recurrent(x)

        def predict_step(self, data):
            with tf.GradientTape() as tape:
                tape.watch(data)
                outputs = tf.reduce_sum(self(data))
            return tape.gradient(outputs, data)

    model = Sensitive()
    found = model.predict(DATA, batch_size=4, verbose=0)
    x = tf.constant(DATA)
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = tf.reduce_sum(model(x))
    np.testing.assert_allclose(found, tape.gradient(outputs, x), rtol=1e-4, atol=1e-6)
