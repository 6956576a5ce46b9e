"""Constraints: projections of weights after each update."""

from tfkit.src.constraints import Constraint as Constraint
from tfkit.src.constraints import MaxNorm as MaxNorm
from tfkit.src.constraints import MinMaxNorm as MinMaxNorm
from tfkit.src.constraints import NonNeg as NonNeg
from tfkit.src.constraints import UnitNorm as UnitNorm
from tfkit.src.constraints import deserialize as deserialize
from tfkit.src.constraints import get as get
from tfkit.src.constraints import max_norm as max_norm
from tfkit.src.constraints import min_max_norm as min_max_norm
from tfkit.src.constraints import non_neg as non_neg
from tfkit.src.constraints import serialize as serialize
from tfkit.src.constraints import unit_norm as unit_norm
