"""`tfkit.mixed_precision`: dtype policies and the loss scale, under Keras's names."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.registry.dtype_policies import DTypePolicy as DTypePolicy
    from tfkit.src.base.registry.dtype_policies import dtype_policy as dtype_policy
    from tfkit.src.base.registry.dtype_policies import set_dtype_policy as set_dtype_policy
    from tfkit.src.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer

    Policy = DTypePolicy
    global_policy = dtype_policy
    set_global_policy = set_dtype_policy

_later.offer(__name__)
