"""Learning rates of another Keras, and functions of the step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

X = np.ones((8, 2), "float32")
OTHERS = {
    "ExponentialDecay": (0.5, 2, 0.5),
    "PiecewiseConstantDecay": ([1, 2], [0.3, 0.2, 0.1]),
    "PolynomialDecay": (0.5, 3),
    "InverseTimeDecay": (0.5, 2, 0.5),
    "CosineDecay": (0.5, 3),
    "CosineDecayRestarts": (0.5, 3),
}


class OfKeras(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.5 / (1.0 + tf.cast(step, "float32"))

    def get_config(self):
        return {}


def by_step(step):
    return 0.5 / (1.0 + tf.cast(step, "float32"))


class Callable:
    def __call__(self, step):
        return by_step(step)


def trained(optimizer):
    model = tfkit.Sequential([tfkit.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizer, "mse")
    model.fit(X, X[:, :1], batch_size=2, verbose=0)
    return model


@pytest.mark.parametrize("name", OTHERS)
def test_a_schedule_of_keras_is_the_one_of_that_name(name):
    other = getattr(keras.optimizers.schedules, name)(*OTHERS[name])
    optimizer = tfkit.optimizers.SGD(other)
    assert optimizer.get_config()["learning_rate"]["class_name"] == name
    for step in range(4):
        optimizer.iterations.assign(step)
        np.testing.assert_allclose(optimizer.learning_rate, other(step), rtol=1e-6)


def test_a_schedule_of_keras_is_trained_with_and_saved(tmp_path):
    ours = tfkit.optimizers.schedules.ExponentialDecay(0.5, 2, 0.5)
    optimizer = tfkit.optimizers.SGD(0.1)
    optimizer.learning_rate = keras.optimizers.schedules.ExponentialDecay(0.5, 2, 0.5)
    model = trained(optimizer)
    expected = trained(tfkit.optimizers.SGD(ours))
    np.testing.assert_array_equal(model.get_weights()[0], expected.get_weights()[0])
    model.save(tmp_path / "model.h5")
    loaded = tfkit.models.load_model(tmp_path / "model.h5").optimizer
    assert loaded.get_config() == optimizer.get_config()


@pytest.mark.parametrize(
    "rate", [OfKeras(), Callable(), by_step], ids=["keras", "object", "function"]
)
def test_anything_that_needs_the_step_gets_it(rate):
    optimizer = tfkit.optimizers.SGD(rate)
    trained(optimizer)
    assert int(optimizer.iterations) == 4
    np.testing.assert_allclose(optimizer.learning_rate, 0.1, rtol=1e-6)
    with pytest.raises(TypeError, match=r"cannot be saved\. Expected a float, or a schedule"):
        optimizer.get_config()


def test_a_function_without_arguments_is_called_so():
    assert tfkit.optimizers.SGD(lambda: 0.25).learning_rate == 0.25
    assert tfkit.optimizers.SGD(lambda step=3: 0.1 * step).learning_rate == pytest.approx(0.3)
