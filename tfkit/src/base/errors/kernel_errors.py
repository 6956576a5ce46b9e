"""Adds the layer and the step to errors of TensorFlow's kernels.

TensorFlow names a node of a compiled program, which means nothing to a user. On the way up to `fit`, each
caller adds its information to the error. A public function adds the arguments that it was given.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import is_dependency, is_library, is_tfkit
from tfkit.src.borrowed.private import functions_of_graph, graph_of_function, set_message

# `{{function_node f}}{{node n}}`; a node of the program itself has no function.
_NODE = re.compile(r"(?:\{\{function_node ([^}]*)\}\})?\{\{node ([^}]*)\}\}")
_FUNCTION = re.compile(r"\{\{function_node ([^}]*)\}\} ?")
_PLACES = re.compile(r"\s*(?:\[\[\{\{.*?\}\}\]\]|\n\t \[\[[^\s\]]*\]\]|\[Op:[^\]]*\])")
# TensorFlow's prefix of a message: the node, and the lines of Python that made it.
_TRACED = re.compile(
    r"^Graph execution error:\s*(?:Detected at node (\S+) defined at .*:\n"
    r"(?:\s*\n|  File .*\n|    .*\n|<stack traces unavailable>\n)*)+"
)
# What each process adds that passes on an error of another process.
_REMOTE = re.compile(r"\s*Additional GRPC error information from remote target .*", re.DOTALL)
# The first of several errors of a program that runs on several devices.
_FIRST = re.compile(
    r"^\d+ root error\(s\) found\.\s+\(0\) [A-Z_]+:\s*(.*?)(?:\s+\(1\) .*)?$", re.DOTALL
)
# TensorFlow's addition to the message of an operation outside of any program.
_EAGER = re.compile(r"\s*\[Op:(\w+)\](?: name: ?\S*)?\s*$")
# TensorFlow's message where an operation, outside of any program, does not compute values of a dtype.
_NO_KERNEL = re.compile(
    r"^Value for attr '\w+' of (\w+) is not in the list of allowed values: ([^\n]*)\n\t; "
    r"NodeDef: \{\{node (\w+)\}\}.*",
    re.DOTALL,
)
# TensorFlow's description of a node that it cannot add to a graph.
_TRACED_NODE = re.compile(r"\.? for '\{\{node ([^}]*)\}\} = (\w+)\[.*?\]\([^()]*\)'")
# The part of XLA that refuses computed sizes in an operation that does not accept them.
_PADDER = "dynamic_padder.cc"
_COMPILER = (
    "tf2xla",
    "_XlaMustCompile",
    "XLA compilation",
    "Not implemented for XLA",
    _PADDER,
)
# The prefix of an error that was raised while a program was traced for XLA.
BY_XLA = "XLA compilation: "
_LABEL = re.compile(r"Received a label value of (-?\d+) .*Label values: ((?:-?\d+ ?)+)", re.DOTALL)


def named(error: tf.errors.OpError, name_of: Callable[[str, str], Any] | None = None) -> Any:
    """Returns the error with the operation that raised it, of the same class.

    Args:
        error: TensorFlow's error.
        name_of: the type and the name of the operation of a node, then the names of the calls
            that it is in, given by the names of its function and of the node; `None` for others. Without
            it, nodes have the names of operations.
    """
    if hasattr(error, "_tfkit"):
        return error
    message = _REMOTE.sub("", str(error.message))
    place: dict[str, Any] = {"is_of_compiler": is_of_compiler(error)}
    if traced := _TRACED.search(message):
        place["name"] = traced[1]
        message = message[traced.end() :]
    elif name_of is None and (made := _NODE.search(message)):
        place["name"] = made[2]
    elif name_of is not None:
        program = _FUNCTION.match(message)
        for function, node in _NODE.findall(message):
            if found := name_of(function or (program[1] if program else ""), node):
                place |= {"type": found[0], "name": found[1], "callers": found[2:]}
                break
    text = _FUNCTION.sub("", _PLACES.sub("", _FIRST.sub(r"\1", message))).strip()
    if place["is_of_compiler"]:  # The rest is about TensorFlow's files.
        text = text.partition("\n")[0].partition(" for '{{node")[0]
        if _PADDER in text:
            text = "The size of a slice depends on values that are computed."
    return _made(type(error), text + _position_of_label(text), place)


def is_of_compiler(error: tf.errors.OpError) -> bool:
    """Whether XLA cannot compile a program, in which case no part of it has run."""
    if hasattr(error, "_tfkit"):
        return error._tfkit[1]["is_of_compiler"]
    return isinstance(error, tf.errors.UnimplementedError) or any(
        mark in str(error.message) for mark in _COMPILER
    )


def in_layer(
    error: tf.errors.OpError, path_of: Callable[[list[str]], str | None], graph: Any = None
) -> Any:
    """Returns the error with the path of its layer and the lines that made its operation, of the same class.

    Args:
        error: TensorFlow's error.
        path_of: the path that belongs to the names of an operation and of the calls that it is in.
        graph: the graph of the function that was traced.
    """
    names = operations_of(error)
    lines = graph and _lines_that_made(names, named(error)._tfkit[1].get("type"), graph)
    return located(error, layer=path_of(names), lines=lines)


def tidy(error: BaseException) -> None:
    """Removes names of functions and nodes from a message of TensorFlow."""
    if isinstance(error, tf.errors.OpError) and not hasattr(error, "_tfkit"):
        message = str(error.message)
        made = _EAGER.search(message)
        if refused := _NO_KERNEL.match(message):
            dtype, *dtypes = [tf.as_dtype(it).name for it in (refused[1], *refused[2].split(", "))]
            expected = ", ".join(it for it in dtypes if not it.startswith("q"))
            set_message(
                error, f"The operation {refused[3]} expects one of {expected}. Received: {dtype}"
            )
        elif made is not None or _FUNCTION.match(message):
            text = _FUNCTION.sub("", _PLACES.sub("", _EAGER.sub("", message))).strip()
            by = f"\nRaised by the operation {made[1]}." if made else ""
            set_message(error, text + _position_of_label(text) + by)
    elif type(error) in (ValueError, TypeError) and error.args and isinstance(error.args[0], str):
        error.args = (
            _TRACED_NODE.sub(r" in the operation \2 ('\1')", error.args[0]),
            *error.args[1:],
        )


def located(error: tf.errors.OpError, **known: Any) -> Any:
    """Returns an error of the same class that also says where it was raised.

    Args:
        error: the result of `named`.
        **known: `layer` is a path; `method`, `epoch` and `step` locate it in a training or an evaluation;
            `ahead` is the number of earlier steps that have not run either; `lines` are the user's lines
            that made the operation.
    """
    text, place = named(error)._tfkit
    if place.get("is_of_compiler"):
        known = {name: known[name] for name in known if name in ("layer", "lines")}
    known = {name: value for name, value in known.items() if value is not None}
    made = _made(type(error), text, place | known)
    if hasattr(error, "is_of_shapes"):
        made.is_of_shapes = error.is_of_shapes
    return made.with_traceback(error.__traceback__)


def operations_of(error: tf.errors.OpError) -> list[str]:
    """Returns the names of the operation that raised an error and of the calls around it, as in traces."""
    place = named(error)._tfkit[1]
    return [place["name"], *place.get("callers", ())] if "name" in place else []


def as_value_error(error: tf.errors.OpError) -> ValueError:
    """Returns an error of shapes from compilation in the form in which TensorFlow raises it in a trace."""
    text, place = named(error)._tfkit
    made = ValueError(_message(text.removeprefix(BY_XLA), place))
    made._tfkit_lines = place.get("lines", ())  # type: ignore[attr-defined]
    return made


def step_of(error: tf.errors.OpError) -> int | None:
    """Returns the step that `located` was given; `None` without one."""
    return named(error)._tfkit[1].get("step")


def _made(kind: type, text: str, place: dict[str, Any]) -> Any:
    made = kind(None, None, _message(text, place))
    made._tfkit = text, place
    made._tfkit_lines = place.get("lines", ())
    return made


def _lines_that_made(names: list[str], kind: str | None, graph: Any) -> list[tuple[str, int, str]]:
    """Returns file, number and function of the user's lines that made an operation, the innermost last.

    Args:
        names: name of the operation, then the names of the calls that it is in.
        kind: the type of the operation.
        graph: the graph in which, or in a function of which, they are.
    """
    for name in names:
        for each in _graphs(graph):
            with contextlib.suppress(KeyError, ValueError):
                operation = each.get_operation_by_name(name)
                if kind in (None, operation.type) or name != names[0]:
                    lines = _users_lines(operation)
                    if lines:
                        return lines
    return []


def _graphs(graph: Any) -> Iterator[Any]:
    """Yields a graph, and the graphs of the functions in it."""
    yield graph
    for function in functions_of_graph(graph):
        inner = graph_of_function(function)
        if inner is not None:
            yield from _graphs(inner)


def _users_lines(operation: Any) -> list[tuple[str, int, str]]:
    """Returns the user's lines below the innermost call of tfkit that led to an operation."""
    lines = [(frame.filename, frame.lineno, frame.name) for frame in operation.traceback]
    entry = next((index for index, line in enumerate(lines) if is_tfkit(line[0])), len(lines))
    return [
        line
        for line in lines[entry:]
        if not is_library(line[0]) and not is_dependency(line[0]) and os.path.exists(line[0])
    ]


def _message(text: str, place: dict[str, Any]) -> str:
    parts = []
    if "name" in place:
        kind = f"the operation {place['type']}" if "type" in place else "an operation"
        layer = f" of layer '{place['layer']}'" if "layer" in place else ""
        parts.append(f"by {kind}{layer} ('{place['name']}')")
    if "method" in place and "step" in place:
        epoch = f"epoch {place['epoch']}, " if "epoch" in place else ""
        parts.append(f"in {epoch}step {place['step']} of `{place['method']}()`")
    if not parts:
        return text
    # Workers that do not wait for each other do not know the step.
    is_known = place.get("method") == "fit" and "step" in place
    before = f"step {place['step'] - place['ahead']}" if place.get("ahead") else "that step"
    weights = f"The weights are those before {before}." if is_known else ""
    return f"{text}\nRaised {', '.join(parts)}. {weights}".rstrip()


def _position_of_label(text: str) -> str:
    """Returns the position of the label that the sparse crossentropy refuses."""
    found = _LABEL.search(text)
    if found is None or found[1] not in (labels := found[2].split()):
        return ""
    return f"\nIt is label {labels.index(found[1])} of the batch, counted from 0."


_PLAIN = (int, float, str, bool)
RAISE = dis.opmap["RAISE_VARARGS"]
_LONGEST = 60  # characters of a value that is not a tensor


def add_arguments(
    error: BaseException, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> None:
    """Adds the shapes and values that a public function was given to an error that is not raised on purpose.

    Errors of tfkit have them already. It must be called by the function that the user calls; it does nothing
    where tfkit is the caller.

    Args:
        error: any error.
        function: the function that was called.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    kinds = (ValueError, TypeError, AttributeError, tf.errors.OpError)
    if not isinstance(error, kinds) or hasattr(error, "_tfkit_received"):
        return
    if not settings.is_traceback_filtering_enabled() or is_tfkit(
        sys._getframe(2).f_code.co_filename
    ):
        return
    if not _is_accident(error, is_method="self" in inspect.signature(function).parameters):
        return
    try:
        arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except TypeError:  # `error` is about these arguments, and names them.
        return
    with_dtypes = isinstance(error, TypeError) or "attr '" in str(error)
    parts = [part for item in arguments.items() if (part := _described(*item, with_dtypes))]
    if not parts:
        return
    error._tfkit_received = True  # type: ignore[union-attr]
    is_made = function.__name__ == "__init__" and args
    name = type(args[0]).__name__ if is_made else function.__name__
    note = f"\nReceived by `{name}`: {', '.join(parts)}"
    tidy(error)  # It looks at the end of the message.
    if isinstance(error, tf.errors.OpError):
        set_message(error, f"{error.message}{note}")
    elif len(error.args) == 1:
        error.args = (f"{error.args[0]}{note}",)


def _is_accident(error: BaseException, is_method: bool) -> bool:
    """Whether TensorFlow, NumPy or Python refused a value that tfkit passed to it.

    In a method, such as `fit`, TensorFlow refuses values that were not its arguments.
    """
    trace = error.__traceback__
    if trace is None or trace.tb_next is None:  # Python has not entered the function.
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if is_tfkit(code.co_filename):
        return code.co_code[trace.tb_lasti] != RAISE
    return is_dependency(code.co_filename) or (not is_method and is_library(code.co_filename))


def _described(name: str, value: Any, with_dtypes: bool) -> str:
    """Returns an argument in words; empty for a function, and for a long value."""
    if _is_tensor(value):
        dtype = f", {name}.dtype={tf.as_dtype(value.dtype).name}" if with_dtypes else ""
        return f"{name}.shape={value.shape}{dtype}"
    if isinstance(value, (list, tuple)) and value and all(map(_is_tensor, value)):
        return f"{name} of the shapes {', '.join(str(each.shape) for each in value)}"
    if isinstance(value, type):
        return f"{name}={value.__name__}, a class where an object may be meant"
    items = value if isinstance(value, (list, tuple)) else [value]
    if not all(item is None or isinstance(item, (*_PLAIN, list, tuple)) for item in items):
        is_told = items[0] is value and name != "self" and not callable(value)
        return f"{name} of type {type(value).__name__}" if is_told else ""
    text = f"{name}={value!r}"
    return text if len(text) <= _LONGEST else ""


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")
