"""Packages that not every user has: imported when something first needs them."""

from __future__ import annotations

import importlib
from typing import Any


def imported(module: str, user: str, package: str, install: str) -> Any:
    """Returns a module that belongs to an optional package, or imports one.

    Args:
        module: its full name.
        user: what needs it, for the message: "`to_jax`".
        package: the package as people call it: "JAX".
        install: what follows `pip install`.

    Raises:
        ImportError: if it cannot be imported; the message names the line that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{user} needs {package}, which cannot be imported ({error}). Install it: pip install {install}"
        ) from None
