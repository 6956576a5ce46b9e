"""Constraints: projections of weights after each update."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.weights.constraints import Constraint as Constraint
    from tfkit.src.weights.constraints import MaxNorm as MaxNorm
    from tfkit.src.weights.constraints import MinMaxNorm as MinMaxNorm
    from tfkit.src.weights.constraints import NonNeg as NonNeg
    from tfkit.src.weights.constraints import UnitNorm as UnitNorm
    from tfkit.src.weights.constraints import deserialize as deserialize
    from tfkit.src.weights.constraints import get as get
    from tfkit.src.weights.constraints import serialize as serialize

    max_norm = MaxNorm
    min_max_norm = MinMaxNorm
    non_neg = NonNeg
    unit_norm = UnitNorm

_later.offer(__name__)
