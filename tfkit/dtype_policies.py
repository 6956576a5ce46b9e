"""Dtype policies: the dtypes of a layer's computations and of its weights.

Mixed precision computes in 16 bits and keeps weights in 32 (Micikevicius et al., 2017,
https://arxiv.org/abs/1710.03740).
"""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.registry.dtype_policies import DTypePolicy as DTypePolicy
    from tfkit.src.base.registry.dtype_policies import FloatDTypePolicy as FloatDTypePolicy
    from tfkit.src.base.registry.dtype_policies import deserialize as deserialize
    from tfkit.src.base.registry.dtype_policies import get as get
    from tfkit.src.base.registry.dtype_policies import serialize as serialize
    from tfkit.src.base.registry.policy_maps import DTypePolicyMap as DTypePolicyMap
    from tfkit.src.base.registry.quantized_policies import Int4DTypePolicy as Int4DTypePolicy
    from tfkit.src.base.registry.quantized_policies import (
        QuantizedDTypePolicy as QuantizedDTypePolicy,
    )
    from tfkit.src.base.registry.quantized_policies import (
        QuantizedFloat8DTypePolicy as QuantizedFloat8DTypePolicy,
    )

_later.offer(__name__)
