"""Names of the layers inside a graph or a stack, which have no attribute to be named by."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.names import to_snake_case


def local_names(layers: list[Any]) -> list[tuple[str, Any]]:
    """Layers with the names that stand in paths and files.

    A layer that its user has named keeps that name. Others are numbered by class within this model, so
    that what else the process has made before does not matter: `dense`, `dense_1`.
    """
    taken = {layer.name for layer in layers if not layer._auto_named}
    named = []
    for layer in layers:
        name = layer.name
        if layer._auto_named:
            base = name = to_snake_case(type(layer).__name__)
            count = 0
            while name in taken:
                count += 1
                name = f"{base}_{count}"
            taken.add(name)
        named.append((name.replace("/", "%2F"), layer))
    return named
