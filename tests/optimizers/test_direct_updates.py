"""Updates in a user's own loop are compiled, and do what their operations do one by one."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.optimizers import oracle
from tfkit import optimizers
from tfkit.src.optimizers import direct_updates

STEPS = oracle.gradients(8)


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Updates are compiled from the third one on."""
    monkeypatch.setattr(direct_updates, "_MANY", 3)


def programs(optimizer):
    return list(optimizer._tfkit_untracked.direct._programs.values())


def run(optimizer, steps=STEPS, change=lambda optimizer, step: None, eagerly=False):
    """Returns all values after the steps; `change(optimizer, step)` is called before each."""
    variables = oracle.make_variables()
    tfkit.config.run_functions_eagerly(eagerly)
    try:
        for number, step in enumerate(steps):
            change(optimizer, number)
            optimizer.apply(list(map(oracle.as_keras_gradient, step)), variables)
    finally:
        tfkit.config.run_functions_eagerly(False)
    return [np.asarray(it) for it in (*variables, *optimizer.variables)]


def check(make, **options):
    optimizer = make()
    found, expected = run(optimizer, **options), run(make(), eagerly=True, **options)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    return optimizer


def slices(step):
    kernel, *others = STEPS[step]
    return [
        tf.IndexedSlices(kernel[[1, 1, 3][: 1 + step % 3]], [1, 1, 3][: 1 + step % 3], (4, 3)),
        *others,
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"use_ema": True, "ema_overwrite_frequency": 2},
        {"gradient_accumulation_steps": 3, "global_clipnorm": 0.5},
        {"loss_scale_factor": 4.0, "clipvalue": 0.1, "weight_decay": 0.1},
        {"learning_rate": optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options(options):
    assert len(programs(check(lambda: optimizers.Adam(**options)))) == 1


def test_sparse_and_missing_gradients():
    steps = [slices(step) for step in range(6)] + [[None, *STEPS[0][1:]]] * 4
    with pytest.warns(UserWarning, match="dense/kernel"):
        optimizer = check(lambda: optimizers.Adam(0.1), steps=steps)
    assert len(programs(optimizer)) == 2


@pytest.mark.parametrize("name", ["learning_rate", "beta_1", "clipnorm", "weight_decay", "epsilon"])
def test_changes_of_attributes(name):
    def change(optimizer, step):
        if step == 5:
            setattr(optimizer, name, 0.25)

    assert programs(check(lambda: optimizers.AdamW(0.1, clipnorm=1.0), change=change))


def test_a_change_of_a_schedule():
    def change(optimizer, step):
        optimizer._learning_rate.decay_rate = 0.5 if step < 5 else 0.9

    check(lambda: optimizers.SGD(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)), change=change)


def test_what_a_trace_would_do_once_is_done_each_time():
    class Counting(optimizers.SGD):
        count = 0

        def update_step(self, gradient, variable, learning_rate):
            self.count += 1
            super().update_step(gradient, variable, learning_rate)

    rates = iter(range(1, 9))
    optimizer = Counting()
    assert not programs(optimizer)
    run(optimizer)
    assert optimizer.count == 8 * 3
    optimizer = optimizers.SGD(lambda: next(rates) / 100)
    run(optimizer)
    assert not programs(optimizer)
    assert next(rates, None) is None


def test_a_refused_update_changes_nothing():
    optimizer, variables = optimizers.Adam(), oracle.make_variables()
    for step in STEPS[:4]:
        optimizer.apply(list(map(tf.constant, step)), variables)
    before = [it.numpy() for it in (*variables, *optimizer.variables)]
    for wrong in ([tf.ones(5), *STEPS[0][1:]], STEPS[0][:2]):
        with pytest.raises(ValueError, match="gradient"):
            optimizer.apply(wrong, variables)
    for a, b in zip(before, (*variables, *optimizer.variables), strict=True):
        np.testing.assert_array_equal(a, b.numpy())


def test_a_loop_that_a_user_writes():
    """The loop of Keras's guide, with the numbers of its operations one by one."""

    def train(eagerly):
        tfkit.utils.set_random_seed(3)
        layers = tfkit.layers
        hidden = [layers.Dense(8, activation="relu"), layers.BatchNormalization()]
        model = tfkit.Sequential(
            [tfkit.Input((4,)), *hidden, layers.Dense(3, activation="softmax")]
        )
        loss, metric = tfkit.losses.SparseCategoricalCrossentropy(), tfkit.metrics.Mean()
        optimizer = optimizers.Adam(0.05)
        x = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
        tfkit.config.run_functions_eagerly(eagerly)
        for _ in range(6):
            with tf.GradientTape() as tape:
                value = loss([0, 1, 2, 0, 1, 2], model(x, training=True))
            gradients = tape.gradient(value, model.trainable_weights)
            optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
            metric.update_state(value)
            model(x)
        tfkit.config.run_functions_eagerly(False)
        return [metric.result(), *model.weights]

    for a, b in zip(train(False), train(True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
