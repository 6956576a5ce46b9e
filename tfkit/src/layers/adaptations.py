"""The notes of a layer, which is built again from its configuration, on its parts: integers, or LoRA."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import context
from tfkit.src.base.registry import dtype_policies
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer

_NAMES = ("dtype", "quantization_config", "lora_rank", "lora_alpha")  # Of an entry.


def noted(layer: Layer, attribute: str = "") -> dict[str, Any]:
    """Returns the notes on a layer, or on a part that it is about to make; empty if there are none.

    Args:
        layer: a layer.
        attribute: the attribute that will hold the part.

    Raises:
        ValueError: for a dtype policy that is not a quantized one.
    """
    in_progress = context.current().adapted_parts
    if in_progress is None:
        return {}
    owner, parts = in_progress
    # By path, which is the same in the process that wrote the configuration.
    paths = [path for path, each in tracking.named_layers(owner) if each is layer]
    entry = parts.get("/".join(filter(None, (paths[0], attribute)))) if paths else None
    if not isinstance(entry, dict):
        return {}
    entry = {name: value for name, value in entry.items() if name in _NAMES}
    if "dtype" in entry:
        entry["dtype"] = dtype_policies.get(entry["dtype"])
        # A file could name any policy; only a quantization's policy may differ from the layer's own.
        if entry["dtype"].quantization_mode is None:
            raise ValueError(
                f"Expected a quantized dtype policy for a part of {layer._tfkit.title}. Received: "
                f"{entry['dtype'].name}"
            )
    return entry
