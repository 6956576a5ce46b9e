"""Errors about the arguments of a constructor name the class that the user called, not a base of it."""

import inspect
import re

import pytest

import tfkit

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
