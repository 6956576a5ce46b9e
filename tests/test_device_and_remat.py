import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit


def test_device_places_results_and_variables():
    with tfkit.device("cpu:0"):
        layer = tfkit.layers.Dense(2)
        layer.build((None, 3))
        result = tf.zeros(2) + 1
    assert layer.kernel.device.endswith("CPU:0")
    assert result.device.endswith("CPU:0")


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}])
def test_remat_computes_again_what_the_gradient_needs(options):
    layer = tfkit.layers.Dense(3, activation="tanh", kernel_initializer="ones")
    layer.build((None, 2))
    runs = []

    def block(x):
        runs.append(1)
        return layer(x) * 2

    def gradients(function, x):
        @tf.function(**options)
        def compiled(x):
            with tf.GradientTape() as tape:
                y = function(x)
            return tape.gradient(y, layer.trainable_variables)

        return compiled(x)

    x = tf.constant([[0.1, 0.2]])
    plain = gradients(block, x)
    assert len(runs) == 1
    again = gradients(tfkit.remat(block), x)
    assert len(runs) > 2
    for ours, expected in zip(again, plain, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6)
    np.testing.assert_allclose(tfkit.remat(block)(x), keras.remat(block)(x))
