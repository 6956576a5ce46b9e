"""Schedule-free AdamW against its paper.

Keras's TensorFlow backend is no oracle for the weights: it recovers the average `x` from `y` with the
`z` of after the step instead of the one before, because its "old value" is the variable itself.
"""

import keras
import numpy as np
import pytest

from tests.optimizers import oracle
from tfkit import optimizers


def paper(steps, gamma, beta_1=0.9, beta_2=0.999, epsilon=1e-8, warmup_steps=0):
    """Algorithm 1 of Defazio et al., 2024, with equal weights, keeping `x`, in float64."""
    results = []
    for w, gradients in zip(oracle.start_values().values(), zip(*steps, strict=True), strict=True):
        y = z = x = w.astype("float64")
        v = 0.0
        for t, g in enumerate(gradients, start=1):
            rate = gamma * min(1.0, t / warmup_steps) if warmup_steps else gamma
            v = beta_2 * v + (1 - beta_2) * g.astype("float64") ** 2
            z = z - rate * g / (np.sqrt(v / (1 - beta_2**t)) + epsilon)
            x = (1 - 1 / t) * x + z / t
            y = (1 - beta_1) * z + beta_1 * x
        results.append(y)
    return results


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
@pytest.mark.parametrize("options", [{}, {"beta_1": 0.5, "warmup_steps": 4}], ids=str)
def test_ten_steps_follow_the_paper(options, mode):
    steps = oracle.gradients(10)
    ours = optimizers.ScheduleFreeAdamW(0.01, **options)
    variables = oracle.run(ours, steps, mode)
    oracle.assert_same(variables, paper(steps, 0.01, **options), rtol=1e-5)
    theirs = keras.optimizers.ScheduleFreeAdamW(0.01, **options)
    oracle.run_keras(theirs, steps)
    oracle.assert_same(ours.variables, theirs.variables)


def test_configuration_round_trip():
    optimizer = optimizers.ScheduleFreeAdamW(warmup_steps=3, name="opt")
    config = optimizer.get_config()
    assert config == keras.optimizers.ScheduleFreeAdamW(warmup_steps=3, name="opt").get_config()
    assert optimizers.deserialize(optimizers.serialize(optimizer)).get_config() == config
