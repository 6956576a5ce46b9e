"""The engines that run steps: TensorFlow, or JAX, which is imported when it is first asked for."""

from __future__ import annotations

import functools
import os
from typing import Any

from tfkit.src.base import packages
from tfkit.src.base.errors.frames import warn

ENGINES = ("tensorflow", "jax")
# What there is for users of Keras's other backends.
_INSTEAD = {
    "jax": "`compile(engine='jax')` trains a model on JAX, `interop.to_jax` converts a layer, and "
    "`layers.JaxLayer` holds a function of JAX.",
    "torch": "`interop.to_torch` converts a layer, and `layers.TorchModuleWrapper` holds a module of "
    "PyTorch.",
}


def jax_engine() -> Any:
    """Returns the module that makes steps for JAX.

    Raises:
        ImportError: without JAX.
    """
    module = "tfkit.src.training.jax.steps"
    return packages.imported(module, "`compile(engine='jax')`", "JAX", "'tfkit-dl[jax]'")


def warn_of_backend() -> None:
    """Warns, once, if `KERAS_BACKEND` names JAX or PyTorch."""
    backend = os.environ.get("KERAS_BACKEND")
    if backend in _INSTEAD:
        _warn_of(backend)


@functools.cache
def _warn_of(backend: str) -> None:
    warn(f"KERAS_BACKEND={backend} has no effect: tfkit runs on TensorFlow. {_INSTEAD[backend]}")
