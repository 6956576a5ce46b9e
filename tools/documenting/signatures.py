"""Writes the signatures of public objects, with types and defaults that a reader can follow."""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import types
import typing
from typing import Any

from documenting import public

WORD = re.compile(r"'[^']*'|\"[^\"]*\"|[\w.]+")


def signature(value: Any) -> str:
    """Returns the signature of a class or function; `""` where it takes no arguments of its own."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    names = getattr(inspect.unwrap(_function(value)), "__globals__", {})
    parameters = [
        each.replace(
            annotation=_annotation(each.annotation, names),
            default=each.default if each.default is each.empty else _Shown(each.default),
        )
        for each in found.parameters.values()
        if each.name not in ("self", "cls")
    ]
    returned = (
        found.empty if inspect.isclass(value) else _annotation(found.return_annotation, names)
    )
    return str(found.replace(parameters=parameters, return_annotation=returned))


def _function(value: Any) -> Any:
    return value.__init__ if inspect.isclass(value) else value


class _Shown:
    """A default whose representation is that of the value, where that can be read as Python."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        if isinstance(self.value, type) or inspect.isroutine(self.value):
            return self.value.__name__
        shown = repr(self.value)
        return "..." if shown.startswith("<") else shown


class _Text:
    """An annotation that is shown as it is, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _annotation(annotation: Any, names: dict[str, Any]) -> Any:
    """Returns an annotation with its aliases written out; none for `Any` and for options of a base."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    if annotation is inspect.Parameter.empty or text.startswith("Unpack["):
        return inspect.Parameter.empty
    shown = WORD.sub(lambda word: _written_out(word[0], names), text)
    return inspect.Parameter.empty if shown in ("Any", "Any | None") else _Text(shown)


def _written_out(word: str, names: dict[str, Any]) -> str:
    """Returns a word of an annotation as a reader knows it: private types are `Any`."""
    if word[0] in "\"'" or not word[0].isidentifier():
        return word
    first, *rest = word.split(".")
    value = names.get(first, getattr(builtins, first, _by_last_part().get(first)))
    for part in rest:
        value = getattr(value, part, None)
    return word if word == "None" else _name_of(value, word)


@functools.cache
def _by_last_part() -> dict[str, Any]:
    """Returns the public objects by the last parts of their names, as type checkers alone import them."""
    return {name.rpartition(".")[2]: value for name, value in public.objects().items()}


def _name_of(value: Any, word: str) -> str:
    if home := public.home(value):
        return f"tfkit.{home}"
    if value is Any or value is None or isinstance(value, typing.TypeVar):
        return "Any"
    if arguments := typing.get_args(value):
        inner = [_name_of(each, str(each)) for each in arguments]
        if isinstance(value, types.UnionType) or typing.get_origin(value) is typing.Union:
            return " | ".join(dict.fromkeys(inner))
        return WORD.sub(
            lambda found: found[0].rpartition(".")[2] if "." in found[0] else found[0],
            inspect.formatannotation(value),
        )
    if value is type(None):
        return "None"
    if isinstance(value, type):
        return "Any" if value.__module__.startswith("tfkit.") else word_of(value, word)
    return word


def word_of(value: type, word: str) -> str:
    """Returns the name of a class of another library, as it was written."""
    return value.__name__ if word.startswith("<class") else word
