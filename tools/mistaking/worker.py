"""Makes mistakes with one framework, and prints as JSON the output of Python and a notebook."""

import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from mistaking.cases import MISTAKES, PREFACE


def _lines_shown(trace: list[traceback.FrameSummary], path: str) -> set[int]:
    return {frame.lineno or 0 for frame in trace if frame.filename == path}


def _chain(error: BaseException) -> list[BaseException]:
    """Returns an error, and those that are printed above it."""
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        behind = None if each.__suppress_context__ else each.__context__
        each = each.__cause__ if each.__cause__ is not None else behind
    return found


def _notebook(kind: type, error: BaseException, trace: object) -> str | None:
    try:
        ultratb = importlib.import_module("IPython.core.ultratb")
    except ImportError:
        return None
    options = {"theme_name": "nocolor"} if "theme_name" in _names(ultratb.AutoFormattedTB) else {}
    if not options:
        options = {"color_scheme": "NoColor"}
    formatter = ultratb.AutoFormattedTB(mode="Context", **options)
    return formatter.stb2text(formatter.structured_traceback(kind, error, trace))


def _names(function: object) -> set[str]:
    return set(importlib.import_module("inspect").signature(function).parameters)


def make(name: str, keras: object, folder: Path) -> dict[str, object]:
    """Runs the program of a mistake.

    Returns:
        The error's type, what Python prints, its lines, those of a notebook or `None`, the number of
        tracebacks, and the marked lines that are not shown.
    """
    path = folder / f"{''.join(c if c.isalnum() else '_' for c in name)}.py"
    # AutoGraph treats functions with the same code and first line as the same function.
    source = "\n" * list(MISTAKES).index(name) + MISTAKES[name].strip() + "\n"
    path.write_text(source, encoding="utf-8")
    values = {"keras": keras, "__name__": "__main__", "__file__": str(path)}
    exec(PREFACE, values)
    wanted = [n for n, line in enumerate(source.splitlines(), 1) if line.endswith("# here")]
    output = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
        warnings.simplefilter("always")
        try:
            exec(compile(source, str(path), "exec"), values)
        except BaseException as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename != str(path):
                trace = trace.tb_next
            text = "".join(traceback.format_exception(type(error), error, trace))
            chain = _chain(error)
            shown = _lines_shown(traceback.extract_tb(trace), str(path))
            for each in chain[1:]:
                shown |= _lines_shown(traceback.extract_tb(each.__traceback__), str(path))
            result = {
                "type": type(error).__name__,
                "text": text,
                "lines": len(text.splitlines()),
                "notebook": None,
                "tracebacks": text.count("Traceback (most recent call last)"),
                "not_shown": sorted(set(wanted) - shown),
            }
            notebook = _notebook(type(error), error, trace)
            if notebook is not None:
                result["notebook"] = len(notebook.splitlines())
        else:
            result = {"type": None, "text": "", "lines": 0, "notebook": None, "not_shown": []}
    result["warnings"] = [f"{each.filename}:{each.lineno}: {each.message}" for each in caught]
    result["output"] = output.getvalue()
    return result


def main() -> None:
    """Runs the arguments: the framework, the mistakes' names as JSON, a folder with IPython or nothing."""
    framework, names, ipython = sys.argv[1:4]
    if ipython:
        sys.path.append(ipython)
    keras = importlib.import_module(framework)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in json.loads(names):
            result = {"name": name, **make(name, keras, Path(folder))}
            print("RESULT " + json.dumps(result), flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
