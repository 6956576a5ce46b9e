"""The notebook in which a program runs."""

from __future__ import annotations

import sys
from typing import Any

from tfkit.src.base import packages


def display() -> Any:
    """Returns IPython's module of displays, or `None` if IPython is not running."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return None
    return packages.imported("IPython.display", "A bar of HTML", "IPython", "ipython")
