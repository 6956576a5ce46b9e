"""Traces that rely on the rows of batches: which tensors have rows, and batches that have none."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.engine import tensorflow_faults
from tfkit.src.engine.known_rows import as_many_rows, has_rows, have_rows

KERNELS = ("Conv2D", "MaxPool", "DepthwiseConv2dNative")
KERNEL = tf.ones([2, 2, 3, 5])
TABLE = tf.Variable(tf.ones([7, 3]))


def mean(x, axis):
    return tf.reduce_mean(x, axis, keepdims=True)


KEEPING = {
    "the batch": lambda x, other: x,
    "activations": lambda x, other: tf.nn.relu6(tf.nn.leaky_relu(tf.sigmoid(x))),
    "swish": lambda x, other: tf.nn.silu(x),
    "convolution": lambda x, other: tf.nn.conv2d(x, KERNEL, 1, "SAME"),
    "transposed convolution": lambda x, other: tf.nn.conv2d_transpose(
        x, tf.ones([2, 2, 5, 3]), [tf.shape(x)[0], 4, 4, 5], 1
    ),
    "pooling": lambda x, other: tf.nn.max_pool2d(x, 2, 2, "SAME"),
    "border": lambda x, other: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]),
    "sum with a bias": lambda x, other: tf.nn.bias_add(x, tf.ones(3)) + tf.ones([4, 1]),
    "sum of two": lambda x, other: x + tf.abs(x),
    "one row to each": lambda x, other: x * tf.ones([1, 4, 4, 3]),
    "means inside": lambda x, other: mean(x, [1, 2]),
    "last mean": lambda x, other: mean(x, -1),
    "in another form": lambda x, other: tf.reshape(x, [-1, 16, 3]),
    "joined": lambda x, other: tf.concat([x, other], -1),
    "one axis more": lambda x, other: tf.expand_dims(x, 1),
    "and less": lambda x, other: tf.squeeze(tf.expand_dims(x, 1), 1),
    "product": lambda x, other: tf.matmul(tf.reshape(x, [-1, 48]), tf.ones([48, 2])),
    "products with the same": lambda x, other: tf.matmul(x, tf.ones([1, 4, 3, 2])),
    "products of two": lambda x, other: tf.matmul(x, tf.abs(x), transpose_b=True),
    "entries of a table": lambda x, other: tf.gather(TABLE, tf.cast(x, "int32")),
    "noted": lambda x, other: as_many_rows(other, x),
}
NOT_KEEPING = {
    "another input": lambda x, other: other,
    "some rows": lambda x, other: x[1:],
    "rows by a mask": lambda x, other: tf.boolean_mask(x, x[:, 0, 0, 0] > 0),
    "sum with another": lambda x, other: x + other,
    "mean of the rows": lambda x, other: mean(x, 0)[1:],
    "unknown axes": lambda x, other: tf.reduce_mean(x, tf.shape(x)[:1] * 0)[1:],
    "first axis removed": lambda x, other: tf.squeeze(tf.slice(x, [0, 0, 0, 0], [1, 4, 4, 0]), 0),
    "a form without elements": lambda x, other: tf.reshape(x[..., :0], [-1, 3]),
    "products with another": lambda x, other: tf.matmul(x, other, transpose_b=True),
    "products for another": lambda x, other: tf.matmul(
        tf.reshape(x, [-1, 48]), tf.reshape(other, [-1, 48, 1])
    ),
    "transposed product": lambda x, other: tf.matmul(x[0, 0, :, :0], x[0, 0], transpose_a=True),
    "entries for others": lambda x, other: tf.gather(TABLE, tf.cast(other, "int32")),
    "noted for another": lambda x, other: as_many_rows(x[1:], other),
}


def answer(function):
    shape = [None, 4, 4, 3]
    answers = []

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(shape), tf.TensorSpec(shape)])
    def trace(x, other):
        with have_rows([x]) as known:
            answers.append(has_rows(function(x, other)))
        answers.append(known.were_used)
        return x

    trace.get_concrete_function()
    found, were_used = answers
    assert found == were_used
    return found


@pytest.mark.parametrize("name", KEEPING)
def test_rows_are_kept(name):
    assert answer(KEEPING[name])


@pytest.mark.parametrize("name", NOT_KEEPING)
def test_rows_may_be_lost(name):
    assert not answer(NOT_KEEPING[name])


def test_nothing_is_known_outside_of_a_step():
    @tf.function(autograph=False)
    def trace(x):
        assert not has_rows(x)
        return x

    trace(tf.ones([2, 2]))
    assert not has_rows(tf.ones([2, 2]))


def test_nothing_is_known_of_a_tensor_with_a_value():
    images = tf.ones([2, 4, 4, 3])
    rotation = keras.layers.RandomRotation(0.1)

    @tf.function(autograph=False)
    def trace(x):
        with have_rows([x]):
            assert not has_rows(images)
            assert as_many_rows(x[1:], images).shape[0] == 1
            return x + tf.reduce_mean(rotation(images, training=True))

    assert trace(tf.ones([2, 2])).shape == (2, 2)


# --- Models ---------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def faulty(monkeypatch):
    """Convolutions need rows, as oneDNN's do."""
    monkeypatch.setattr(tensorflow_faults, "onednn_is_assumed", lambda: True)


def image_model(*first):
    keras.utils.set_random_seed(3)
    layers = keras.layers
    inner = [
        layers.Conv2D(4, 3, padding="same"),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.Dropout(0.5),
        layers.MaxPooling2D(),
        layers.DepthwiseConv2D(2),
        layers.GlobalAveragePooling2D(),
        layers.Dense(1),
    ]
    model = keras.Sequential([keras.Input((6, 6, 3)), *first, *inner])
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def kernels_with_help(model, mode="test"):
    """The number of kernels in a step that get a row where there is none."""
    traces = model._tfkit_programs._traces
    (trace,) = [trace for key, trace in traces.items() if key[0] == mode]
    kernels = [op for op in trace.graph.get_operations() if op.type in KERNELS]
    helped = sum(op.inputs[0].op.type in ("EnsureShape", "Reshape") for op in kernels)
    assert len(kernels) == len(KERNELS)
    assert trace.relies_on_rows == (helped == 0)
    return helped


X = np.random.default_rng(0).normal(size=(7, 6, 6, 3)).astype("float32")
Y = X.mean((1, 2, 3))[:, None]


def batches(sizes):
    def generate():
        first = 0
        for size in sizes:
            yield X[first : first + size], Y[first : first + size]
            first += size

    specs = tf.TensorSpec([None, 6, 6, 3]), tf.TensorSpec([None, 1])
    return tf.data.Dataset.from_generator(generate, output_signature=specs)


def test_steps_of_models_spend_nothing_on_batches_without_rows():
    model = image_model(keras.layers.RandomRotation(0.1), keras.layers.RandomFlip())
    model.fit(X, Y, verbose=0)
    model.evaluate(X, Y, verbose=0)
    model.predict(X, verbose=0)
    assert [kernels_with_help(model, mode) for mode in ("train", "test", "predict")] == [0] * 3


def test_batches_without_rows_are_left_out():
    with_empty, without = (0, 4, 0, 0, 3, 0), (4, 3)
    results = []
    for sizes in (with_empty, without):
        model = image_model()
        history = model.fit(batches(sizes), epochs=2, verbose=0).history
        evaluated = model.evaluate(batches(sizes), verbose=0)
        predicted = model.predict(batches(sizes).map(lambda x, y: x), verbose=0)
        results.append(
            [history["loss"], history["mae"], evaluated, predicted, *model.get_weights()]
        )
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_batch_without_rows_has_a_prediction_without_rows():
    outputs = image_model().predict(batches([0]).map(lambda x, y: x), verbose=0)
    assert outputs.shape == (0, 1)


def test_a_batch_in_which_only_some_tensors_have_rows_is_refused():
    data = batches([3]).map(lambda x, y: (x[:0], y))
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many rows as the others"):
        image_model().evaluate(data, verbose=0)


def test_a_layer_that_may_drop_rows_keeps_what_helps_those_without():
    model = image_model(keras.layers.Lambda(lambda x: tf.boolean_mask(x, x[:, 0, 0, 0] > 1e9)))
    model.compile("sgd", lambda y, p: tf.reduce_sum(p) * 0.0 + 1.0, metrics=[])
    assert model.evaluate(X, Y, verbose=0) == 1.0
    assert kernels_with_help(model) == 3


class Interruption(Exception):
    """Ends a training."""


def test_a_training_is_continued_after_the_batches_that_were_left_out(tmp_path):
    def interrupt(batch, logs):
        if batch == 2:
            raise Interruption

    interrupting = keras.callbacks.LambdaCallback(on_train_batch_end=interrupt)
    weights = []
    for is_interrupted in (False, True):
        backup = keras.callbacks.BackupAndRestore(tmp_path / str(is_interrupted), save_freq=1)
        if is_interrupted:
            with pytest.raises(Interruption):
                image_model().fit(
                    batches([2, 0, 2, 3]), verbose=0, callbacks=[backup, interrupting]
                )
        model = image_model()
        model.fit(batches([2, 0, 2, 3]), verbose=0, callbacks=[backup])
        weights.append(model.get_weights())
    for a, b in zip(*weights, strict=True):
        np.testing.assert_array_equal(a, b)
