"""Finds schedules by name or configuration."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.optimizers.schedules.base import LearningRateSchedule


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
