"""At most six arguments can be passed by position; the others have to be named.

Keras's public signatures are longer, and a program written for Keras may pass all of them by position: a
function or a method of a public class that has the positional parameters of Keras's may have as many.
"""

import ast
import inspect
from pathlib import Path

import pytest
from keras._tf_keras.keras import backend as tf_backend
from keras._tf_keras.keras.preprocessing import image as tf_image
from keras._tf_keras.keras.preprocessing import sequence as tf_sequence
from keras._tf_keras.keras.preprocessing import text as tf_text

import tfkit
from tests.test_public_face import COMMON

ROOT = Path(tfkit.__file__).parent / "src"
MOST = 6
ROOMS = sorted(
    path.relative_to(ROOT).with_suffix("").name
    for path in ROOT.iterdir()
    if path.suffix == ".py" or (path / "__init__.py").exists()
)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def functions(node, owner="", in_class=False):
    """Each function below a node with its qualified name, and whether its first argument is `self`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            # A protocol declares the arguments of functions that are checked themselves.
            if not any(
                isinstance(base, ast.Name) and base.id == "Protocol" for base in child.bases
            ):
                yield from functions(child, f"{owner}{child.name}.", in_class=True)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            name = owner + getattr(child, "name", "<lambda>")
            static = any(
                isinstance(each, ast.Name) and each.id == "staticmethod"
                for each in getattr(child, "decorator_list", ())
            )
            yield name, child, in_class and not static
            yield from functions(child, f"{name}.<locals>.")
        else:
            yield from functions(child, owner, in_class)


def num_positional(function, is_method):
    return len(function.args.posonlyargs) + len(function.args.args) - is_method


def positional(function):
    """The names of what can be passed by position; `None` where that is not said, as for `*args`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # No function, or one that is written in C.
        return None
    open_ended = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return None if open_ended else [each.name for each in parameters if each.kind in POSITIONAL]


def keras_method(cls, name):
    """The positional parameters of a method of Keras's, where its class or a base spells them out."""
    name = "__init__" if name == "__new__" else name
    lists = (positional(vars(each)[name]) for each in cls.__mro__ if name in vars(each))
    return next((found[1:] for found in lists if found is not None), None)


def of_tf_keras():
    """Functions and classes of `tf.keras` that Keras does not have, after ours."""
    for ours, theirs in (
        (tfkit.backend, tf_backend),
        (tfkit.preprocessing.image, tf_image),
        (tfkit.preprocessing.sequence, tf_sequence),
        (tfkit.preprocessing.text, tf_text),
    ):
        names = [name for name in dir(theirs) if not name.startswith("_") and hasattr(ours, name)]
        yield from ((getattr(ours, name), getattr(theirs, name)) for name in names)


def fixed_by_keras():
    """Where the functions and methods stand that have the positional parameters of Keras's."""
    for ours, theirs in (*COMMON.values(), *of_tf_keras()):
        if not inspect.isclass(ours):
            pairs = [(ours, positional(ours), positional(theirs))] if callable(ours) else []
        elif inspect.isclass(theirs):
            methods = inspect.getmembers(ours, inspect.isfunction)
            pairs = [
                (method, (positional(method) or [])[1:], keras_method(theirs, name))
                for name, method in methods
            ]
        for function, own, expected in pairs:
            if own == expected:
                function = inspect.unwrap(function)
                yield function.__module__, function.__qualname__
                # A function that was made in another one may have been given a name of its own.
                yield function.__globals__["__name__"], function.__code__.co_qualname


# Their arguments are the inputs and attributes of an operation of TensorFlow, in its order.
OF_OPERATIONS = {
    ("tfkit.src.export.convert.gradients", "_of_normalization"),
    ("tfkit.src.export.convert.gradients", "_of_slice"),
    ("tfkit.src.export.convert.pytorch.calling", "HostCall.__init__"),
    ("tfkit.src.export.convert.pytorch.convolutions", "_padding"),
    ("tfkit.src.export.convert.pytorch.convolutions", "_pooled"),
}
# Functions of Keras's inner modules that packages call.
OF_INNER_MODULES = {("tfkit.src.files.interop.stand_in.equations", "compute_conv_output_shape")}
FIXED = {*fixed_by_keras(), *OF_OPERATIONS, *OF_INNER_MODULES}


def too_long(room):
    paths = sorted((ROOT / room).rglob("*.py")) or [ROOT / f"{room}.py"]
    for path in paths:
        parts = path.relative_to(ROOT.parent.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        for name, function, is_method in functions(ast.parse(path.read_text(encoding="utf-8"))):
            count = num_positional(function, is_method)
            if count > MOST and (module, name) not in FIXED:
                yield f"{module}:{function.lineno}: {name} takes {count} arguments by position"


@pytest.mark.parametrize("room", ROOMS)
def test_no_more_than_six_arguments_can_be_passed_by_position(room):
    assert not list(too_long(room))


def test_long_lists_are_found():
    source = (
        "def a(b, c, d, e, f, g, h): pass\n"
        "def b(b, c, d, e, f, g, *, h): pass\n"
        "class C:\n"
        "    def d(self, b, c, d, e, f, g): pass\n"
        "    @staticmethod\n"
        "    def e(b, c, d, e, f, g, h): pass\n"
        "    def f(self):\n"
        "        return lambda b, c, d, e, f, g, h: None\n"
    )
    found = {name for name, *it in functions(ast.parse(source)) if num_positional(*it) > MOST}
    assert found == {"a", "C.e", "C.f.<locals>.<lambda>"}
