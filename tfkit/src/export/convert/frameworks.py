"""The folders that import JAX and PyTorch, when something first needs them."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import packages

# The build on package indexes brings gigabytes for GPUs, and a compiler that cannot be in one process with
# TensorFlow's: see docs/torch.md.
_TORCH_FOR_CPUS = "torch --index-url https://download.pytorch.org/whl/cpu"


def of_jax(name: str, user: str) -> Any:
    """Returns a module of the folder `jax`; `user` names what needs it, for the message.

    Raises:
        ImportError: without JAX.
    """
    return packages.imported(f"tfkit.src.export.convert.jax.{name}", user, "JAX", "'tfkit-dl[jax]'")


def of_torch(name: str, user: str) -> Any:
    """Returns a module of the folder `pytorch`; `user` names what needs it, for the message.

    Raises:
        ImportError: without PyTorch.
    """
    return packages.imported(
        f"tfkit.src.export.convert.pytorch.{name}", user, "PyTorch", _TORCH_FOR_CPUS
    )
