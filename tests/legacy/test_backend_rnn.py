"""`K.rnn`, beside Keras's."""

import numpy as np
import pytest
import tensorflow as tf
from keras._tf_keras.keras import backend as oracle

from tfkit import backend as K

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(3, 5, 4)).astype("float32")
W = DRAWS.normal(size=(4, 4)).astype("float32")
H = DRAWS.normal(size=(3, 4)).astype("float32")
MASK = np.array([[1, 1, 0, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], bool)


def step(x, states):
    """A step of two states, and of constants that may be there."""
    state, sums, *constants = states
    output = tf.tanh(x @ W + state)
    for constant in constants:
        output = output * constant
    return output, [output, sums + x]


def step_of_pairs(x, states):
    return tf.concat([x["a"], x["b"]], axis=-1), [states[0] + x["a"]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unroll": True},
        {"go_backwards": True},
        {"mask": MASK},
        {"mask": MASK[..., None], "go_backwards": True},
        {"mask": MASK, "unroll": True, "zero_output_for_mask": True},
        {"mask": MASK, "zero_output_for_mask": True},
        {"constants": [np.float32(0.5)]},
        {"return_all_outputs": False},
        {"return_all_outputs": False, "unroll": True, "mask": MASK},
        {"time_major": True},
    ],
    ids=str,
)
def test_a_loop_gives_what_keras_gives(options):
    inputs = np.swapaxes(X, 0, 1) if options.get("time_major") else X
    arguments = (step, tf.constant(inputs), [tf.constant(H), tf.zeros((3, 4))])
    if "mask" in options:
        options = options | {"mask": tf.constant(options["mask"])}
    last, outputs, states = K.rnn(*arguments, **options)
    expected = oracle.rnn(*arguments, **options)
    for got, wanted in zip((last, outputs, *states), (*expected[:2], *expected[2]), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_inputs_may_be_a_nest_of_unknown_steps():
    @tf.function(input_signature=[tf.TensorSpec((None, None, 4))])
    def run(x):
        return K.rnn(step_of_pairs, {"a": x, "b": 2 * x}, [tf.zeros((3, 4))])

    last, outputs, (total,) = run(X)
    np.testing.assert_allclose(last, np.concatenate([X[:, -1], 2 * X[:, -1]], -1))
    assert outputs.shape == (3, 5, 8)
    np.testing.assert_allclose(total, X.sum(axis=1), rtol=1e-5)


def test_the_loop_has_a_gradient():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, outputs, _ = K.rnn(step, x, [tf.constant(H), tf.zeros((3, 4))])
        loss = tf.reduce_sum(outputs**2)
    assert tf.reduce_min(tf.reduce_sum(tf.abs(tape.gradient(loss, x)), axis=[0, 2])) > 0


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match="input_length=3, and inputs of 5 steps"):
        K.rnn(step, X, [H, H], input_length=3)
    with pytest.raises(ValueError, match="shapes of its states"):
        K.rnn(lambda x, states: (x, [states[0][:1]]), X, [H])
    run = tf.function(lambda x: K.rnn(step, x, [H, H], unroll=True))
    with pytest.raises(ValueError, match="`unroll=True` needs"):
        run.get_concrete_function(tf.TensorSpec((3, None, 4)))
