"""`tfkit.config`: the settings of the process."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.registry.dtype_policies import dtype_policy as dtype_policy
    from tfkit.src.base.registry.dtype_policies import set_dtype_policy as set_dtype_policy
    from tfkit.src.base.settings import backend as backend
    from tfkit.src.base.settings import compile_after as compile_after
    from tfkit.src.base.settings import disable_flash_attention as disable_flash_attention
    from tfkit.src.base.settings import disable_interactive_logging as disable_interactive_logging
    from tfkit.src.base.settings import disable_traceback_filtering as disable_traceback_filtering
    from tfkit.src.base.settings import enable_flash_attention as enable_flash_attention
    from tfkit.src.base.settings import enable_interactive_logging as enable_interactive_logging
    from tfkit.src.base.settings import enable_traceback_filtering as enable_traceback_filtering
    from tfkit.src.base.settings import epsilon as epsilon
    from tfkit.src.base.settings import floatx as floatx
    from tfkit.src.base.settings import functions_run_eagerly as functions_run_eagerly
    from tfkit.src.base.settings import image_data_format as image_data_format
    from tfkit.src.base.settings import is_flash_attention_enabled as is_flash_attention_enabled
    from tfkit.src.base.settings import (
        is_interactive_logging_enabled as is_interactive_logging_enabled,
    )
    from tfkit.src.base.settings import is_nnx_enabled as is_nnx_enabled
    from tfkit.src.base.settings import (
        is_traceback_filtering_enabled as is_traceback_filtering_enabled,
    )
    from tfkit.src.base.settings import max_epochs as max_epochs
    from tfkit.src.base.settings import max_steps_per_epoch as max_steps_per_epoch
    from tfkit.src.base.settings import run_functions_eagerly as run_functions_eagerly
    from tfkit.src.base.settings import set_backend as set_backend
    from tfkit.src.base.settings import set_compile_after as set_compile_after
    from tfkit.src.base.settings import set_epsilon as set_epsilon
    from tfkit.src.base.settings import set_floatx as set_floatx
    from tfkit.src.base.settings import set_image_data_format as set_image_data_format
    from tfkit.src.base.settings import set_max_epochs as set_max_epochs
    from tfkit.src.base.settings import set_max_steps_per_epoch as set_max_steps_per_epoch
    from tfkit.src.engine.program_cache import disable_program_cache as disable_program_cache
    from tfkit.src.engine.program_cache import enable_program_cache as enable_program_cache
    from tfkit.src.engine.program_cache import is_program_cache_enabled as is_program_cache_enabled

_later.offer(__name__)
