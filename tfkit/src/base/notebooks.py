"""Notebooks: whether the program runs in one, and how it shows there what is more than text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def is_here() -> bool:
    """Whether what the program prints is shown in a notebook."""
    return "ipykernel" in type(sys.stdout).__module__ and "IPython" in sys.modules


def show(html: str, text: str) -> None:
    """Shows `html` in the notebook; `text` where that is shown as text."""
    display: Any = sys.modules["IPython"].display
    display.display({"text/html": html, "text/plain": text}, raw=True)


def picture(path: Path) -> Any:
    """What shows a picture in the notebook; `None` for a format that it does not show."""
    display: Any = sys.modules["IPython"].display
    if path.suffix == ".svg":
        return display.SVG(filename=str(path))
    return display.Image(filename=str(path)) if path.suffix in (".png", ".jpg", ".jpeg") else None
