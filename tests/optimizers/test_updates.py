"""Every optimizer against Keras: weights and slots after ten steps, in each kind of program."""

import inspect

import keras
import pytest

from tests.optimizers import oracle
from tfkit import optimizers

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
]
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


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_ten_steps_equal_keras(name, options, mode, expected):
    keras_variables, keras_slots = expected(name, options)
    optimizer = getattr(optimizers, name)(**options)
    variables = oracle.run(optimizer, oracle.gradients(10), mode)
    oracle.assert_same(variables, keras_variables)
    oracle.assert_same(optimizer.variables, keras_slots)


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_variables_are_named_ordered_and_typed_as_in_keras(name, options, expected):
    _, keras_slots = expected(name, options)
    optimizer = getattr(optimizers, name)(**options, name="opt")
    optimizer.build(oracle.make_variables())
    ours = [(v.path.split("/")[1], v.dtype.name, tuple(v.shape)) for v in optimizer.variables]
    assert ours == [(v.path.split("/")[1], v.dtype, tuple(v.shape)) for v in keras_slots]
    assert all(v.path.startswith("opt/") and not v.trainable for v in optimizer.variables)


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_configuration_round_trip(name, options):
    optimizer = getattr(optimizers, name)(**options, name="opt")
    config = optimizer.get_config()
    assert config == getattr(keras.optimizers, name)(**options, name="opt").get_config()
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert type(again) is type(optimizer)
    assert again.get_config() == config


@pytest.mark.parametrize("name", sorted({name for name, _ in OPTIONS} | {"Optimizer"}))
def test_arguments_are_those_of_keras(name):
    def arguments(cls):
        parameters = inspect.signature(cls).parameters.values()
        return [(p.name, p.default) for p in parameters]

    ours, theirs = getattr(optimizers, name), getattr(keras.optimizers, name)
    if name == "Optimizer":
        theirs = keras.src.optimizers.base_optimizer.BaseOptimizer
    assert arguments(ours) == arguments(theirs)


@pytest.mark.parametrize("name", sorted({name for name, _ in OPTIONS}))
def test_names_find_the_class(name):
    for spelling in (name, name.lower(), name.upper()):
        assert type(optimizers.get(spelling)) is getattr(optimizers, name)
