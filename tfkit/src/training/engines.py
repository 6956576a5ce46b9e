"""The engines that run steps: TensorFlow, or JAX, which is imported when it is first asked for."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import packages

ENGINES = ("tensorflow", "jax")


def jax_engine() -> Any:
    """Returns the module that makes steps for JAX.

    Raises:
        ImportError: without JAX.
    """
    module = "tfkit.src.training.jax.steps"
    return packages.imported(module, "`compile(engine='jax')`", "JAX", "'tfkit-dl[jax]'")
