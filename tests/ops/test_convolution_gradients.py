"""The gradients that `convolution_gradients` makes itself are those of TensorFlow's kernels."""

import numpy as np
import pytest
import tensorflow as tf

from tfkit.src.ops.convolution_gradients import convolve

# Kernel and padding; channels and batches from those that TensorFlow's kernels get to those that they do not.
CASES = [
    ((3, 3), "SAME"),
    ((3, 3), "VALID"),
    ((1, 1), "VALID"),
    ((2, 5), "SAME"),
    ((4, 1), "VALID"),
]


def first_and_second(convolution, images, kernel):
    """Outputs, gradients, and gradients of the gradients' squares."""
    with tf.GradientTape() as outer:
        outer.watch([images, kernel])
        with tf.GradientTape() as inner:
            inner.watch([images, kernel])
            outputs = convolution(images, kernel)
            loss = tf.reduce_sum(tf.sin(outputs))
        gradients = inner.gradient(loss, [images, kernel])
        total = sum(tf.reduce_sum(tf.square(gradient)) for gradient in gradients)
    return [outputs, *gradients, *outer.gradient(total, [images, kernel])]


@pytest.mark.parametrize(("size", "padding"), CASES)
@pytest.mark.parametrize(("batch", "channels"), [(3, 1), (9, 9)])
def test_gradients_are_those_of_tensorflow(size, padding, batch, channels):
    generator = np.random.default_rng(0)
    images = tf.constant(generator.normal(size=(batch, 7, 8, channels)))
    kernel = tf.constant(generator.normal(size=(*size, channels, 2)))
    mine = first_and_second(lambda x, k: convolve(x, k, padding), images, kernel)
    known = first_and_second(lambda x, k: tf.nn.conv2d(x, k, 1, padding), images, kernel)
    for ours, theirs in zip(mine, known, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_one_trace_takes_batches_of_any_size():
    kernel = tf.constant(np.random.default_rng(0).normal(size=(3, 9, 2)))

    @tf.function(input_signature=[tf.TensorSpec([None, 6, 9], "float64")], autograph=False)
    def gradient(sequences):
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            loss = tf.reduce_sum(tf.sin(convolve(sequences, kernel, "SAME")))
        return tape.gradient(loss, kernel)

    for batch in (0, 3, 9):
        sequences = tf.constant(np.random.default_rng(1).normal(size=(batch, 6, 9)))
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            loss = tf.reduce_sum(tf.sin(tf.nn.conv1d(sequences, kernel, 1, "SAME")))
        np.testing.assert_allclose(gradient(sequences), tape.gradient(loss, kernel), atol=1e-10)
