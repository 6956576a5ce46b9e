"""Estimates the number of steps after which XLA's compiler has saved its own time.

Measured in seconds of CPU time on two cores, compared with the result of the formula below:

| step                                    | operations | compiling | saved by a step | pays from | estimate |
|-----------------------------------------|-----------:|----------:|----------------:|----------:|---------:|
| one `Dense`, batch 32                   |         98 |      0.14 |          35 us  |     4,000 |    5,000 |
| MLP 16-32-32-10, batch 32               |        247 |      0.57 |          90 us  |     6,300 |    4,700 |
| MLP with dropout, batch normalization   |        461 |      1.02 |         210 us  |     4,800 |    4,500 |
| MLP 784-512-512-10, GELU, batch 128     |        565 |      1.2  |         2.0 ms  |       600 |    1,200 |
| embedding of 10,000 words               |        180 |      0.37 |         3.6 ms  |       100 |      160 |
| VAE of the guide                        |        593 |      1.24 |         190 us  |     6,500 |    2,200 |
| attention over 40 words                 |        955 |      2.9  |         2.3 ms  |     1,300 |    1,750 |
| two LSTMs, 20 steps                     |        740 |      1.3  |         2.5 ms  |       530 |      600 |
| LSTM, 50 steps                          |        438 |      0.9  |         2.5 ms  |       370 |      410 |
| transformer of two blocks               |      1,628 |      2.1  |          10 ms  |       210 |      260 |

The estimate depends on the step alone, never on measured time: the same program computes the same values
each time it is run.
"""

from __future__ import annotations

import math

import tensorflow as tf

from tfkit.src.engine import xla
from tfkit.src.training.step import StepTrace

_COMPILING = 2.0e-3  # Seconds for an operation.
# Seconds that XLA saves in a step:
_OPERATION = 0.4e-6  # To start a kernel.
_ELEMENT = 0.15e-9  # To store an element of a result and read it again.
_LOOP = 0.4e-3  # To run the steps of a recurrent layer.
_USUAL_ROWS = 32  # Rows of a batch.


def steps_that_pay(trace: StepTrace, batch_size: int | None) -> int:
    """Returns the number of steps from which a training run is faster with XLA, including compilation.

    Args:
        trace: the step.
        batch_size: rows of a batch; `None` if they are unknown.
    """
    operations = trace.function.graph.get_operations()
    num_loops = sum(operation.type in xla.LOOPS for operation in operations)
    saved = (
        len(trace.operations) * _OPERATION
        + num_loops * _LOOP
        + sum(_num_elements(operation, batch_size or _USUAL_ROWS) for operation in operations)
        * _ELEMENT
    )
    return math.ceil(len(trace.operations) * _COMPILING / saved)


def steps_that_pay_for_parts(trace: StepTrace) -> int | None:
    """Returns the same for the parts that XLA can compile within a step; `None` if there are none.

    The parts are updates of variables, in which each operation stores as many values as a variable has.
    Adam over 811,000 values in 10 variables: 0.3 to 0.5 s to compile, 2.7 ms saved by a step.
    """
    if not xla.has_part(trace.definition):
        return None
    sizes = [variable.shape.num_elements() or 0 for variable in trace.function.variables]
    saved = _OPERATION + sum(sizes) / len(sizes) * _ELEMENT
    return math.ceil(_COMPILING / saved)


def _num_elements(operation: tf.Operation, batch_size: int) -> int:
    """Returns the number of elements that an operation stores, for a number of rows."""
    if operation.type in xla.NOT_STORING:
        return 0
    shapes = [output.shape for output in operation.outputs]
    sizes = [shape.as_list() for shape in shapes if shape.rank is not None]
    return sum(math.prod(batch_size if n is None else n for n in each) for each in sizes)
