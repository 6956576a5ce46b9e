"""Learning rates that change from step to step."""

from tfkit.optimizers.schedules.base import LearningRateSchedule as LearningRateSchedule
