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
