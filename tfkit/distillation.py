"""Distillation: a small model learns from the outputs and features of a large one."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.training.distillation.distiller import Distiller as Distiller
    from tfkit.src.training.distillation.losses import DistillationLoss as DistillationLoss
    from tfkit.src.training.distillation.losses import FeatureDistillation as FeatureDistillation
    from tfkit.src.training.distillation.losses import LogitsDistillation as LogitsDistillation

_later.offer(__name__)
