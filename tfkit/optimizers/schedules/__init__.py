"""Learning rates that change from step to step."""

from __future__ import annotations

from typing import Any

from tfkit.optimizers.schedules.base import LearningRateSchedule as LearningRateSchedule
from tfkit.optimizers.schedules.cosine import CosineDecay as CosineDecay
from tfkit.optimizers.schedules.cosine import CosineDecayRestarts as CosineDecayRestarts
from tfkit.optimizers.schedules.decay import ExponentialDecay as ExponentialDecay
from tfkit.optimizers.schedules.decay import InverseTimeDecay as InverseTimeDecay
from tfkit.optimizers.schedules.decay import PiecewiseConstantDecay as PiecewiseConstantDecay
from tfkit.optimizers.schedules.decay import PolynomialDecay as PolynomialDecay
from tfkit.registry import register_builtins
from tfkit.serialization import deserialize_keras_object, serialize_keras_object

register_builtins(
    "optimizers.schedules",
    [
        LearningRateSchedule,
        CosineDecay,
        CosineDecayRestarts,
        ExponentialDecay,
        InverseTimeDecay,
        PiecewiseConstantDecay,
        PolynomialDecay,
    ],
)


def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """Returns the configuration of a schedule, as data."""
    return serialize_keras_object(learning_rate_schedule)


def deserialize(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None
) -> LearningRateSchedule:
    """Returns the schedule that a configuration describes.

    Args:
        config: what `serialize` gave.
        custom_objects: further names that the configuration may use.
    """
    return deserialize_keras_object(config, custom_objects, kind="optimizers.schedules")
