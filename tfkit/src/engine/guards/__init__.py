"""The checks that TensorFlow's kernels make at run time and that XLA drops, as functions of tensors.

`table` has for each operation that XLA compiles whether its kernel on the CPU refuses values, and how to ask
before; `docs/design/0004-guards.md` describes how the table was made. The other files are its rows.
"""

from tfkit.src.engine.guards.check import Check as Check
from tfkit.src.engine.guards.check import Operation as Operation
from tfkit.src.engine.guards.table import CHECKS as CHECKS
from tfkit.src.engine.guards.table import UNGUARDED as UNGUARDED
from tfkit.src.engine.guards.table import kind_of as kind_of
