"""Every example in a docstring runs and shows what it says."""

import ast
import doctest
import importlib
import inspect
import operator
import random
import re
import statistics
import tempfile
from pathlib import Path

import keras
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
    names = {
        "Path": Path,
        "tempfile": tempfile,
        "tfkit": tfkit,
        "ops": tfkit.ops,
        "np": np,
        "tf": tf,
    }
    names = {**vars(module), **names}
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
    *(
        "initializers",
        "regularizers",
        "constraints",
        "models",
        "dtype_policies",
        "quantizers",
        "distillation",
        "random",
        "tree",
    ),
    *("backend", "saving", "export", "interop", "interop.keras", "datasets.mnist"),
    *(
        "applications",
        "applications.imagenet_utils",
        "applications.vgg16",
        "applications.resnet_v2",
    ),
    *("applications.densenet", "applications.mobilenet_v3"),
    *("utils", "ops", "ops.image", "ops.linalg", "ops.nn", "ops.numpy", "activations", "config"),
)
LISTED = set((ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split())


def public_objects():
    """`layers.Dense`: the class; and functions, once where several rooms have them.

    An alias has another name than what it stands for.
    """
    seen = set()
    for room in ROOMS:
        for name, value in inspect.getmembers(operator.attrgetter(room)(tfkit)):
            home = str(getattr(value, "__module__", ""))
            is_own = home.startswith("tfkit.") and getattr(value, "__name__", "") == name
            if is_own and f"{room}.{name}" in LISTED and id(value) not in seen:
                seen.add(id(value))
                yield f"{room}.{name}", inspect.unwrap(value)


PUBLIC = dict(public_objects())
# Examples that are not run here, like those of callbacks: calls of `fit`, new processes, Keras's name
# taken for the rest of the process, a data set that may have to be downloaded, matplotlib.
NOT_RUN = {
    *("export.to_serving", "export.VerificationError", "interop.stand_in_for_keras"),
    "datasets.mnist.load_data",
    "applications.imagenet_utils.decode_predictions",
    *(
        f"visualization.plot_{kind}_gallery"
        for kind in ("image", "bounding_box", "segmentation_mask")
    ),
}


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
    """Each argument of a function or of a class's constructor with its default; no `**kwargs`."""
    is_class = inspect.isclass(item)
    if is_class and item.__init__ is object.__init__:
        return {}
    parameters = inspect.signature(item.__init__ if is_class else item).parameters.values()
    return {
        "*" * (parameter.kind == parameter.VAR_POSITIONAL) + parameter.name: parameter.default
        for parameter in parameters
        if parameter.name != "self"
        and parameter.kind != parameter.VAR_KEYWORD
        and not (is_class and parameter.kind == parameter.VAR_POSITIONAL)
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
        elif default not in (None, inspect.Parameter.empty) and repr(default) != "<factory>":
            assert "not supported" in description, f"{argument} does not state its default"
    downloads = "weights" in parameters and name.startswith("applications.")
    sign = "```python" if name.startswith("callbacks.") or name in NOT_RUN or downloads else ">>>"
    assert f"\nExample:\n    {sign}" in text
    if inspect.isclass(item) and issubclass(item, tfkit.layers.Layer):
        assert "\nInput shape: " in text
        assert "\nOutput shape: " in text


BASES = (
    *(tfkit.Operation, tfkit.layers.Layer, tfkit.Model, tfkit.Sequential),
    *(tfkit.optimizers.Optimizer, tfkit.optimizers.schedules.LearningRateSchedule),
    *(
        tfkit.losses.Loss,
        tfkit.metrics.Metric,
        tfkit.callbacks.Callback,
        tfkit.quantizers.Quantizer,
    ),
    *(tfkit.initializers.Initializer, tfkit.regularizers.Regularizer, tfkit.constraints.Constraint),
)
WITHOUT_EXAMPLE = {
    # Called by tfkit, and by no program.
    *("Optimizer.belongs_to", "Optimizer.leaves", "Metric.take_part"),
    "OlderNames.compiled_loss",  # Other names say what to use instead.
    # Called by `fit`; they are there for libraries that wrap them.
    *(f"OlderNames.make_{kind}_function" for kind in ("train", "test", "predict")),
}


def methods_of_bases():
    """Each public method that a base class has from tfkit, with its docstring; no properties."""
    classes = {each for base in BASES for each in base.__mro__ if each.__module__[:6] == "tfkit."}
    return {
        f"{each.__name__}.{name}": inspect.getdoc(method) or ""
        for each in classes
        for name, value in vars(each).items()
        if inspect.isfunction(method := inspect.unwrap(getattr(value, "__func__", value)))
        and not name.startswith("_")
    }


def test_each_public_method_of_a_base_class_shows_its_use():
    methods = methods_of_bases()
    assert len(methods) > 120
    without = {name for name, text in methods.items() if "\nExample:\n    >>> " not in text}
    assert without == WITHOUT_EXAMPLE


def test_help_texts_name_public_modules_alone():
    assert not [name for name, item in PUBLIC.items() if "tfkit.src" in (item.__doc__ or "")]


OPS = {name: item for name, item in PUBLIC.items() if name.startswith("ops.")}


@pytest.mark.parametrize("name", OPS)
def test_an_op_says_what_it_returns(name):
    text = inspect.cleandoc(OPS[name].__doc__)
    first_line = text.split("\n", 1)[0]
    assert re.fullmatch(r"Returns .{5,}\.", first_line)
    assert re.search(r"\nReturns:\n    \S.{10,}", text)
    assert re.search(r"\n    (>>>|\.\.\.) .*\bops\.", text)


def test_help_texts_of_ops_are_no_shorter_than_those_of_keras():
    common = {
        name: (item, operator.attrgetter(name)(keras))
        for name, item in OPS.items()
        if hasattr(operator.attrgetter(name.rpartition(".")[0])(keras), name.rpartition(".")[2])
    }
    assert len(common) > 300
    ours, theirs = (
        statistics.median(len(inspect.getdoc(pair[i]) or "") for pair in common.values())
        for i in (0, 1)
    )
    assert ours >= max(theirs, 450)


def is_function(node):
    """Whether a node is a function or a method, and no property."""
    decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
        "property" in each for each in decorators
    )


@pytest.mark.parametrize("folder", ["tfkit", "tools"])
def test_docstrings_are_sentences_in_plain_english(folder):
    question = re.compile(r"(What|Where|How|That|Tells|Says|When|Which|Those|While it)\b")
    verb = re.compile(
        r"[A-Z][a-z]*s\b|Whether\b|Called (by|at)\b|Context manager\b|Async context manager\b"
    )
    idiom = re.compile(
        r"\b(tells?|told|nobody|somebody|anew|under way|go(es)? on|stands? (for|in|there|at|on)|beside"
        r"|good for|(is|are) to be|hand(s|ed)? (on|over|down|out)|by (itself|themselves)|asks? for"
        r"|(which|that) (is|are) no (?!longer|part|change)\w+"
        r"|(of|has|have|with) another (shape|size|length|number|rank|dtype|mode|kind|type|width)"
        r"|for another (mode|format|rank|dtype|number))\b"
    )
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text is None:
                continue
            words = " ".join(text.split())
            wrong = question.match(words) or idiom.search(words)
            if wrong or (is_function(node) and not verb.match(words)):
                name = getattr(node, "name", path.stem)
                found.append(
                    f"{path.relative_to(ROOT)}: {name}: {wrong and wrong[0]!r} {words[:80]}"
                )
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", ["tfkit", "docs"])
def test_texts_are_plain_english(folder):
    idioms = re.compile(
        r"tells? that|what .{1,40} (is|are) good for|label for people|without a word|if wished"
        r"|\bgoes over\b|\bmended\b|\bof late\b|by the ending|the ending says"
        r"|\b(in|of|with|has) another (order|dtype|form|format|structure|width|kind|shape)\b"
        r"|\bis no (savedmodel|json|tensor|layer|asset|array|text)\b"
    )
    files = sorted(path for end in ("py", "md") for path in (ROOT / folder).rglob(f"*.{end}"))
    assert files
    # An idiom may be broken over two lines, of a comment too.
    texts = {
        path: re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text(encoding="utf-8")) for path in files
    }
    found = [
        f"{path.relative_to(ROOT)}: {text[match.start() - 40 : match.end() + 20]}"
        for path, text in texts.items()
        for match in idioms.finditer(text.lower())
    ]
    assert not found, "\n".join(found)
