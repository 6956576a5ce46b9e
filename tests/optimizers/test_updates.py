"""Every optimizer against Keras: weights and slots after ten steps, in each kind of program."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.optimizers import oracle
from tfkit import optimizers
from tfkit.src.optimizers import direct_updates

OPTIONS = [
    ("SGD", {}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.5, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {}),
    ("Adam", {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-3}),
    ("Adam", {"learning_rate": 0.1, "amsgrad": True, "clipnorm": 0.5}),
    ("AdamW", {}),
    ("AdamW", {"learning_rate": 0.05, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"learning_rate": 0.01, "momentum": 0.7, "rho": 0.8}),
    ("RMSprop", {"learning_rate": 0.01, "centered": True, "epsilon": 1e-2}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "epsilon": 1e-2, "clipvalue": 0.3}),
    ("Adadelta", {}),
    ("Adadelta", {"learning_rate": 1.0, "rho": 0.5, "epsilon": 1e-3}),
    ("Adagrad", {}),
    ("Adagrad", {"learning_rate": 0.5, "initial_accumulator_value": 1.0}),
    ("Adamax", {}),
    ("Adamax", {"learning_rate": 0.1, "beta_1": 0.5, "weight_decay": 0.1}),
    ("Nadam", {}),
    ("Nadam", {"learning_rate": 0.1, "beta_1": 0.5, "gradient_accumulation_steps": 2}),
    ("Ftrl", {}),
    ("Ftrl", {"learning_rate": 0.5, "l1_regularization_strength": 0.3, "beta": 0.2}),
    ("Ftrl", {"l2_regularization_strength": 0.1, "l2_shrinkage_regularization_strength": 0.1}),
    ("Ftrl", {"learning_rate": 0.1, "learning_rate_power": -0.3}),
    ("Lion", {}),
    ("Lion", {"learning_rate": 0.1, "beta_1": 0.5, "weight_decay": 0.1}),
    ("Lamb", {}),
    ("Lamb", {"learning_rate": 0.1, "weight_decay": 0.1}),
    ("Adafactor", {}),
    ("Adafactor", {"learning_rate": 0.9, "clip_threshold": 0.5}),
    ("Adafactor", {"learning_rate": 0.9, "beta_2_decay": -0.5}),
    # Below 1 / sqrt(10), since Keras 3.15.1 limits the rate by 1 / sqrt(t) in any case.
    ("Adafactor", {"learning_rate": 0.3, "relative_step": False}),
    ("Muon", {}),
    ("Muon", {"learning_rate": 0.1, "nesterov": False, "rms_rate": None, "ns_steps": 3}),
    ("Muon", {"learning_rate": 0.1, "exclude_layers": ["dense"], "adam_lr_ratio": 0.5}),
]
CLASSES = {name for name, _ in OPTIONS} | {
    "LossScaleOptimizer",
    "Optimizer",
    "MultiOptimizer",
    "OptimizerMap",
    "ScheduleFreeAdamW",
}
# What has no formula of its own.
WRAPPERS = {"LossScaleOptimizer", "MultiOptimizer", "Optimizer", "OptimizerMap"}
IDS = [f"{name}-{'-'.join(options) or 'defaults'}" for name, options in OPTIONS]


@pytest.fixture(scope="module")
def expected():
    """Keras's answers, each computed once."""
    answers = {}

    def answer(name, options):
        key = (name, str(options))
        if key not in answers:
            optimizer = getattr(keras.optimizers, name)(**options)
            variables = oracle.run_keras(optimizer, oracle.gradients(10))
            answers[key] = variables, optimizer.variables
        return answers[key]

    return answer


@pytest.mark.parametrize("mode", ["eager", "direct", "graph", "xla"])
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_ten_steps_equal_keras(name, options, mode, expected, monkeypatch):
    if mode == "direct":  # Compiled from the fourth step on.
        monkeypatch.setattr(direct_updates, "_MANY", 4)
    keras_variables, keras_slots = expected(name, options)
    optimizer = getattr(optimizers, name)(**options)
    variables = oracle.run(optimizer, oracle.gradients(10), mode)
    oracle.assert_same(variables, keras_variables)
    oracle.assert_same(optimizer.variables, keras_slots)


@pytest.mark.parametrize("size", [1e30, 0.0])
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_gradients_whose_squares_overflow_or_are_zero_have_the_effect_of_keras(name, options, size):
    """The squares of RMSprop stay infinite; infinity minus infinity was NaN."""
    steps = [[size * g for g in step] for step in oracle.gradients(2)]
    ours, theirs = (getattr(it, name)(**options) for it in (optimizers, keras.optimizers))
    expected = oracle.run_keras(theirs, steps)
    oracle.assert_same(oracle.run(ours, steps), expected)
    # In proportion to the gradients: Keras subtracts `beta` from 1 in 32 bits.
    oracle.assert_same(ours.variables, theirs.variables, atol=1e-6 * max(size, 1.0))


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_variables_are_named_ordered_and_typed_as_in_keras(name, options, expected):
    _, keras_slots = expected(name, options)
    optimizer = getattr(optimizers, name)(**options, name="opt")
    optimizer.build(oracle.make_variables())
    ours = [(v.label, v.dtype.name, tuple(v.shape)) for v in optimizer.variables]
    theirs = [(v.name, v.dtype, tuple(v.shape)) for v in keras_slots]
    if name == "Nadam":  # Keras leaves its product of momenta without a name
        theirs[-1] = ("u_product", *theirs[-1][1:])
    assert ours == theirs
    assert all(v.path.startswith("opt/") and not v.trainable for v in optimizer.variables)


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_configuration_round_trip(name, options):
    optimizer = getattr(optimizers, name)(**options, name="opt")
    config = optimizer.get_config()
    assert config == getattr(keras.optimizers, name)(**options, name="opt").get_config()
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert type(again) is type(optimizer)
    assert again.get_config() == config


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_arguments_are_those_of_keras(name):
    def arguments(cls):
        parameters = inspect.signature(cls).parameters.values()
        return [(p.name, p.default) for p in parameters]

    ours, theirs = getattr(optimizers, name), getattr(keras.optimizers, name)
    if name == "Optimizer":
        theirs = keras.src.optimizers.base_optimizer.BaseOptimizer
    assert arguments(ours) == arguments(theirs)


@pytest.mark.parametrize("name", sorted(CLASSES - WRAPPERS))
def test_names_find_the_class(name):
    for spelling in (name, name.lower(), name.upper()):
        assert type(optimizers.get(spelling)) is getattr(optimizers, name)


def test_every_class_has_its_row():
    public = {name for name, _ in inspect.getmembers(optimizers, inspect.isclass)}
    assert public - {"Any"} == CLASSES


BAD_OPTIONS = [
    ("Lion", {"beta_1": 0.0}),
    ("Ftrl", {"initial_accumulator_value": -1.0}),
    ("Ftrl", {"learning_rate_power": 0.5}),
    ("Ftrl", {"l1_regularization_strength": -1.0}),
    ("Ftrl", {"l2_regularization_strength": -1.0}),
    ("Ftrl", {"l2_shrinkage_regularization_strength": -1.0}),
]


@pytest.mark.parametrize(("name", "options"), BAD_OPTIONS, ids=str)
def test_bad_options_are_refused_as_in_keras(name, options):
    (option,) = options
    with pytest.raises(ValueError, match=f"`{option}` must be .* Received: {option}="):
        getattr(optimizers, name)(**options)
    with pytest.raises(ValueError):  # noqa: PT011 the type is Keras's, the text is ours
        getattr(keras.optimizers, name)(**options)


@pytest.mark.parametrize("name", sorted(CLASSES - WRAPPERS))
def test_slots_of_every_optimizer_survive_a_checkpoint(name, tmp_path):
    optimizer, again = (getattr(optimizers, name)(0.1) for _ in range(2))
    variables = oracle.run(optimizer, oracle.gradients(1))
    path = tf.train.Checkpoint(optimizer=optimizer).save(str(tmp_path / "state"))
    again.build(variables)
    tf.train.Checkpoint(optimizer=again).restore(path).assert_consumed()
    oracle.assert_same(again.variables, optimizer.variables)


@pytest.mark.parametrize("options", [{}, {"rms_rate": None, "ns_steps": 3}], ids=str)
def test_parts_of_muon_equal_keras(options):
    ours, theirs = optimizers.Muon(**options), keras.optimizers.Muon(**options)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    for part in ("lr_adjust", "transpose_last_axis"):
        oracle.assert_same([getattr(ours, part)(x)], [getattr(theirs, part)(x)])
    found, expected = (it.zeropower_via_newtonschulz5(x, it.ns_steps) for it in (ours, theirs))
    oracle.assert_same([found], [expected], rtol=1e-5)


def test_part_of_muon_that_a_subclass_overrides():
    class Signs(optimizers.Muon):
        def zeropower_via_newtonschulz5(self, x, steps):
            return tf.sign(x)

    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    Signs(0.5, weight_decay=None, rms_rate=None).apply(
        [tf.constant([[1.0, -1.0], [2.0, -3.0]])], [w]
    )
    assert w.numpy().tolist() == [[0.5, 2.5], [2.5, 4.5]]


@pytest.mark.parametrize(("relative_step", "rates"), [(True, [0.9, 0.5**0.5]), (False, [0.9, 0.9])])
def test_the_rate_of_adafactor_is_limited_only_if_it_is_relative(relative_step, rates):
    """In Keras 3.15.1 it is limited in any case, and `relative_step` does nothing."""
    variable = tf.Variable(1.0)
    optimizer = optimizers.Adafactor(0.9, relative_step=relative_step)
    expected = 1.0
    for rate in rates:  # With gradients of 1, a step is the rate times the variable.
        optimizer.apply([tf.constant(1.0)], [variable])
        expected *= 1 - rate
        np.testing.assert_allclose(variable, expected, rtol=1e-4)
