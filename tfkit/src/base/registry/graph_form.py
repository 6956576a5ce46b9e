"""The form of a functional model's configuration: checked where it is read, before anything uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.base.quoting import quoted

# What the tensors inside a graph are called by.
_REFERENCE = "the name of a layer, the index of a call, and the index of an output, both from 0"


def check_graph(config: dict[str, Any]) -> None:
    """Raises an error for a configuration that does not have the form of a graph of layers.

    Args:
        config: what a configuration of a functional model holds.

    Raises:
        ValueError: that says what has which form instead.
    """
    layers = config.get("layers")
    _require(isinstance(layers, list), "`layers`", "a list", layers)
    for entry in layers or ():
        _require(isinstance(entry, dict), "A layer", "a dict", entry)
        name, nodes = entry.get("name"), entry.get("inbound_nodes")
        _require(isinstance(name, str), "The `name` of a layer", "a string", name)
        is_list = isinstance(nodes, list) and all(isinstance(node, dict) for node in nodes)
        _require(is_list, f"`inbound_nodes` of layer {quoted(name)}", "a list of dicts", nodes)
        for node in nodes:
            args, kwargs = node.get("args"), node.get("kwargs")
            _require(
                isinstance(args, (list, tuple)),
                f"`args` of a call of layer {quoted(name)}",
                "a list",
                args,
            )
            _require(
                isinstance(kwargs, dict),
                f"`kwargs` of a call of layer {quoted(name)}",
                "a dict",
                kwargs,
            )
            _check_tensors([args, kwargs])
    for key in ("input_layers", "output_layers"):
        _check_references(config.get(key), key)


def checked_reference(reference: Any) -> tuple[str, int, int]:
    """Returns the name of a layer, the index of its call, and the index of the call's output."""
    is_reference = isinstance(reference, (list, tuple)) and len(reference) == 3
    is_reference = is_reference and isinstance(reference[0], str)
    is_reference = is_reference and all(type(it) is int and it >= 0 for it in reference[1:])
    _require(is_reference, "A tensor", _REFERENCE, reference)
    name, index, position = reference
    return name, index, position


def is_reference(references: Any) -> bool:
    """Whether a nest of references is a single one: it begins with a name, others with a reference."""
    return (
        isinstance(references, (list, tuple))
        and bool(references)
        and isinstance(references[0], str)
    )


def map_references(references: Any, function: Callable[[Any], Any]) -> Any:
    """Returns a nest of references with each replaced by `function` of it."""
    if isinstance(references, dict):
        return {key: map_references(item, function) for key, item in references.items()}
    if is_reference(references):
        return function(references)
    items = [map_references(item, function) for item in references]
    return tuple(items) if isinstance(references, tuple) else items


def _check_tensors(value: Any) -> None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict) and item.get("class_name") == "__keras_tensor__":
            inner = item.get("config")
            checked_reference(inner.get("keras_history") if isinstance(inner, dict) else inner)
        elif isinstance(item, dict) and "class_name" not in item:
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)


def _check_references(references: Any, key: str) -> None:
    pending = [references]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif is_reference(item):
            checked_reference(item)
        else:
            _require(
                isinstance(item, (list, tuple)),
                f"`{key}`",
                f"a nest of tensors, each {_REFERENCE}",
                item,
            )
            pending.extend(item)


def _require(holds: bool, what: str, form: str, value: Any) -> None:
    if not holds:
        raise ValueError(
            f"{what} in the configuration of a functional model must be {form}. Received: {quoted(value)}"
        )
