"""Errors about the arguments of a constructor name the class that the user called, not a base of it."""

import inspect
import math
import re

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import callbacks, constraints, initializers, losses, metrics
from tfkit.optimizers import schedules

ROOMS = ("layers", "losses", "metrics", "optimizers", "callbacks", "initializers", "regularizers")


def wrong_calls(cls):
    """Yields arguments with one missing, passed twice, or unknown, for a class that refuses them."""
    parameters = list(inspect.signature(cls).parameters.values())
    by_place = [it for it in parameters if it.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    required = [it for it in by_place if it.default is inspect.Parameter.empty]
    if required:
        yield (), {}
    if by_place:
        yield (1,) * max(1, len(required)), {by_place[0].name: 1}
    if all(it.kind is not inspect.Parameter.VAR_KEYWORD for it in parameters):
        yield (1,) * len(required), {"nonsense": 1}


@pytest.mark.parametrize("room", ROOMS)
def test_errors_name_the_class_that_was_called(room):
    classes = {value for _, value in inspect.getmembers(getattr(tfkit, room), inspect.isclass)}
    assert classes
    for cls in classes:
        for args, kwargs in wrong_calls(cls):
            with pytest.raises((TypeError, ValueError)) as caught:
                cls(*args, **kwargs)
            named = re.match(r"(.*)\.__init__\(\)", str(caught.value))
            assert named is None or named[1].split(".")[-1] == cls.__name__


def test_a_subclass_with_its_own_constructor_is_not_blamed():
    class Mine(tfkit.layers.Conv2D):
        def __init__(self):
            super().__init__()

    with pytest.raises(TypeError, match=r"^Conv2D.__init__\(\) missing 2 required"):
        Mine()


@pytest.mark.parametrize(
    ("cls", "arguments", "expected"),
    [
        (losses.CategoricalCrossentropy, {"from_logits": 0.1}, "True or False"),
        (losses.CategoricalCrossentropy, {"from_logits": "no"}, "True or False"),
        (losses.Huber, {"delta": "1"}, "a number"),
        (losses.Huber, {"delta": math.nan}, "a number"),
        (losses.SparseCategoricalCrossentropy, {"ignore_class": 1.5}, "an integer or None"),
        (losses.CosineSimilarity, {"axis": "last"}, "an integer, several of them, or None"),
        (losses.LossFunctionWrapper, {"fn": 3}, "a function"),
        (metrics.AUC, {"num_thresholds": "many"}, "an integer"),
        (metrics.Mean, {"name": 3}, "a string or None"),
        (constraints.MaxNorm, {"max_value": "2"}, "a number"),
        (initializers.RandomNormal, {"stddev": "0.1"}, "a number"),
        (schedules.CosineDecay, {"initial_learning_rate": 0.1, "decay_steps": "9"}, "a number"),
        (callbacks.EarlyStopping, {"patience": "a"}, "a number"),
        (callbacks.ModelCheckpoint, {"filepath": "a.keras", "save_best_only": "no"}, "True or"),
    ],
)
def test_values_of_the_wrong_kind_are_refused_by_name(cls, arguments, expected):
    name, value = list(arguments.items())[-1]
    wanted = f"`{name}` of {cls.__name__} must be {expected}.*Received: {name}={value!r}"
    with pytest.raises(ValueError, match=wanted):
        cls(**arguments)


def test_values_of_the_right_kind_may_have_any_type():
    """NumPy's numbers, tensors, 0 and 1 as flags, and integers that a file has as floats."""
    losses.CategoricalCrossentropy(np.True_, np.float32(0.1), axis=np.int64(-1))
    losses.CategoricalCrossentropy(tf.constant(True), 0)
    losses.SparseCategoricalCrossentropy(None, ignore_class=255.0)
    losses.CosineSimilarity((1, 2))
    losses.Huber(tf.constant(2.0, "bfloat16"))
    metrics.BinaryAccuracy(threshold=0)
    metrics.AUC(np.int32(10), multi_label=1)
    constraints.MaxNorm(tf.constant(2.0), axis=[0, 1])
    schedules.CosineDecay(0, np.int32(5), warmup_target=np.float32(0.1), warmup_steps=2.0)
    callbacks.EarlyStopping(patience=math.inf, verbose=True, restore_best_weights=1)
    callbacks.ReduceLROnPlateau(factor=np.float64(0.5), patience=2.5, cooldown=1.5)


def test_an_unknown_argument_is_one_error():
    with pytest.raises(
        TypeError, match=r"^ModelCheckpoint.__init__\(\) got an unexpected"
    ) as caught:
        callbacks.ModelCheckpoint("a.keras", period=2)
    assert caught.value.__context__ is None
