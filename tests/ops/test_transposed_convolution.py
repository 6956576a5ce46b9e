"""Transposed convolutions: the kernel and the convolution that stands in for it do the same."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tfkit import ops
from tfkit.src.ops import transposed_convolution
from tfkit.src.ops.transposed_convolution import spans

DRAWS = np.random.default_rng(0)


def normal(*shape):
    return tf.constant(DRAWS.normal(size=shape), "float64")


def outputs_and_gradients(function, *tensors):
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        outputs = function(*tensors)
        loss = tf.reduce_sum(tf.sin(outputs))
    return outputs, *tape.gradient(loss, tensors)


def assert_close(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def by_definition(x, kernel, stride, dilation, axis):
    """In one direction: what each input adds to the outputs."""
    steps, points = x.shape[1], kernel.shape[0]
    whole = np.zeros((x.shape[0], steps * stride + points * dilation + 9, kernel.shape[1]))
    for i, j in itertools.product(range(steps), range(points)):
        whole[:, i * stride + j * dilation] += x[:, i] @ kernel[j].T
    return whole[:, axis.dropped : axis.dropped + steps * stride + axis.added]


GRID = [
    (points, stride, dilation, padding, extra)
    for points, stride, dilation, padding, extra in itertools.product(
        (1, 2, 3, 4), (1, 2, 3), (1, 2), ("VALID", "SAME"), (None, 0, 1, 2)
    )
    if extra is None or extra < stride
]


def test_each_way_follows_the_definition():
    ways = {"kernel": 0, "convolution": 0}
    for points, stride, dilation, padding, extra in GRID:
        x, kernel = normal(2, 4, 3), normal(points, 2, 3)
        (axis,) = spans([points], [stride], [dilation], [extra], padding)
        expected = by_definition(x.numpy(), kernel.numpy(), stride, dilation, axis)
        found = transposed_convolution._by_convolution(x, kernel, [axis])
        assert_close([found], [expected])
        ways["convolution"] += 1
        if dilation == 1 and not axis.refused:
            assert_close([transposed_convolution._by_gradient(x, kernel, [axis])], [expected])
            ways["kernel"] += 1
        assert_close([transposed_convolution.convolve(x, kernel, [axis])], [expected])
    assert min(ways.values()) > 50


@pytest.mark.parametrize(
    ("sizes", "kernel", "strides", "padding", "extras"),
    [
        ((5, 4), (3, 2), (2, 1), "SAME", [None, None]),
        ((5, 4), (4, 3), (2, 3), "VALID", [1, 2]),
        ((3, 4, 2), (2, 3, 1), (1, 2, 2), "SAME", [None] * 3),
        ((3, 4, 2), (3, 2, 2), (2, 2, 1), "VALID", [None] * 3),
    ],
)
def test_both_ways_have_the_same_outputs_and_gradients(sizes, kernel, strides, padding, extras):
    x, weights = normal(2, *sizes, 3), normal(*kernel, 2, 3)
    axes = spans(kernel, strides, [1] * len(sizes), extras, padding)
    expected = outputs_and_gradients(
        lambda x, w: transposed_convolution._by_gradient(x, w, axes), x, weights
    )

    def by_convolution(x, w):
        return transposed_convolution._by_convolution(x, w, axes)

    assert_close(outputs_and_gradients(by_convolution, x, weights), expected)
    any_size = tf.function(
        by_convolution,
        input_signature=[
            tf.TensorSpec([None] * (1 + len(sizes)) + [3], x.dtype),
            tf.TensorSpec(weights.shape, x.dtype),
        ],
    )
    assert_close(outputs_and_gradients(any_size, x, weights), expected)


def test_strides_and_dilations_together_in_two_directions():
    x, kernel = normal(1, 3, 3, 2), normal(2, 2, 4, 2)
    spread = np.zeros((3, 4, 4, 2))
    spread[::2, ::3] = kernel
    outputs = ops.conv_transpose(x, kernel, strides=(2, 3), dilation_rate=(2, 3))
    assert_close([outputs], [ops.conv_transpose(x, spread, strides=(2, 3))])


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("jit_compile", [True, False])
def test_images_without_places_or_rows(padding, jit_compile):
    run = tf.function(
        lambda x: ops.conv_transpose(x, tf.ones((3, 3, 4, 2)), 2, padding),
        input_signature=[tf.TensorSpec([None, None, None, 2])],
        jit_compile=jit_compile,
    )
    added = 1 if padding == "valid" else 0
    assert run(tf.ones((0, 3, 5, 2))).shape == (0, 6 + added, 10 + added, 4)
    outputs = run(tf.ones((2, 0, 5, 2)))
    assert outputs.shape == (2, added, 10 + added, 4)
    np.testing.assert_array_equal(outputs, np.zeros(outputs.shape))
