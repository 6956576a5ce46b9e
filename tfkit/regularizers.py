"""Regularizers: penalties on weights or outputs, added to the loss."""

from tfkit.src.regularizers import L1 as L1
from tfkit.src.regularizers import L1L2 as L1L2
from tfkit.src.regularizers import L2 as L2
from tfkit.src.regularizers import OrthogonalRegularizer as OrthogonalRegularizer
from tfkit.src.regularizers import Regularizer as Regularizer
from tfkit.src.regularizers import deserialize as deserialize
from tfkit.src.regularizers import get as get
from tfkit.src.regularizers import l1 as l1
from tfkit.src.regularizers import l1_l2 as l1_l2
from tfkit.src.regularizers import l2 as l2
from tfkit.src.regularizers import orthogonal_regularizer as orthogonal_regularizer
from tfkit.src.regularizers import serialize as serialize
