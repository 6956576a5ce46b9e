"""`tfkit.mixed_precision`: dtype policies and the loss scale, by the names that Keras has here."""

from tfkit.dtype_policies import DTypePolicy as DTypePolicy
from tfkit.dtype_policies import dtype_policy as dtype_policy
from tfkit.dtype_policies import set_dtype_policy as set_dtype_policy
from tfkit.optimizers import LossScaleOptimizer as LossScaleOptimizer

Policy = DTypePolicy
global_policy = dtype_policy
set_global_policy = set_dtype_policy
