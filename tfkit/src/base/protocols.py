"""What rooms below `core` know of the layers that they are handed."""

from __future__ import annotations

from typing import Protocol


class HasPath(Protocol):
    """A layer as messages name it."""

    @property
    def path(self) -> str:
        """How the layer is reached from the outermost layer that called it: `encoder/dense_proj`."""
