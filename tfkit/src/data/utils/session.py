"""Clears state that the process keeps between models."""

from __future__ import annotations

import gc

from tfkit.src.base import settings
from tfkit.src.base.names import reset_names
from tfkit.src.base.registry.dtype_policies import reset_dtype_policy
from tfkit.src.borrowed.private import context
from tfkit.src.weights.random import reset_global_seed_generator


def clear_session(free_memory: bool = True) -> None:
    """Resets default names, the global seed generator, the global dtype policy and log switches.

    A model is freed after its last use without this call. But TensorFlow keeps about a
    megabyte for each form of model that was run; if a process makes many models of different sizes,
    this call frees it.

    Args:
        free_memory: whether to collect garbage immediately, and to free what TensorFlow keeps of
            functions that have run, which takes a little time. Default: `True`.

    Example:
        >>> first = tfkit.layers.Dense(1)
        >>> clear_session()
        >>> tfkit.layers.Dense(1).name
        'dense'
    """
    reset_names()
    reset_global_seed_generator()
    reset_dtype_policy()
    settings.enable_interactive_logging()
    if free_memory:
        gc.collect()
        context.context().clear_kernel_cache()
