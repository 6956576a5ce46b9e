"""What `FunctionDef`s and their nodes name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def functions_in(value: Any) -> Sequence[Any]:
    """The functions that an attribute of a node names, to be read or renamed: one, several or none."""
    return [value.func] if value.HasField("func") else value.list.func
