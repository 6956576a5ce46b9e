"""Every example in a docstring runs and shows what it says."""

import ast
import doctest
import importlib
import random
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit

ROOT = Path(__file__).parent.parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings_of(path):
    """Name, first line and text of each docstring. `doctest` would pass over decorated functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", path.stem), node.body[0].lineno, text


WITH_EXAMPLES = {
    str(path.relative_to(ROOT)): path
    for path in sorted((ROOT / "tfkit").rglob("*.py"))
    if any(">>> " in text for _, _, text in docstrings_of(path))
}


@pytest.mark.parametrize("file", WITH_EXAMPLES)
def test_examples_show_what_they_say(file):
    module = importlib.import_module(
        file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    )
    names = {**vars(module), "tfkit": tfkit, "np": np, "tf": tf}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    report = []
    for name, line, text in docstrings_of(WITH_EXAMPLES[file]):
        examples = parser.get_doctest(text, names, name, file, line)
        if examples.examples:
            random.seed(0)
            tfkit.utils.clear_session(free_memory=False)
            runner.run(examples, out=report.append)
    assert not runner.failures, "".join(report)
