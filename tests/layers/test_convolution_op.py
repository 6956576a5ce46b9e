"""`convolution_op`: what subclasses of convolutions call, or put something else in its place."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import layers

CASES = {
    "Conv1D": ({"filters": 4, "kernel_size": 3, "padding": "causal"}, (2, 7, 3)),
    "Conv2D": ({"filters": 4, "kernel_size": 3, "strides": 2, "use_bias": False}, (2, 7, 8, 3)),
    "Conv3D": ({"filters": 2, "kernel_size": 2, "padding": "same"}, (1, 4, 5, 3, 2)),
}


def standardized(kernel):
    mean, variance = tf.nn.moments(
        tf.convert_to_tensor(kernel), list(range(len(kernel.shape) - 1)), keepdims=True
    )
    return (kernel - mean) / tf.sqrt(variance + 1e-6)


def overriding(base):
    class Standardized(base):
        def convolution_op(self, inputs, kernel):
            return super().convolution_op(inputs, standardized(kernel))

    return Standardized


def calling(base):
    class Standardized(base):
        def call(self, inputs):
            outputs = self.convolution_op(inputs, standardized(self.kernel))
            return self.activation(outputs if self.bias is None else outputs + self.bias)

    return Standardized


@pytest.mark.parametrize("make", [overriding, calling])
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_changed_before_it_is_used(name, make):
    arguments, shape = CASES[name]
    arguments = {**arguments, "activation": "relu"}
    x = np.random.default_rng(1).normal(size=shape).astype("float32")
    ours, plain = make(getattr(layers, name))(**arguments), getattr(layers, name)(**arguments)
    ours.build(shape)
    plain.build(shape)
    weights = [np.random.default_rng(2).normal(size=w.shape) for w in ours.weights]
    ours.set_weights(weights)
    plain.set_weights([standardized(weights[0]), *weights[1:]])
    np.testing.assert_allclose(ours(x), plain(x), rtol=1e-4, atol=1e-5)
    traced = tf.function(ours, input_signature=[tf.TensorSpec((None, *shape[1:]))])
    np.testing.assert_allclose(traced(x), ours(x), rtol=1e-5, atol=1e-5)
    if name != "Conv1D":  # Keras's does not ask the method.
        theirs = make(getattr(keras.layers, name))(**arguments)
        theirs.build(shape)
        theirs.set_weights(weights)
        np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-4, atol=1e-5)


def test_channels_first():
    x = np.random.default_rng(1).normal(size=(2, 5, 6, 3)).astype("float32")
    last, first = (
        overriding(layers.Conv2D)(4, 3, data_format=data_format, bias_initializer="normal")
        for data_format in ("channels_last", "channels_first")
    )
    last.build(x.shape)
    first.build((2, 3, 5, 6))
    first.set_weights(last.get_weights())
    found = first(x.transpose(0, 3, 1, 2))
    np.testing.assert_allclose(np.transpose(found, (0, 2, 3, 1)), last(x), rtol=1e-4, atol=1e-5)
