"""Writes a diagram in Graphviz's language, and draws it with Graphviz if it is installed."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfkit.src.base.quoting import shown
from tfkit.src.data.utils.plotting.diagram import Box, Diagram
from tfkit.src.data.utils.plotting.drawing import colour_of, picture_of, raster, svg

_STRAIGHT = ("line", "false", "polyline", "ortho")
_TIMEOUT = 120.0  # seconds that Graphviz may take


class Dot:
    """A diagram that can be written as Graphviz's text, and as a picture.

    It has the methods of `pydot.Dot` that programs use. Graphviz draws if it is installed; otherwise tfkit
    draws SVG itself, and other formats with Pillow.

    Args:
        diagram: of a model.
        name: of the model.
        rankdir: direction of the arrows: `"TB"`, `"LR"`, `"BT"` or `"RL"`.
        dpi: dots per inch, for pictures that are not SVG.
        splines: form of the arrows, as Graphviz calls it.
        subgraph: whether the text is a part of a larger graph.
    """

    def __init__(
        self,
        diagram: Diagram,
        name: str,
        *,
        rankdir: str = "TB",
        dpi: float | None = 200,
        splines: str = "ortho",
        subgraph: bool = False,
    ) -> None:
        self._diagram = diagram
        self._name = shown(name)
        self._rankdir = rankdir
        self._dpi = 200.0 if dpi is None else float(dpi)
        self._splines = splines
        self._subgraph = subgraph
        # Raises an error for a diagram that cannot be drawn.
        self._picture = picture_of(diagram, rankdir)

    def to_string(self) -> str:
        """Returns the diagram in the language DOT."""
        lines = []
        if self._subgraph:
            lines += [f"subgraph {_quoted('cluster_' + self._name)} {{", "style=dashed;"]
            lines.append(f"label={_quoted(self._name)};")
        else:
            lines += [f"digraph {_quoted(self._name)} {{", f"rankdir={self._rankdir};"]
            lines += [
                "concentrate=true;",
                f"dpi={self._dpi:g};",
                f"splines={_quoted(self._splines)};",
            ]
        lines.append("node [shape=plaintext, fontname=Helvetica];")
        lines.extend(self._grouped(list(range(len(self._diagram.boxes))), ()))
        lines.extend(f"{start} -> {end};" for start, end in self._diagram.arrows)
        return "\n".join([*lines, "}\n"])

    def _grouped(self, numbers: list[int], group: tuple[str, ...]) -> Iterator[str]:
        """Yields the boxes of a model, and the models inside it as clusters."""
        inner: dict[str, list[int]] = {}
        for number in numbers:
            box = self._diagram.boxes[number]
            if len(box.group) > len(group):
                inner.setdefault(box.group[len(group)], []).append(number)
            else:
                yield f"{number} [label=<{_table(box)}>];"
        for name, members in inner.items():
            yield f"subgraph {_quoted('cluster_' + '/'.join((*group, name)))} {{"
            yield f"style=dashed; label={_quoted(name)}; labeljust=l;"
            yield from self._grouped(members, (*group, name))
            yield "}"

    def create(self, prog: str | None = None, format: str = "svg") -> bytes:
        """Returns the picture in a format.

        Args:
            prog: Graphviz's program. Default: `dot`, if it is installed.
            format: `"svg"`, `"png"`, `"jpg"`, `"pdf"`, `"dot"`, or another format that Graphviz has.

        Raises:
            ImportError: if it needs Pillow, which is not installed.
            OSError: if `prog` is given and is not installed, or fails.
            ValueError: for a format that is not known.
        """
        if format in ("dot", "raw"):
            return self.to_string().encode()
        program = shutil.which(prog or "dot")
        if program:
            return self._by_graphviz(program, format)
        if prog:
            raise OSError(
                f"`prog` must be an installed program of Graphviz. Received: prog={prog!r}, which is not "
                "found. Install Graphviz, or leave `prog` out: tfkit then draws the picture itself."
            )
        if format == "svg":
            return self._repr_svg_().encode()
        return raster(self._picture, format, self._dpi)

    def _by_graphviz(self, program: str, format: str) -> bytes:
        try:
            result = subprocess.run(
                [program, f"-T{format}"],
                input=self.to_string().encode(),
                capture_output=True,
                timeout=_TIMEOUT,
                check=True,
            )
        except (subprocess.SubprocessError, OSError) as error:
            said = getattr(error, "stderr", None) or b""
            raise OSError(f"Graphviz failed: {error} {said.decode(errors='replace')}") from error
        return result.stdout

    def create_svg(self, prog: str | None = None) -> bytes:
        """Returns the picture as SVG."""
        return self.create(prog, "svg")

    def create_png(self, prog: str | None = None) -> bytes:
        """Returns the picture as PNG."""
        return self.create(prog, "png")

    def write(
        self, path: str | os.PathLike[str], prog: str | None = None, format: str = "raw"
    ) -> bool:
        """Writes the picture to a file, and returns `True`."""
        Path(path).write_bytes(self.create(prog, format))
        return True

    def write_svg(self, path: str | os.PathLike[str], prog: str | None = None) -> bool:
        """Writes the picture as SVG, and returns `True`."""
        return self.write(path, prog, "svg")

    def write_png(self, path: str | os.PathLike[str], prog: str | None = None) -> bool:
        """Writes the picture as PNG, and returns `True`."""
        return self.write(path, prog, "png")

    def _repr_svg_(self) -> str:
        """Returns the SVG for notebooks."""
        return svg(self._picture, self._splines not in _STRAIGHT)


def _table(box: Box) -> str:
    """Returns a box as a table in Graphviz's HTML."""
    title = f'<font color="white"><b>{html.escape(box.title)}</b></font>'
    rows = [f'<tr><td bgcolor="{colour_of(box)}">{title}</td></tr>']
    for label, value in box.lines:
        rows.append(f"<tr><td>{html.escape(label)}: <b>{html.escape(value)}</b></td></tr>")
    return (
        f'<table border="0" cellborder="1" cellspacing="0" cellpadding="6">{"".join(rows)}</table>'
    )


def _quoted(text: Any) -> str:
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
