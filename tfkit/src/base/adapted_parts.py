"""Parts of a layer that are no longer what its configuration makes of them: quantized, or with LoRA.

A layer that consists of other layers describes itself, not its parts. Its build config therefore has an entry
for each part that was changed later, by path, and the part looks it up when it is built again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from tfkit.src.base import context

KEY = "adapted_parts"
NAMES = ("dtype", "quantization_config", "lora_rank", "lora_alpha")  # Of an entry.


def described(
    config: dict[str, Any] | None, named_layers: Iterable[tuple[str, Any]]
) -> dict[str, Any] | None:
    """Returns a build config with entries for the parts that were changed.

    Args:
        config: the build config; `None` for a layer that is not built.
        named_layers: the layer itself and its parts, by path.
    """
    if config is None:
        return None
    found = {
        path: part._tfkit_adaptation()
        for path, part in named_layers
        if path and hasattr(part, "_tfkit_adaptation")
    }
    found = {path: entry for path, entry in found.items() if entry}
    return {**config, KEY: found} if found else config


@contextlib.contextmanager
def expected(owner: Any, config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Context manager in which parts of `owner` find their entries; gives the build config without them."""
    parts = config.get(KEY)
    if not isinstance(parts, dict):
        yield config
        return
    with context.within(adapted_parts=(owner, parts)):
        yield {name: value for name, value in config.items() if name != KEY}


def in_progress() -> tuple[Any, dict[str, Any]] | None:
    """Returns the layer that is built again, and the entries for its parts; `None` outside of that."""
    return context.current().adapted_parts
