"""The base of learning-rate schedules, and their configurations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.base.registry.constructors import Configured, own_arguments
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.base.watching import Watched


class LearningRateSchedule(Configured, Overridable, Watched):
    """The base of schedules: the learning rate as a function of the number of updates so far.

    A subclass defines `__call__(step)` with TensorFlow operations, and `get_config` if models that
    use it are saved.

    Call arguments:
        step: number of updates so far, a scalar.

    Output shape: A scalar, the learning rate.

    Example:
        >>> class Halving(LearningRateSchedule):
        ...     def __call__(self, step):
        ...         return 0.1 * 0.5 ** tf.cast(step, "float32")
        >>> round(float(Halving()(1)), 6)
        0.05
    """

    def __call__(self, step: Any) -> Any:
        """Returns the learning rate of a step.

        Args:
            step: a scalar: how many steps have been made before.
        """
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data.

        Example:
            >>> schedule = tfkit.optimizers.schedules.ExponentialDecay(0.5, 100, 0.9)
            >>> schedule.get_config()["decay_rate"]
            0.9
        """
        config = own_arguments(self)
        if config is None:
            raise NotImplementedError(
                f"Learning rate schedule '{type(self).__name__}' must override `get_config()` to be saved."
            )
        return config


def as_rate(value: Any) -> tf.Tensor:
    """Returns a learning rate as a tensor: of its own dtype, float32 for Python numbers."""
    return tf.convert_to_tensor(value, None if hasattr(value, "dtype") else tf.float32)


def check_positive(name: str, steps: Any) -> None:
    """Raises `ValueError` unless `steps`, the argument called `name`, is above zero."""
    if steps <= 0:
        raise ValueError(f"Argument `{name}` must be > 0. Received: {name}={steps}")


def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """Returns the configuration of a learning rate schedule.

    Args:
        learning_rate_schedule: a schedule.

    Returns:
        A dict of plain data that `deserialize` accepts.

    Example:
        >>> serialize(tfkit.optimizers.schedules.ExponentialDecay(0.1, 100, 0.5))["config"][
        ...     "decay_rate"
        ... ]
        0.5
    """
    return serialize_keras_object(learning_rate_schedule)


def deserialize(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None
) -> LearningRateSchedule:
    """Returns the schedule that a configuration describes: the inverse of `serialize`.

    Args:
        config: a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A schedule.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> float(
        ...     deserialize(serialize(tfkit.optimizers.schedules.ExponentialDecay(0.5, 100, 0.5)))(
        ...         0
        ...     )
        ... )
        0.5
    """
    return deserialize_keras_object(config, custom_objects, kind="optimizers.schedules")
