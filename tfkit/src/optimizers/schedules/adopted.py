"""Learning rates that are not tfkit's schedules: schedules of another Keras, and functions of the step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfkit.src.base.errors import other_keras
from tfkit.src.optimizers.schedules.base import LearningRateSchedule, deserialize


class FunctionOfStep(LearningRateSchedule):
    """A schedule that calls a user's object with the number of updates so far.

    Args:
        function: the object.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, step: Any) -> Any:
        """Returns the learning rate of a step."""
        return self.function(step)

    def get_config(self) -> dict[str, Any]:
        """Raises an error: only schedules have a configuration.

        Raises:
            TypeError: that names the function.
        """
        raise TypeError(
            f"The learning rate {self.function!r} cannot be saved. Expected a float, or a schedule: derive "
            "its class from `tfkit.optimizers.schedules.LearningRateSchedule`, with a `get_config()`."
        )


def as_schedule(learning_rate: Any) -> Any:
    """Returns a callable that needs the step as a schedule, and anything else unchanged.

    A schedule of another Keras becomes tfkit's of the same name, so that it can be saved.

    Raises:
        ValueError: for a class.
    """
    if isinstance(learning_rate, type):
        name = learning_rate.__name__
        raise ValueError(
            f"`learning_rate` must be an object, as in `{name}(...)`. Received: {name}"
        )
    if isinstance(learning_rate, LearningRateSchedule) or not _needs_step(learning_rate):
        return learning_rate
    kind = type(learning_rate)
    if other_keras.defines(kind):
        return deserialize({"class_name": kind.__name__, "config": learning_rate.get_config()})
    return FunctionOfStep(learning_rate)


def _needs_step(learning_rate: Any) -> bool:
    """Whether a learning rate can be called with one argument, and not without."""
    if not callable(learning_rate):
        return False
    try:
        signature = inspect.signature(learning_rate)
    except ValueError:  # Nothing is known about a function written in C.
        return False
    # `def rate(step=0.0)` allows both calls: it is called without the step, as in Keras.
    return not _accepts(signature) and _accepts(signature, 0)


def _accepts(signature: inspect.Signature, *args: Any) -> bool:
    try:
        signature.bind(*args)
    except TypeError:
        return False
    return True
