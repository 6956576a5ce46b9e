"""Notebooks: whether the program runs in one, and output other than text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tfkit.src.base import packages


def is_here() -> bool:
    """Whether the program's output is shown in a notebook."""
    return "ipykernel" in type(sys.stdout).__module__ and "IPython" in sys.modules


def show(html: str, text: str) -> None:
    """Shows `html` in the notebook; `text` if it is displayed as text."""
    display: Any = sys.modules["IPython"].display
    display.display({"text/html": html, "text/plain": text}, raw=True)


def picture(path: Path) -> Any:
    """Returns an object that shows a picture in the notebook; `None` for unsupported formats."""
    display: Any = sys.modules["IPython"].display
    if path.suffix == ".svg":
        return display.SVG(filename=str(path))
    return display.Image(filename=str(path)) if path.suffix in (".png", ".jpg", ".jpeg") else None


def display() -> Any:
    """Returns IPython's module of displays, or `None` if IPython is not running."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return None
    return packages.imported("IPython.display", "A bar of HTML", "IPython", "ipython")
