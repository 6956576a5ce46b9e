"""Learning-rate schedules against Keras, and inside an optimizer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.optimizers import oracle
from tfkit import optimizers
from tfkit.optimizers import schedules

CASES = [
    ("ExponentialDecay", {"decay_steps": 7, "decay_rate": 0.9}),
    ("ExponentialDecay", {"decay_steps": 7, "decay_rate": 0.9, "staircase": True}),
    ("InverseTimeDecay", {"decay_steps": 7, "decay_rate": 0.5}),
    ("InverseTimeDecay", {"decay_steps": 7, "decay_rate": 0.5, "staircase": True}),
    ("PolynomialDecay", {"decay_steps": 12}),
    ("PolynomialDecay", {"decay_steps": 12, "power": 0.5, "end_learning_rate": 0.01}),
    ("PolynomialDecay", {"decay_steps": 12, "power": 2.0, "cycle": True}),
    ("CosineDecay", {"decay_steps": 12}),
    ("CosineDecay", {"decay_steps": 12, "alpha": 0.1, "warmup_target": 0.7, "warmup_steps": 5}),
    ("CosineDecay", {"decay_steps": 12, "warmup_target": 0.7}),
    ("CosineDecayRestarts", {"first_decay_steps": 5}),
    ("CosineDecayRestarts", {"first_decay_steps": 5, "t_mul": 1.0, "m_mul": 0.9}),
    ("CosineDecayRestarts", {"first_decay_steps": 5, "t_mul": 1.5, "m_mul": 0.5, "alpha": 0.1}),
]


def make(module, name, options):
    return getattr(module, name)(initial_learning_rate=0.2, **options)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_forty_steps_equal_keras(name, options):
    ours = make(schedules, name, options)
    theirs = make(keras.optimizers.schedules, name, options)
    for step in range(40):
        step = tf.constant(step, "int64")
        assert ours(step).dtype == tf.float32
        np.testing.assert_allclose(ours(step), theirs(step), rtol=1e-6, atol=1e-7)
    assert ours.get_config() == theirs.get_config()
    again = schedules.deserialize(schedules.serialize(ours))
    assert type(again) is type(ours)
    assert again.get_config() == ours.get_config()


@pytest.mark.parametrize("step_dtype", ["int64", "float32"])
def test_piecewise_equals_keras(step_dtype):
    arguments = ([3, 7, 8], [1.0, 0.5, 0.25, 0.1])
    ours = schedules.PiecewiseConstantDecay(*arguments)
    theirs = keras.optimizers.schedules.PiecewiseConstantDecay(*arguments)
    for step in range(12):
        step = tf.constant(step, step_dtype)
        assert float(ours(step)) == float(theirs(step))
    assert ours.get_config() == theirs.get_config()


def test_piecewise_without_boundaries_is_constant():
    schedule = schedules.PiecewiseConstantDecay([], [0.5])
    for step in (tf.constant(3, "int64"), tf.constant(0.0), 7):
        assert float(schedule(step)) == 0.5


@pytest.mark.parametrize("m_mul", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("t_mul", [0.5, 0.75, 0.9, 0.0])
def test_shorter_and_shorter_decays_end(t_mul, m_mul):
    """They are over after the sum of their lengths, where Keras's rate becomes NaN."""
    options = {"first_decay_steps": 10, "t_mul": t_mul, "m_mul": m_mul, "alpha": 0.1}
    ours, theirs = (
        make(module, "CosineDecayRestarts", options)
        for module in (schedules, keras.optimizers.schedules)
    )
    end = round(10 / (1 - t_mul))
    for step in range(end + 30):
        step = tf.constant(step, "int64")
        expected = 0.02 if step >= end else theirs(step)
        np.testing.assert_allclose(ours(step), expected, rtol=1e-6)


def test_negative_lengths_are_refused():
    with pytest.raises(ValueError, match=r"`t_mul` must be >= 0\. Received: t_mul=-1.0"):
        schedules.CosineDecayRestarts(0.1, 10, t_mul=-1.0)


@pytest.mark.parametrize(
    "make_schedule",
    [
        lambda module: module.ExponentialDecay(0.1, 0, 0.5),
        lambda module: module.InverseTimeDecay(0.1, -1, 0.5),
        lambda module: module.PolynomialDecay(0.1, 0),
        lambda module: module.CosineDecay(0.1, 0),
        lambda module: module.CosineDecayRestarts(0.1, 0),
        lambda module: module.PiecewiseConstantDecay([1], [0.1]),
    ],
)
def test_bad_arguments_are_refused_as_in_keras(make_schedule):
    for module in (schedules, keras.optimizers.schedules):
        with pytest.raises(ValueError, match="Received: "):
            make_schedule(module)


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
def test_an_optimizer_follows_its_schedule(mode):
    steps = oracle.gradients(10)
    options = {"decay_steps": 3, "alpha": 0.1, "warmup_target": 0.7, "warmup_steps": 5}
    ours = optimizers.Adam(make(schedules, "CosineDecay", options))
    theirs = keras.optimizers.Adam(make(keras.optimizers.schedules, "CosineDecay", options))
    oracle.assert_same(oracle.run(ours, steps, mode), oracle.run_keras(theirs, steps))
    assert len(ours.variables) == len(theirs.variables)
    np.testing.assert_allclose(ours.learning_rate, theirs.learning_rate, rtol=1e-6)


def test_schedule_of_an_optimizer_survives_configuration():
    optimizer = optimizers.SGD(schedules.ExponentialDecay(0.1, 5, 0.5))
    again = optimizers.SGD.from_config(optimizer.get_config())
    assert float(again.learning_rate) == pytest.approx(0.1)
    assert optimizer.get_config()["learning_rate"]["config"]["decay_steps"] == 5


def test_own_schedule_needs_its_methods():
    with pytest.raises(NotImplementedError, match="must override `__call__"):
        schedules.LearningRateSchedule()(0)
    with pytest.raises(NotImplementedError, match="must override `get_config"):
        schedules.LearningRateSchedule().get_config()
