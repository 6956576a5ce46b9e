"""Converts `if`, `for` and `while` on tensors in a user's code by AutoGraph, but never tfkit's own code.

A conversion takes 20 to 500 ms for a function, and most functions branch on Python values only. So `call`
runs unconverted in a trace for shapes, of which nothing is ever run, and is converted if it turns out to need
a tensor's value. Traces of programs run unconverted what has run so before, and are made again if it fails.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.borrowed.private import autograph_config as config
from tfkit.src.borrowed.private import convert_by_autograph

# AutoGraph also converts what a user's function calls. tfkit's own functions need no conversion. The first
# rule that fits decides, so this one comes first.
config.CONVERSION_RULES = (config.DoNotConvert("tfkit"), *config.CONVERSION_RULES)
_ERRORS = {"OperatorNotAllowedInGraphError", "TypeError", "Exception", "BaseException"}
# After an error, these loops of TensorFlow (2.21) leave its variable scope changed, and strategies fail.
_LOOPS = {"map_fn", "scan", "foldl", "foldr", "map", "associative_scan", "vectorized_map"}
_T = TypeVar("_T")


@dataclasses.dataclass(eq=False)
class _Facts:
    """The known facts about a function.

    Attributes:
        is_users: whether it is a user's, and its source is known.
        needed: whether it must be converted; `None` if that is not known yet.
    """

    is_users: bool
    needed: bool | None = None


def convert(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `method` with its control flow on tensors converted to graph operations, in a trace.

    Code of tfkit and code without source text (typed at a prompt) is returned unchanged.
    """
    if tf.executing_eagerly() or not _facts(getattr(method, "__func__", method)).is_users:
        return method
    converted = convert_by_autograph(method)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return converted(*args, **kwargs)
        except Exception as error:
            raised = _original(error)
        # Outside of the handler: inside, Python would replace the context of the user's error.
        raise raised

    return call


def convert_if_needed(
    method: Callable[..., Any], is_described: Callable[[], bool]
) -> Callable[..., Any]:
    """Returns `method`, or the same converted if it has needed that, or may need it in a trace that is kept.

    Args:
        method: the method of an object.
        is_described: returns whether only shapes are computed.
    """
    if tf.executing_eagerly():
        return method
    function = getattr(method, "__func__", method)
    facts = _facts(function)
    if not facts.is_users:
        return method
    if facts.needed is None and _catches(function, type(getattr(method, "__self__", None))):
        facts.needed = True
    failed = context.current().unconverted
    for_shapes = not facts.needed and is_described()
    if facts.needed or not (for_shapes or (facts.needed is False and failed is not None)):
        return convert(method)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            results = method(*args, **kwargs)
        except TypeError:  # TensorFlow's errors if Python asks for the value of a symbolic tensor.
            facts.needed = True
            if not for_shapes and failed is not None:
                failed.append(function)
                raise
        else:
            facts.needed = bool(facts.needed)
            return results
        return convert(method)(*args, **kwargs)

    return call


def converted_if_needed(trace: Callable[..., _T], *args: Any) -> _T:
    """Returns `trace(*args)`. Methods that were not converted for shapes are converted if it fails."""
    failed: list[Any] = []
    try:
        with context.within(unconverted=failed):
            return trace(*args)
    except TypeError:
        if not failed:
            raise
    with context.within(unconverted=None):
        return trace(*args)


def _original(error: Exception) -> BaseException:
    """Returns the error of the user's code: AutoGraph raises its own, which quotes the lines."""
    original = error.__context__
    if original is None or not hasattr(original, "ag_error_metadata"):
        return error
    # With the metadata, TensorFlow's trace would still make its own error; the second attribute keeps
    # AutoGraph's wrappers of the callers from attaching metadata again.
    del original.ag_error_metadata
    original.ag_pass_through = True  # type: ignore[attr-defined]
    return original


# `inspect.getsource` reads and splits a whole file, and each layer asks in each trace. The limit bounds how
# many functions the cache keeps alive.
@functools.lru_cache(maxsize=4096)
def _facts(function: Any) -> _Facts:
    if (getattr(function, "__module__", None) or "").partition(".")[0] in ("tfkit", "tensorflow"):
        return _Facts(False)
    try:
        return _Facts(bool(inspect.getsource(function)))
    except (OSError, TypeError):
        return _Facts(False)


def _catches(function: Any, owner: type) -> bool:
    """Whether a function may catch the error that shows that it must be converted, or suffer from it.

    Examines the methods of `owner` and the functions of the module that it names, too.
    """
    seen: set[Any] = set()
    pending = [function]
    while pending:
        each = inspect.unwrap(pending.pop())
        root = (getattr(each, "__module__", None) or "").partition(".")[0]
        if each in seen or root in (*sys.stdlib_module_names, "numpy") or not _facts(each).is_users:
            continue
        seen.add(each)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        except SyntaxError:  # A lambda in the middle of an expression.
            return True
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and _is_wide(node.type):
                return True
            if isinstance(node, ast.Attribute) and node.attr in _LOOPS:
                return True
            suppressed = (
                node.args if isinstance(node, ast.Call) and _name(node.func) == "suppress" else ()
            )
            if any(map(_is_wide, suppressed)):
                return True
            # Functions that the module names, also as attributes of modules, and methods: in each of them
            # the error might be caught.
            found = _named(node, getattr(each, "__globals__", {}))
            if found is None and isinstance(node, ast.Attribute):
                found = inspect.getattr_static(owner, node.attr, None)
            if isinstance(found, types.FunctionType):
                pending.append(found)
    return False


def _is_wide(caught: ast.expr | None) -> bool:
    """Whether a handler of these classes catches the errors of a tensor without a value."""
    if caught is None:
        return True
    return any(_name(each) in _ERRORS for each in ast.walk(caught))


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _named(node: ast.AST, names: Mapping[str, Any]) -> Any:
    """Returns the object of a name, or of an attribute of a module that is named."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    holder = _named(node.value, names) if isinstance(node, ast.Attribute) else None
    return vars(holder).get(_name(node)) if isinstance(holder, types.ModuleType) else None
