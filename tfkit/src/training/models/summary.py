"""Prints the table of `Model.summary()`."""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from tfkit.src.base import notebooks, terminal
from tfkit.src.base.quoting import printable
from tfkit.src.core.layer import Layer
from tfkit.src.symbolic.operations import Operation
from tfkit.src.symbolic.tensors import Node
from tfkit.src.training.models.graph_config import operation_names

if TYPE_CHECKING:
    from tfkit.src.training.models.model import Model

_JUSTIFY: dict[str, JustifyMethod] = {"Param #": "right", "Trainable": "center"}


def print_summary(
    model: Model,
    *,
    line_length: int | None,
    positions: Any,
    print_fn: Callable[[str], Any] | None,
    expand_nested: bool,
    show_trainable: bool,
    layer_range: Any,
) -> None:
    """Prints the layers of a model; with the arguments of `Model.summary`."""
    columns, rows = _cells(model, expand_nested, show_trainable, layer_range)
    console = Console(width=line_length, highlight=False)
    widths: list[int | None] = [None] * len(columns)
    if positions is not None:
        line_length = line_length or console.width
        widths = _widths(positions, columns, line_length)
    table = Table(width=line_length)
    for title, width in zip(columns, widths, strict=True):
        table.add_column(title, justify=_JUSTIFY.get(title, "left"), width=width)
    for row in rows:
        table.add_row(*map(escape, row))

    totals = [f"[bold] {title}:[/bold] {size}" for title, size in _totals(model).items()]
    lines = [f'[bold]Model: "{escape(printable(model.name))}"[/bold]', table, *totals]
    if print_fn is None and not notebooks.is_here():
        with console.capture() as capture:
            console.print(*lines, sep="\n")
        terminal.write(capture.get())
        return
    # Plain text for a function or a notebook, without looking for a terminal.
    console = Console(
        width=line_length,
        highlight=False,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
    )
    with console.capture() as capture:
        console.print(*lines, sep="\n")
    if print_fn is not None:
        print_fn(capture.get())
    else:
        notebooks.show(_table(model, columns, rows), capture.get())


def html_summary(model: Model) -> str:
    """Returns the table as HTML, for notebooks."""
    return _table(model, *_cells(model, False, False, None))


def _table(model: Model, columns: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    totals = "<br>".join(
        f"<b>{html.escape(title)}:</b> {size}" for title, size in _totals(model).items()
    )
    return (
        f"<b>Model: &quot;{html.escape(printable(model.name))}&quot;</b>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{totals}"
    )


def _cells(
    model: Model, expand_nested: bool, show_trainable: bool, layer_range: Any
) -> tuple[list[str], list[list[str]]]:
    """Returns the titles of the columns, and the rows."""
    calls = _calls(model)
    names = {} if model._tfkit_graph is None else operation_names(model._tfkit_graph)
    columns = ["Layer (type)", "Output Shape", "Param #"]
    columns += ["Connected to"] * _branches(model) + ["Trainable"] * show_trainable
    rows = [
        _row(inner, "   " * depth + "└ " * (depth > 0), calls, names)
        for operation in _in_range(list(calls), layer_range, names)
        for depth, inner in _nested(operation, 0, expand_nested)
    ]
    return columns, [[printable(row[title]) for title in columns] for row in rows]


# --- The rows ---------------------------------------------------------------------------------------


def _calls(model: Model) -> dict[Any, list[Node]]:
    """Returns the layers and functions that the model runs, with their calls in its graph, if it has one."""
    calls: dict[Any, list[Node]] = {}
    for node in _nodes(model):
        calls.setdefault(_operation(node), []).append(node)
    layers = model.layers  # The layers of a Sequential model do not include the input layer.
    rows = [row for row in calls if row in layers or not isinstance(row, Layer)]
    rows += [layer for layer in layers if layer not in calls]
    return {row: calls.get(row, []) for row in rows}


def _operation(node: Node) -> Any:
    """Returns the operation of a row: a layer for all its calls, a function for each call."""
    return node.operation if isinstance(node.operation, Layer) else node


def _nodes(model: Model) -> list[Node]:
    return [] if model._tfkit_graph is None else model._tfkit_graph.nodes


def _branches(model: Model) -> bool:
    """Whether the graph is more than a chain of calls to different layers."""
    nodes = _nodes(model)
    chain = all(
        [tensor.node for tensor in node.input_tensors] == [before]
        for before, node in itertools.pairwise(nodes)
    )
    return not chain or any(len(calls) > 1 for calls in _calls(model).values())


def _nested(operation: Any, depth: int, expand: bool) -> list[tuple[int, Any]]:
    inside = operation.layers if expand and hasattr(operation, "layers") else []
    rows = [_nested(layer, depth + 1, expand) for layer in inside]
    return [(depth, operation), *itertools.chain(*rows)]


def _row(
    operation: Any, prefix: str, calls: dict[Any, list[Node]], names: dict[int, str]
) -> dict[str, str]:
    """Returns the cells of a layer or function, by the titles of their columns."""
    here = calls.get(operation, [])
    sources = [_source(tensor, calls, names) for node in here for tensor in node.input_tensors]
    row = {"Connected to": ", ".join(sources) or "-", "Param #": "0", "Trainable": "-"}
    if not isinstance(operation, Layer):
        shapes = _shapes(operation.outputs)
        made_by = operation.operation
        kind = type(made_by).__name__
        if not isinstance(made_by, Operation):
            kind = "".join(part.capitalize() for part in made_by.__name__.split("_"))
        return row | {"Layer (type)": f"{names[id(operation)]} ({kind})", "Output Shape": shapes}
    row["Layer (type)"] = f"{prefix}{operation.name} ({type(operation).__name__})"
    row["Output Shape"] = _layer_shapes(operation, here)
    row["Param #"] = f"{operation.count_params():,}" if operation.built else "0 (unbuilt)"
    if operation.built and operation.weights:
        row["Trainable"] = "Y" if operation.trainable else "N"
    return row


def _source(tensor: Any, calls: dict[Any, list[Node]], names: dict[int, str]) -> str:
    """Returns the origin of a tensor: `layer[number of its call][number of the output]`."""
    operation = _operation(tensor.node)
    call = calls.get(operation, [tensor.node]).index(tensor.node)
    output = [id(one) for one in tensor.node.output_tensors].index(id(tensor))
    return f"{names[id(tensor.node)]}[{call}][{output}]"


def _layer_shapes(layer: Layer, calls: list[Node]) -> str:
    calls = calls or layer._tfkit.nodes
    if calls:
        return _shapes(calls[-1].outputs)
    graph = getattr(layer, "_tfkit_graph", None)
    if graph is not None:
        return _shapes(graph.outputs)
    shapes = layer._tfkit.output_shapes
    if shapes is None and layer._tfkit.build_arguments:
        try:
            shapes = layer.compute_output_shape(*layer._tfkit.build_arguments.values())
        except Exception:  # It may run the user's `call`, whose error must not break the table.
            shapes = None
    return "?" if shapes is None else str(shapes)


def _shapes(outputs: Any) -> str:
    return str(tf.nest.map_structure(lambda tensor: tensor.shape, outputs))


# --- Options of the table ----------------------------------------------------------------------------


def _in_range(operations: list[Any], layer_range: Any, nodes: dict[int, str]) -> list[Any]:
    """Returns the rows from the first that matches one pattern to the last that matches the other."""
    if layer_range is None:
        return operations
    names = [nodes.get(id(row)) or row.name for row in operations]
    if len(layer_range) != 2 or not all(isinstance(pattern, str) for pattern in layer_range):
        raise ValueError(
            "`layer_range` must be two strings, the names of the first and the last layer to show, "
            f"or patterns of them. Received: layer_range={layer_range!r}"
        )
    found = [
        [index for index, name in enumerate(names) if re.match(pattern, name)]
        for pattern in layer_range
    ]
    if not all(found):
        raise ValueError(
            f"`layer_range` names no layer of the model. Expected names among {names}. "
            f"Received: layer_range={layer_range!r}"
        )
    first, last = found
    if first[0] > last[-1]:
        first, last = last, first
    return operations[first[0] : last[-1] + 1]


def _widths(positions: Any, columns: list[str], line_length: int) -> list[int | None]:
    """Returns widths of the columns whose right ends are at `positions`, relative to the line or absolute."""
    ends = [float(position) for position in positions]
    number = len(columns) - ("Trainable" in columns)
    # In Keras, positions need not include the last column: the others then share 90 % of the line.
    if len(ends) == number and number < len(columns):
        ends = [0.9 * end for end in ends] + [max(ends)]
    if len(ends) != len(columns):
        raise ValueError(
            f"`positions` must have one number for the end of each of the columns {columns[:number]}. "
            f"Received: positions={positions!r}"
        )
    # Shares of the line if the last is 1 at most, otherwise characters.
    unit = line_length if ends[-1] <= 1 else 1
    edges = [0, *(int(end * unit) for end in ends)]
    widths = [right - left for left, right in itertools.pairwise(edges)]
    if min(widths) < 4:
        raise ValueError(
            f"A line of {line_length} characters is too short for the columns {columns} at "
            f"positions={positions!r}: each needs 4 at least. Pass a larger `line_length`."
        )
    return [width - 3 for width in widths]  # Each column has a border and two spaces.


# --- Sums below the table ---------------------------------------------------------------------------


def _totals(model: Model) -> dict[str, str]:
    kinds = {
        "Trainable params": model.trainable_weights,
        "Non-trainable params": model.non_trainable_weights,
    }
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and optimizer.built:
        kinds["Optimizer params"] = optimizer.variables
    kinds = {"Total params": list(itertools.chain(*kinds.values())), **kinds}
    return {
        title: f"{_count(variables):,} ({_bytes(variables)})" for title, variables in kinds.items()
    }


def _count(variables: list[tf.Variable]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)


def _bytes(variables: list[tf.Variable]) -> str:
    size = float(sum(math.prod(variable.shape) * variable.dtype.size for variable in variables))
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            break
        size /= 1024
    return f"{size:.2f} {unit}"
