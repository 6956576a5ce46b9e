"""The folders that import JAX and PyTorch, when something first needs them."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import packages


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
        f"tfkit.src.export.convert.pytorch.{name}", user, "PyTorch", "'tfkit-dl[torch]'"
    )
