"""The results of a training run as a table of text or HTML, and as curves."""

from __future__ import annotations

import html as escaping
from collections.abc import Iterable
from typing import Any

from tfkit.src.base import packages
from tfkit.src.base.quoting import printable

_MOST = 20  # Rows that are read; of longer training runs, the first and the last.


def _rows(results: dict[str, list[Any]]) -> list[list[str]]:
    """Returns a row of titles and a row for each epoch, with dots instead of many."""
    num_epochs = max(map(len, results.values()), default=0)
    shown = list(range(1, num_epochs + 1))
    rows = [["epoch", *map(printable, results)]]
    for epoch in shown if num_epochs <= _MOST else [*shown[:5], None, *shown[-5:]]:
        rows.append(
            ["..."] * len(rows[0])
            if epoch is None
            else [str(epoch), *(_shown(values, epoch, num_epochs) for values in results.values())]
        )
    return rows


def _shown(values: list[Any], epoch: int, num_epochs: int) -> str:
    """Returns the value of an epoch; a validation may have run in some epochs only."""
    if len(values) < num_epochs:
        return "-" if epoch < num_epochs or not values else _number(values[-1])
    return _number(values[epoch - 1])


def _number(value: Any) -> str:
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError):  # an array, or what a callback has added
        return printable(str(value))[:20]


def text(results: dict[str, list[Any]]) -> str:
    """Returns a table for a terminal."""
    rows = _rows(results)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def html(results: dict[str, list[Any]]) -> str:
    """Returns a table for a notebook."""
    titles, *rows = [[escaping.escape(cell) for cell in row] for row in _rows(results)]
    head = "".join(f"<th>{cell}</th>" for cell in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plot(results: dict[str, list[Any]], names: str | Iterable[str] | None) -> list[Any]:
    """Returns axes with the curves of the results, those of validation dashed. See `History.plot`."""
    if names is None:
        names = [
            name
            for name in results
            if name.removeprefix("val_") not in results or name[:4] != "val_"
        ]
    names = [names] if isinstance(names, str) else list(names)
    chosen = {name: results[name] for name in names}
    pyplot = packages.imported("matplotlib.pyplot", "`History.plot`", "matplotlib", "matplotlib")
    count = max(len(chosen), 1)
    _, axes = pyplot.subplots(
        1, count, figsize=(4.5 * count, 3.2), squeeze=False, layout="constrained"
    )
    for axis, (name, values) in zip(axes[0], chosen.items(), strict=False):
        (line,) = axis.plot(range(1, len(values) + 1), values, label=name, marker=".")
        measured = results.get(f"val_{name}")
        if measured is not None and len(measured) == len(values):
            axis.plot(
                range(1, len(measured) + 1),
                measured,
                "--",
                label=f"val_{name}",
                marker=".",
                color=line.get_color(),
            )
            axis.legend()
        axis.set_title(name)
        axis.set_xlabel("epoch")
        axis.xaxis.get_major_locator().set_params(integer=True)
    return list(axes[0])
