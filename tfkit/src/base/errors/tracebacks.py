"""Shortens tracebacks to the user's lines, without the lines of tfkit and TensorFlow.

The public functions in which a user's program enters tfkit call `shorten` on their errors, or are marked
`@shortened`. This costs nothing without an error, because Python's `try` is free.

Frames are removed, with three exceptions. Code that AutoGraph has rewritten is shown as the user wrote it.
The lines that made an operation are shown for an error of its kernel, which is raised long after they ran. If
an error was not raised on purpose, the innermost line of tfkit is kept, as it shows what was being done.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any, NamedTuple, TypeVar

from tfkit.src.base import settings
from tfkit.src.base.errors import kernel_errors
from tfkit.src.base.errors.frames import as_written, is_dependency, is_library, is_tfkit
from tfkit.src.base.names import advice_on
from tfkit.src.base.nests import explain_depth
from tfkit.src.base.quoting import printable

Function = TypeVar("Function", bound=Callable[..., Any])

# Functions that AutoGraph makes of the parts of a function.
_PART = re.compile(r"(if_body|else_body|loop_body|loop_test|extra_test|get_state|set_state)(_\d+)?")


class _Entry(NamedTuple):
    """A line of a traceback."""

    frame: FrameType
    instruction: int
    line: int

    @property
    def filename(self) -> str:
        return self.frame.f_code.co_filename


def shortened(function: Function) -> Function:
    """Makes errors of a public function show only the user's lines."""

    @functools.wraps(function)
    def entry(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            if kwargs and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                _advise_on_arguments(error, function, kwargs)
            kernel_errors.add_arguments(error, function, args, kwargs)
            shorten(error)
            raise

    return entry  # type: ignore[return-value]


def _advise_on_arguments(
    error: BaseException, function: Callable[..., Any], given: Mapping[str, Any]
) -> None:
    """Adds the right name to Python's error about an argument that a function does not have."""
    known = inspect.signature(function).parameters
    unknown = [name for name in given if name not in known]
    if isinstance(error, TypeError) and len(error.args) == 1 and unknown:
        error.args = (f"{error.args[0].rstrip('.')}.{advice_on(unknown[0], known)}".rstrip("."),)


def shorten(error: BaseException) -> None:
    """Removes the frames of tfkit and TensorFlow from an error's traceback.

    It must be called in an `except` that ends in a bare `raise`, whose frame is removed, too. Inside of
    another such function it does nothing, because the outer one handles the whole traceback.

    Causes and contexts from the user's code are kept, and shortened; those that tfkit handled are left out.
    """
    if _is_inside(sys._getframe(1)):
        return
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        entries = list(_entries(each.__traceback__))
        if isinstance(each, RecursionError):
            explain_depth(each)
        _advise_on_libraries(each)
        if entries and is_library(entries[-1].filename):
            _escape(each)
        shown = [*entries, *_where_made(each)]
        if settings.is_traceback_filtering_enabled():
            kernel_errors.tidy(each)
            _drop_what_tfkit_handled(each)
            shown = [*_users(entries), *_where_made(each)]
        if shown != entries:
            each.__traceback__ = _joined(shown)
        behind = None if each.__suppress_context__ else each.__context__
        each = behind if each.__cause__ is None else each.__cause__


def _escape(error: BaseException) -> None:
    """Removes what a terminal obeys from a message: names of layers may come from a file."""
    if len(error.args) == 1 and isinstance(error.args[0], str) and not error.args[0].isprintable():
        error.args = (re.sub(r"[^\n\t]+", lambda line: printable(line[0]), error.args[0]),)


def _is_inside(frame: FrameType) -> bool:
    """Whether an outer call of tfkit will see the error as well: `frame` and its caller are an entry."""
    outer: FrameType | None = frame.f_back
    # A decorated function has its own frame, `entry`, below which there are no frames of tfkit.
    while outer is not None:
        if is_tfkit(outer.f_code.co_filename):
            return True
        outer = outer.f_back
    return False


def _entries(trace: TracebackType | None) -> Iterator[_Entry]:
    while trace is not None:
        yield _Entry(trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
        trace = trace.tb_next


def _joined(entries: Iterable[_Entry]) -> TracebackType | None:
    trace = None
    for entry in reversed(list(entries)):
        trace = TracebackType(trace, entry.frame, entry.instruction, entry.line)
    return trace


def _users(entries: list[_Entry]) -> list[_Entry]:
    """Returns the user's lines in a traceback, as in the user's source."""
    shown: list[_Entry] = []
    rewritten: str | None = None  # The file of generated code of the latest line.
    in_library = False
    for entry in entries:
        if is_library(entry.filename) or (in_library and is_dependency(entry.filename)):
            in_library = True
            continue
        in_library = False
        original = _as_written(entry)
        if original is None:
            shown.append(entry)
            rewritten = None
            continue
        if rewritten == entry.filename and _PART.fullmatch(entry.frame.f_code.co_name):
            shown.pop()  # The same function, further inside.
        shown.append(original)
        rewritten = entry.filename
    if in_library:
        shown += _what_was_being_done(entries)
    return shown


def _what_was_being_done(entries: list[_Entry]) -> list[_Entry]:
    """Returns the innermost line of tfkit, unless it raised the error itself."""
    for entry in reversed(entries):
        if is_tfkit(entry.filename) and entry.filename != __file__:
            raises = entry is entries[-1] and _opcode(entry) == kernel_errors.RAISE
            return [] if raises else [entry]
        if not is_library(entry.filename) and not is_dependency(entry.filename):
            break
    return []


def _opcode(entry: _Entry) -> int:
    code = entry.frame.f_code.co_code
    return code[entry.instruction] if 0 <= entry.instruction < len(code) else -1


# --- Causes -------------------------------------------------------------------------------------------


def _drop_what_tfkit_handled(error: BaseException) -> None:
    cause, context = error.__cause__, error.__context__
    if cause is not None:
        if not _users(list(_entries(cause.__traceback__))) and not _is_chained(cause):
            error.__cause__ = None  # The context remains suppressed.
    elif context is not None and not error.__suppress_context__:
        first = next(_entries(context.__traceback__), None)
        if first is None or is_library(first.filename):
            error.__suppress_context__ = True


def _is_chained(error: BaseException) -> bool:
    """Whether an error has its own cause, which may be the user's."""
    return error.__cause__ is not None


# --- Lines that are not running -----------------------------------------------------------------------


def _as_written(entry: _Entry) -> _Entry | None:
    place = as_written(entry.filename, entry.line)
    return place and _made_up(*place, like=entry)


def _where_made(error: BaseException) -> list[_Entry]:
    """Returns the user's lines that made the operation whose kernel refused a value."""
    return [_made_up(*place) for place in getattr(error, "_tfkit_lines", ())]


def _made_up(filename: str, line: int, function: str, like: _Entry | None = None) -> _Entry:
    """Returns a line of a traceback for a line of code that is not running.

    Args:
        filename: the file.
        line: number of the line.
        function: name of the function.
        like: the frame in which debuggers find the values of variables.
    """
    text = linecache.getline(filename, line)
    place: Any = {
        "lineno": line,
        "end_lineno": line,
        # From the first to the last character: Python marks only parts of a line.
        "col_offset": len(text.encode()) - len(text.lstrip().encode()),
        "end_col_offset": len(text.rstrip().encode()),
    }
    number = [ast.Constant(value, **place) for value in (1, 0)]
    failing = ast.Expr(ast.BinOp(number[0], ast.Div(**place), number[1], **place), **place)
    code = compile(ast.Module([failing], []), filename, "exec")
    code = code.replace(co_name=function, co_qualname=function)
    values = {"__builtins__": {}, **(like.frame.f_locals if like is not None else {})}
    try:
        exec(code, values)
    except ZeroDivisionError as error:
        (_, made) = _entries(error.__traceback__)
    return _Entry(made.frame, made.instruction, line)


# --- Functions of other libraries ---------------------------------------------------------------------

_OF_JAX = (
    "Functions of JAX do not compute with tensors of TensorFlow. Use `ops` in a `call`, or put a function of "
    "JAX into `layers.JaxLayer`; `compile(engine='jax')` and `interop.to_jax` run on JAX what is written "
    "with `ops`."
)
_OF_TORCH = (
    "Functions of PyTorch do not compute with tensors of TensorFlow. Use `ops` in a `call`, or put a module "
    "of PyTorch into `layers.TorchModuleWrapper`; `interop.to_torch` makes a module of a layer."
)
_IN_JAX = (
    "`ops` and layers compute with TensorFlow, for which `jax.jit` and `jax.grad` have no values. "
    "`interop.to_jax(layer, example)` makes a function of JAX of a layer; `compile(engine='jax')` trains a "
    "model on JAX, with functions of JAX in `layers.JaxLayer`."
)
# The messages of JAX 0.10 and PyTorch 2.13, by the types of their errors.
_MESSAGES = (
    ("TypeError", r"problematic value is of type <class '(tensorflow|tfkit)\.", _OF_JAX),
    ("TypeError", r"must be Tensor, not .*(Eager|Symbolic|Keras)Tensor", _OF_TORCH),
    ("TypeError", r"must be Tensor, not (\w+\.)*Variable", _OF_TORCH),
    ("TracerArrayConversionError", "", _IN_JAX),
)


def _advise_on_libraries(error: BaseException) -> None:
    """Adds a note to an error of JAX or PyTorch that was given tensors of TensorFlow, or of `ops` in JAX."""
    kind = type(error).__name__
    for name, pattern, advice in _MESSAGES:
        if kind == name and re.search(pattern, str(error)):
            if advice not in getattr(error, "__notes__", ()):
                error.add_note(advice)
            return
