"""Dynamic loss scaling against Keras: good steps, overflows, growth."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.optimizers import oracle
from tfkit import optimizers


def pair(**options):
    inner = {"learning_rate": 0.1, "momentum": 0.9, **options}
    arguments = {"initial_scale": 8.0, "dynamic_growth_steps": 3}
    return (
        optimizers.LossScaleOptimizer(optimizers.SGD(**inner), **arguments),
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(**inner), **arguments),
    )


def steps_with_overflows():
    steps = oracle.gradients(12)
    steps[4][0][1, 2] = np.inf
    steps[5][1][0] = np.nan
    return steps


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"clipnorm": 0.2},
        {"global_clipnorm": 0.2},
        {"gradient_accumulation_steps": 2},
        {"use_ema": True, "ema_overwrite_frequency": 3},
    ],
    ids=str,
)
def test_steps_with_overflows_equal_keras(options, mode):
    ours, theirs = pair(**options)
    steps = steps_with_overflows()
    oracle.assert_same(oracle.run(ours, steps, mode), oracle.run_keras(theirs, steps))
    oracle.assert_same(ours.variables, theirs.variables)
    assert [v.dtype.name for v in ours.variables] == [v.dtype for v in theirs.variables]
    assert float(ours.dynamic_scale) == 16.0  # 8 -> 16 after 3 -> 8 -> 4 -> 8 -> 16


def test_scaled_loss_is_float32_and_follows_the_scale():
    ours, _ = pair()
    assert ours.scale_loss(tf.constant(3.0, "float16")).dtype == tf.float32
    assert float(ours.scale_loss(3.0)) == 24.0
    ours.dynamic_scale.assign(2.0)
    assert float(ours.scale_loss(3.0)) == 6.0


def test_the_scale_stays_between_the_limits_of_float32():
    """Keras's becomes 0 after enough overflows, and the next update makes the weights NaN."""
    ours, w = optimizers.LossScaleOptimizer(optimizers.SGD(1.0)), tf.Variable(1.0)
    overflow = tf.function(lambda: ours.apply([tf.constant(np.inf)], [w]))
    for _ in range(160):
        overflow()
    assert float(ours.dynamic_scale) == np.finfo("float32").smallest_normal
    ours.apply([2.0 * ours.dynamic_scale], [w])
    assert float(w) == -1.0
    ours.dynamic_growth_steps = 1
    ours.dynamic_scale.assign(2.0**127)
    ours.apply([tf.constant(0.0)], [w])
    assert float(ours.dynamic_scale) == 2.0**127


@pytest.mark.parametrize("scale", [2.0**15, 2.0**16, 2.0**20])
def test_a_scale_above_the_range_of_float16_divides_its_gradients(scale):
    gradient = np.array([1000.0, 2000.0], "float16")
    ours = optimizers.LossScaleOptimizer(optimizers.SGD(1.0), initial_scale=scale)
    theirs = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), initial_scale=scale)
    w, expected = tf.Variable(np.zeros(2, "float16")), keras.Variable([0.0, 0.0], dtype="float16")
    ours.apply([tf.constant(gradient)], [w])
    theirs.apply([tf.constant(gradient)], [expected])
    np.testing.assert_array_equal(w, expected)
    fixed, v = optimizers.SGD(1.0, loss_scale_factor=scale), tf.Variable(np.zeros(2, "float16"))
    fixed.apply([tf.constant(gradient)], [v])
    np.testing.assert_array_equal(v, w)


def test_learning_rate_and_iterations_are_the_inner_ones():
    ours, _ = pair()
    ours.learning_rate = 0.5
    assert float(ours.inner_optimizer.learning_rate) == 0.5
    oracle.run(ours, steps_with_overflows())
    assert int(ours.iterations) == 10


def test_configuration_round_trip():
    ours, _ = pair()
    again = optimizers.deserialize(optimizers.serialize(ours))
    assert again.get_config() == ours.get_config()
    old = {**ours.get_config(), "clipnorm": None, "use_ema": False}
    assert isinstance(optimizers.LossScaleOptimizer.from_config(old), optimizers.Optimizer)


@pytest.mark.parametrize(
    "options", [{"clipnorm": 1.0}, {"use_ema": True}, {"unknown": 1}, {"dynamic": False}]
)
def test_options_of_the_inner_optimizer_are_refused(options):
    with pytest.raises(ValueError, match="LossScaleOptimizer"):
        optimizers.LossScaleOptimizer(optimizers.SGD(), **options)
    with pytest.raises(ValueError):  # noqa: PT011 the type is Keras's, the text is ours
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), **options)
