"""Every example in a docstring runs and shows what it says."""

import ast
import doctest
import importlib
import inspect
import operator
import random
import re
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


ROOMS = (
    *("layers", "losses", "metrics", "optimizers", "optimizers.schedules", "callbacks"),
    *("initializers", "regularizers", "constraints", "models"),
)


def public_classes():
    """`layers.Dense`: the class. An alias has another name than the class."""
    for room in ROOMS:
        module = operator.attrgetter(room)(tfkit)
        for name, value in sorted(vars(module).items()):
            own = inspect.isclass(value) and value.__module__.startswith("tfkit.")
            if own and value.__name__ == name and not name.startswith("_"):
                yield f"{room}.{name}", value


PUBLIC = dict(public_classes())


def documented_arguments(text):
    """Each argument under `Args:` with its description, in order."""
    found, inside = {}, False
    for line in text.splitlines():
        if not line.startswith("    "):
            inside = line == "Args:"
        elif inside and (entry := re.match(r"    (\*{0,2}\w+): (.*)", line)):
            name, found[entry[1]] = entry[1], entry[2]
        elif inside:
            found[name] += " " + line.strip()
    return {name: described for name, described in found.items() if not name.startswith("**")}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_class_describes_its_arguments_shapes_and_use(name):
    cls, text = PUBLIC[name], inspect.cleandoc(vars(PUBLIC[name])["__doc__"])
    described = documented_arguments(text)
    parameters = {
        parameter.name: parameter.default
        for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    assert list(described) == (list(parameters) or list(described))  # `Model` takes `*args`.
    for argument, description in described.items():
        if default := re.search(r"Default: `(.*?)`\.$", description):
            assert ast.literal_eval(default[1]) == parameters[argument], argument
    # A callback's is a call of `fit`, which takes too long to be run here.
    assert f"\nExample:\n    {'```python' if name.startswith('callbacks.') else '>>>'}" in text
    if issubclass(cls, tfkit.layers.Layer) and name.startswith("layers."):
        assert "\nInput shape: " in text
        assert "\nOutput shape: " in text
