"""Learning rates that change from step to step."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.optimizers.schedules.base import LearningRateSchedule as LearningRateSchedule
    from tfkit.src.optimizers.schedules.base import deserialize as deserialize
    from tfkit.src.optimizers.schedules.base import serialize as serialize
    from tfkit.src.optimizers.schedules.cosine import CosineDecay as CosineDecay
    from tfkit.src.optimizers.schedules.cosine import CosineDecayRestarts as CosineDecayRestarts
    from tfkit.src.optimizers.schedules.decay import ExponentialDecay as ExponentialDecay
    from tfkit.src.optimizers.schedules.decay import InverseTimeDecay as InverseTimeDecay
    from tfkit.src.optimizers.schedules.decay import (
        PiecewiseConstantDecay as PiecewiseConstantDecay,
    )
    from tfkit.src.optimizers.schedules.decay import PolynomialDecay as PolynomialDecay

_later.offer(__name__)
