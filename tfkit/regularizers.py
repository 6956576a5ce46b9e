"""Regularizers: penalties on weights or outputs, added to the loss."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.weights.regularizers import L1 as L1
    from tfkit.src.weights.regularizers import L1L2 as L1L2
    from tfkit.src.weights.regularizers import L2 as L2
    from tfkit.src.weights.regularizers import OrthogonalRegularizer as OrthogonalRegularizer
    from tfkit.src.weights.regularizers import Regularizer as Regularizer
    from tfkit.src.weights.regularizers import deserialize as deserialize
    from tfkit.src.weights.regularizers import get as get
    from tfkit.src.weights.regularizers import serialize as serialize

    l1 = L1
    l1_l2 = L1L2
    l2 = L2
    orthogonal_regularizer = OrthogonalRegularizer

_later.offer(__name__)
