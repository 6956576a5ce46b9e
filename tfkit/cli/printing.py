"""Text for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` without what a terminal obeys: names in a file may be anything."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
