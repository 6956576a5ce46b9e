"""Optimizers: updates of variables by gradients."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.optimizers import schedules as schedules
    from tfkit.src.optimizers.adadelta import Adadelta as Adadelta
    from tfkit.src.optimizers.adafactor import Adafactor as Adafactor
    from tfkit.src.optimizers.adagrad import Adagrad as Adagrad
    from tfkit.src.optimizers.adam import Adam as Adam
    from tfkit.src.optimizers.adamax import Adamax as Adamax
    from tfkit.src.optimizers.adamw import AdamW as AdamW
    from tfkit.src.optimizers.base import Optimizer as Optimizer
    from tfkit.src.optimizers.ftrl import Ftrl as Ftrl
    from tfkit.src.optimizers.lamb import Lamb as Lamb
    from tfkit.src.optimizers.lion import Lion as Lion
    from tfkit.src.optimizers.lookup import deserialize as deserialize
    from tfkit.src.optimizers.lookup import get as get
    from tfkit.src.optimizers.lookup import serialize as serialize
    from tfkit.src.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
    from tfkit.src.optimizers.multi import MultiOptimizer as MultiOptimizer
    from tfkit.src.optimizers.multi import OptimizerMap as OptimizerMap
    from tfkit.src.optimizers.muon import Muon as Muon
    from tfkit.src.optimizers.nadam import Nadam as Nadam
    from tfkit.src.optimizers.rmsprop import RMSprop as RMSprop
    from tfkit.src.optimizers.schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
    from tfkit.src.optimizers.sgd import SGD as SGD

_later.offer(__name__)
