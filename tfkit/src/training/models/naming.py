"""Names the layers in a graph or a stack, which no attribute holds."""

from __future__ import annotations

import functools
from typing import Any

from tfkit.src.base.names import to_snake_case

_base_name = functools.cache(to_snake_case)


def local_names(layers: list[Any]) -> list[tuple[str, Any]]:
    """Returns the layers with their names in paths and files.

    A layer that its user has named keeps that name. Others are numbered by class within this model, so
    that other objects in the process do not matter: `dense`, `dense_1`.
    """
    taken = {layer._name for layer in layers if not layer._tfkit_auto_named}
    counts: dict[str, int] = {}  # For each base name; all lower numbers are taken.
    named = []
    for layer in layers:
        name = layer._name
        if layer._tfkit_auto_named:
            base = name = _base_name(type(layer).__name__)
            count = counts.get(base, 0)
            if count:
                name = f"{base}_{count}"
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            taken.add(name)
            counts[base] = count + 1
        named.append((name.replace("/", "%2F"), layer))
    return named
