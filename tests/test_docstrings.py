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


def public_objects():
    """`layers.Dense`: the class; and functions. An alias has another name than what it stands for."""
    for room in ROOMS:
        for name, value in sorted(vars(operator.attrgetter(room)(tfkit)).items()):
            home = str(getattr(value, "__module__", ""))
            is_own = home.startswith("tfkit.") and getattr(value, "__name__", "") == name
            if is_own and not name.startswith("_") and inspect.isclass(value):
                yield f"{room}.{name}", value
            elif is_own and home.startswith(f"tfkit.{room}.") and name not in IDENTIFIERS:
                yield f"{room}.{name}", inspect.unwrap(value)


IDENTIFIERS = ("get", "serialize", "deserialize")
PUBLIC = dict(public_objects())


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


def parameters_of(item):
    """Each named argument of a function or of a class's constructor with its default."""
    function = item.__init__ if inspect.isclass(item) else item
    return {
        parameter.name: parameter.default
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_class_or_function_describes_its_arguments_and_shows_its_use(name):
    item, text = PUBLIC[name], inspect.cleandoc(PUBLIC[name].__doc__ or "")
    described, parameters = documented_arguments(text), parameters_of(item)
    assert list(described) == (list(parameters) or list(described))  # `Model` takes `*args`.
    for argument, description in described.items():
        default = parameters.get(argument)
        stated = re.search(r"Default: `(.*?)`\.$", description)
        if stated:
            assert ast.literal_eval(stated[1]) == default, argument
        elif default not in (None, inspect.Parameter.empty):
            assert "not supported" in description, f"{argument} does not state its default"
    # A callback's is a call of `fit`, which takes too long to be run here.
    assert f"\nExample:\n    {'```python' if name.startswith('callbacks.') else '>>>'}" in text
    if inspect.isclass(item) and issubclass(item, tfkit.layers.Layer):
        assert "\nInput shape: " in text
        assert "\nOutput shape: " in text


@pytest.mark.parametrize("folder", ["tfkit", "docs"])
def test_texts_are_plain_english(folder):
    idioms = re.compile(
        r"tells? that|what .{1,40} (is|are) good for|label for people|without a word|if wished"
    )
    files = sorted(path for end in ("py", "md") for path in (ROOT / folder).rglob(f"*.{end}"))
    assert files
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if idioms.search(line.lower())
    ]
    assert not found, "\n".join(found)
