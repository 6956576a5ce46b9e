"""After how many steps a training has gained what XLA's compiler costs."""

from __future__ import annotations

import math

from tfkit.src.base.settings import compile_after
from tfkit.src.training.step import StepTrace

# TODO numbers
_COMPILE_SECONDS = 2.0e-3  # for an operation
_OVERHEAD_SECONDS = 0.4e-6  # of an operation, which XLA saves
_ELEMENT_SECONDS = 0.2e-9  # of an element of an operation's outputs, which XLA need not store


def steps_that_pay(trace: StepTrace, batch_size: int) -> int:
    """Returns the number of steps from which on XLA saves more time than it takes to compile a step.

    Args:
        trace: the step.
        batch_size: rows of a batch.
    """
    after = compile_after()
    if after is not None:
        return after
    num_operations, num_elements = trace.work(batch_size)
    cost = num_operations * _COMPILE_SECONDS
    gain = num_operations * _OVERHEAD_SECONDS + num_elements * _ELEMENT_SECONDS
    return math.ceil(cost / gain)
