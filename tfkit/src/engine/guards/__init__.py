"""The checks that TensorFlow's kernels make at run time and that XLA drops, as functions of tensors.

`table` says for each operation that XLA compiles whether its kernel on the CPU refuses values, and how to
find out before it runs. `docs/design/0004-guards.md` describes how the table was made.
"""

from tfkit.src.engine.guards.check import Check as Check
from tfkit.src.engine.guards.check import Operation as Operation
from tfkit.src.engine.guards.table import CHECKS as CHECKS
from tfkit.src.engine.guards.table import UNGUARDED as UNGUARDED
from tfkit.src.engine.guards.table import kind_of as kind_of
