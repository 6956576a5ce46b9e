"""Notebooks: made of the examples and of the guide, and run."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS, PICTURES = ROOT / "docs/notebooks", ROOT / "docs/pictures"
GUIDE = "subclassing_guide"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
_MACHINE = re.compile(r"/(?:work|tmp|home|root|usr|opt)/")


def cells(name: str) -> list[tuple[str, str]]:
    """Returns the cells of a notebook: pairs of `"markdown"` or `"code"` and the text."""
    if name == GUIDE:
        return _cells_of_guide((NOTEBOOKS / f"{GUIDE}.py").read_text(encoding="utf-8"))
    return _cells_of_example(name, (ROOT / f"examples/{name}.py").read_text(encoding="utf-8"))


def _cells_of_guide(source: str) -> list[tuple[str, str]]:
    """Returns cells that begin with `# %%` or, for comments that are text, with `# %% [markdown]`."""
    found = []
    for part in re.split(r"^# %%", source, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if "markdown" in head:
            found.append(("markdown", re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip()))
        else:
            found.append(("code", body.strip()))
    return found


def _cells_of_example(name: str, source: str) -> list[tuple[str, str]]:
    """Returns cells: the text, the imports, each class and function, the body of `main`, the picture."""
    tree, lines = ast.parse(source), source.splitlines()
    text = re.sub(r"\n\n    python [^\n]*", "", ast.get_docstring(tree) or "")
    first, *rest = text.split("\n", 1)
    found = [("markdown", "\n".join([f"# {first.rstrip('.')}", *rest]).strip())]
    end, piece = tree.body[0].end_lineno or 0, ""
    for node in tree.body[1:-1]:  # between the docstring and the call of `main`
        part = "\n".join(lines[end : node.end_lineno])
        end = node.end_lineno or 0
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            piece += part + "\n"
            continue
        if piece.strip():
            found.append(("code", piece.replace("import argparse\n", "").strip()))
            piece = ""
        if node.name == "main":
            part = _body_of_main(node, source)
        found.append(("code", part.strip()))
    picture = f'from IPython.display import Image\n\nImage("{name}.png")'
    return [*found, ("code", picture)]


def _body_of_main(main: ast.FunctionDef, source: str) -> str:
    """Returns the statements of `main` with the defaults of its options, without its result."""
    options, lines, start = [], source.splitlines(), main.body[0].lineno
    for node in ast.walk(main):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "parser.add_argument":
            default = next((kw.value for kw in node.keywords if kw.arg == "default"), None)
            key = ast.literal_eval(node.args[0])[2:].replace("-", "_")
            options.append(f"{key}={ast.get_source_segment(source, default) if default else None}")
    for statement in main.body:
        if ast.unparse(statement).startswith("options = parser."):
            start = (statement.end_lineno or 0) + 1
    stop = main.body[-1].lineno - 1 if isinstance(main.body[-1], ast.Return) else main.end_lineno
    body = textwrap.dedent("\n".join(lines[start - 1 : stop])).strip()
    return (
        "from types import SimpleNamespace\n\n"
        f"options = SimpleNamespace({', '.join(options)})\n\n{body}"
    )


def run(name: str) -> None:
    """Runs a notebook, and writes it and its picture."""
    import nbclient
    import nbformat

    # Figures are drawn into a file, and the last cell shows the file.
    os.environ.update(PYTHONPATH=str(ROOT), MPLBACKEND="agg")
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    book = nbformat.v4.new_notebook(
        cells=[
            make[kind](text, id=f"cell-{number}") for number, (kind, text) in enumerate(cells(name))
        ],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(
            book, timeout=1800, kernel_name="python3", resources=resources, record_timing=False
        ).execute()
        picture = Path(folder, f"{name}.png")
        if picture.exists():
            shutil.copyfile(picture, PICTURES / picture.name)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            said = [output for output in cell.outputs if output.get("name") == "stderr"]
            for output in said:
                print(f"{name}: {output.text}", file=sys.stderr)
            cell.outputs = [output for output in cell.outputs if output not in said]
            _join_texts(cell.outputs)
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    text = json.dumps(book, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if found := _MACHINE.search(text):
        raise ValueError(f"{name} shows a path of this machine: {text[found.start() - 60 :][:160]}")
    NOTEBOOKS.joinpath(f"{name}.ipynb").write_text(text, encoding="utf-8")


def _join_texts(outputs: list[Any]) -> None:
    """Joins texts that follow one another: how they are cut depends on the time."""
    for number in range(len(outputs) - 1, 0, -1):
        before, after = outputs[number - 1], outputs[number]
        if before.get("name") == after.get("name") == "stdout":
            before.text += after.text
            del outputs[number]


def printed(name: str) -> str:
    """Returns what the committed notebook has printed."""
    book = json.loads(NOTEBOOKS.joinpath(f"{name}.ipynb").read_text(encoding="utf-8"))
    texts = []
    for cell in book["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" not in data:
                texts.append("".join(output.get("text") or data.get("text/plain", "")).strip("\n"))
    return "\n".join(texts)
