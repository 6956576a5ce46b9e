"""The table that `Model.summary()` prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from rich.console import Console
from rich.table import Table


def print_summary(
    model: Any,
    line_length: int | None,
    positions: Any,
    print_fn: Callable[[str], Any] | None,
    expand_nested: bool,
    show_trainable: bool,
    layer_range: Any,
) -> None:
    """Prints the layers of a model; the arguments are those of `Model.summary`."""
    table = Table(width=line_length)
    columns = ["Layer (type)", "Output Shape", "Param #"] + ["Trainable"] * show_trainable
    for index, title in enumerate(columns):
        ratio = None if positions is None else max(1, round(100 * positions[index]))
        table.add_column(title, justify="right" if title == "Param #" else "left", ratio=ratio)
    for depth, layer in _rows(model, expand_nested, layer_range):
        row = [
            f"{'  ' * depth}{layer.name} ({type(layer).__name__})",
            _output_shape(layer),
            f"{layer.count_params():,}" if layer.built else "0 (unbuilt)",
        ]
        if show_trainable:
            row.append("Y" if layer.trainable and layer.weights else "N" if layer.weights else "-")
        table.add_row(*row)
    totals = _totals(model)
    console = Console(width=line_length, highlight=False)
    if print_fn is None:
        console.print(f'[bold]Model: "{model.name}"[/bold]', table, *totals, sep="\n")
        return
    with console.capture() as capture:
        console.print(f'Model: "{model.name}"', table, *totals, sep="\n")
    print_fn(capture.get())


def _rows(
    model: Any, expand_nested: bool, layer_range: Any, depth: int = 0
) -> list[tuple[int, Any]]:
    layers = model.layers
    if layer_range is not None:
        names = [layer.name for layer in layers]
        first, last = (names.index(_known(name, names)) for name in layer_range)
        layers = layers[first : last + 1]
    rows = []
    for layer in layers:
        rows.append((depth, layer))
        if expand_nested and hasattr(layer, "layers"):
            rows += _rows(layer, True, None, depth + 1)
    return rows


def _known(name: str, names: list[str]) -> str:
    if name not in names:
        raise ValueError(f"`layer_range` names no layer of the model: {name!r}. Layers: {names}")
    return name


def _output_shape(layer: Any) -> str:
    if layer._tfkit.nodes:
        shapes = tf.nest.map_structure(lambda t: t.shape, layer._tfkit.nodes[-1].outputs)
    else:
        shapes = layer._tfkit.output_shapes
    return "?" if shapes is None else str(shapes)


def _totals(model: Any) -> list[str]:
    kinds = [
        ("Total params", model.weights),
        ("Trainable params", model.trainable_weights),
        ("Non-trainable params", model.non_trainable_weights),
    ]
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and optimizer.variables:
        kinds.append(("Optimizer params", optimizer.variables))
    return [f" {title}: {_count(variables):,} ({_bytes(variables)})" for title, variables in kinds]


def _count(variables: list[tf.Variable]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)


def _bytes(variables: list[tf.Variable]) -> str:
    size = float(sum(math.prod(variable.shape) * variable.dtype.size for variable in variables))
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            break
        size /= 1024
    return f"{size:.2f} {unit}"
