"""Dropout and its relatives: Keras's draws, and what they refuse."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import layers


@pytest.mark.parametrize("name", ["Dropout", "GaussianDropout", "GaussianNoise", "AlphaDropout"])
def test_a_stream_of_calls_draws_what_keras_draws(name):
    layer = getattr(layers, name)(0.3, seed=5)
    oracle = getattr(keras.layers, name)(0.3, seed=5)
    inputs = tf.ones((3, 4))
    drawn = [layer(inputs, training=True).numpy() for _ in range(3)]
    for mine in drawn:
        np.testing.assert_allclose(mine, oracle(inputs, training=True), rtol=1e-6)
    assert not np.array_equal(drawn[0], drawn[1])


def test_whole_channels_are_dropped_together():
    outputs = layers.SpatialDropout2D(0.5, seed=1)(tf.ones((4, 3, 3, 8)), training=True)
    per_channel = tf.reshape(outputs, (4, 9, 8)).numpy()
    np.testing.assert_array_equal(per_channel.min(1), per_channel.max(1))
    assert set(np.unique(per_channel)) == {0.0, 2.0}


def test_dropout_everything_and_nothing():
    inputs = tf.ones((2, 2))
    np.testing.assert_array_equal(layers.Dropout(1.0)(inputs, training=True), tf.zeros((2, 2)))
    np.testing.assert_array_equal(layers.Dropout(0)(inputs, training=True), inputs)
    dropped = layers.AlphaDropout(1.0)
    np.testing.assert_array_equal(dropped(inputs, training=True), tf.zeros((2, 2)))
    np.testing.assert_array_equal(dropped(inputs), inputs)
    nearly = layers.AlphaDropout(1 - 1e-9)(inputs, training=True)  # Which is on the way there.
    np.testing.assert_allclose(nearly, tf.zeros((2, 2)), atol=1e-4)


def test_activity_regularization_is_per_sample():
    layer = layers.ActivityRegularization(l1=0.5, l2=0.25)
    layer(tf.fill((4, 3), 2.0))
    np.testing.assert_allclose(layer.losses, [3 * (0.5 * 2 + 0.25 * 4)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.Dropout(1.5), r"`rate` of layer Dropout.*from 0 to 1.*rate=1.5"),
        (lambda: layers.Dropout("half"), "rate='half'"),
        (lambda: layers.Dropout(0.5, noise_shape=(2, 0)), r"`noise_shape`.*\(2, 0\)"),
        (lambda: layers.Dropout(0.5, seed=1.5), "seed=1.5"),
        (lambda: layers.GaussianNoise(-1), "`stddev` of layer GaussianNoise.*stddev=-1"),
        (lambda: layers.GaussianDropout(1.0), "`rate`.*below 1"),
        (lambda: layers.SpatialDropout1D(0.5)(tf.ones((2, 2))), "expected ndim=3, found ndim=2"),
        *(
            (
                lambda make=make: make(0.5)(tf.ones((2, 2), "int32"), training=True),
                "float dtype. Received: int32",
            )
            for make in (
                layers.Dropout,
                layers.GaussianDropout,
                layers.GaussianNoise,
                layers.AlphaDropout,
            )
        ),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
