"""The options that all optimizers share, however they are passed."""

import inspect
import typing

import keras
import pytest

from tests.optimizers.test_updates import CLASSES, WRAPPERS
from tfkit import optimizers
from tfkit.src.optimizers import options

SHARING = sorted(CLASSES - WRAPPERS)
# A value for each option that can be had together with the others.
VALUES = {
    "weight_decay": 0.125,
    "clipnorm": None,
    "clipvalue": None,
    "global_clipnorm": 0.5,
    "use_ema": True,
    "ema_momentum": 0.75,
    "ema_overwrite_frequency": 3,
    "loss_scale_factor": 8.0,
    "gradient_accumulation_steps": 2,
    "name": "given",
}


def test_type_checkers_know_the_options_that_there_are():
    parameters = inspect.signature(optimizers.Optimizer).parameters
    own = {"learning_rate", "kwargs"}
    assert list(options.SHARED) == [name for name in parameters if name not in own]
    assert list(options.SHARED) == list(VALUES)
    types = typing.get_type_hints(optimizers.Optimizer.__init__)
    assert typing.get_type_hints(options.Options) == {name: types[name] for name in options.SHARED}


@pytest.mark.parametrize("name", SHARING)
def test_options_are_taken_by_name_and_by_position(name):
    cls, theirs = getattr(optimizers, name), getattr(keras.optimizers, name)
    parameters = inspect.signature(cls).parameters
    given = {
        p.name: VALUES.get(p.name, p.default) for p in parameters.values() if p.name != "kwargs"
    }
    config = theirs(**given).get_config()
    for each in (cls(**given), cls(*given.values())):
        assert each.get_config() == config
    with pytest.raises(TypeError, match=rf"{name} takes at most {len(given)} arguments"):
        cls(*given.values(), None)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'learning_rate'"):
        cls(0.1, learning_rate=0.1)
    with pytest.raises(ValueError, match=rf"not recognized by {name}: .*rate"):
        cls(rate=0.1)


def test_options_of_a_subclass():
    class Mine(optimizers.Adam):
        def __init__(self, learning_rate=0.5, **kwargs):
            super().__init__(learning_rate, 0.8, **kwargs)

    mine = Mine(clipnorm=0.25)
    assert (float(mine.learning_rate), mine.beta_1, mine.clipnorm) == (0.5, 0.8, 0.25)
    assert list(inspect.signature(Mine).parameters) == ["learning_rate", "kwargs"]


@pytest.mark.parametrize("name", SHARING)
def test_help_describes_each_option(name):
    text = inspect.getdoc(getattr(optimizers, name))
    assert "**options" not in text
    assert text.count("\n    ema_momentum: share of the old average") == 1
