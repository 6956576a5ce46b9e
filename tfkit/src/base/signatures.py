"""Shared arguments of constructors, which are written and documented once.

A class that accepts the arguments of another class as `**options` would show only that in its signature and
its help text. `@shows` puts each argument at its position in Keras.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Class = TypeVar("Class", bound=type)

# An argument under `Args:` in a docstring, with its description. From Python 3.13 on docstrings have no
# indentation; `inspect.cleandoc` removes it from the others.
_ENTRY = re.compile(r"^    (\*{0,2}\w+): .*\n(?:     .*\n)*", re.MULTILINE)
_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Argument(NamedTuple):
    """A parameter of a constructor, and its lines in the docstring of the class."""

    parameter: inspect.Parameter
    description: str


def arguments_of(cls: type) -> dict[str, Argument]:
    """Returns the arguments of the constructor of a class, by name, in order, except starred ones."""
    _, *parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    described = _descriptions(inspect.cleandoc(cls.__doc__ or ""))
    return {
        each.name: Argument(each, described.get(each.name, ""))
        for each in parameters
        if each.kind not in _STARRED
    }


def shows(
    shared: Mapping[str, Argument], behind: Mapping[str, str] | None = None
) -> Callable[[Class], Class]:
    """Returns a decorator that completes a class whose constructor accepts `**options`.

    Callers see the parameters in front of a `*` first, then the shared ones that are not among the class's
    own, then those after the `*`. All can be passed by position.

    Args:
        shared: the arguments that it accepts as `**options`.
        behind: for arguments at other positions, the name of the one in front of each.
    """
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD

    def complete(cls: Class) -> Class:
        own = arguments_of(cls)
        in_front = {name: it for name, it in own.items() if it.parameter.kind is positional}
        every = {**in_front, **{name: it for name, it in shared.items() if name not in own}, **own}
        order = list(every)
        for name, previous in (behind or {}).items():
            order.remove(name)
            order.insert(order.index(previous) + 1, name)
        if "__init__" in vars(cls):
            parameters = [every[name].parameter.replace(kind=positional) for name in order]
            cls.__init__ = _taking(cls.__init__, parameters)  # type: ignore[misc]
        if cls.__doc__:  # Python's option -OO removes docstrings.
            described = {**shared, **{name: it for name, it in own.items() if it.description}}
            descriptions = [described[name].description for name in order]
            cls.__doc__ = _described(inspect.cleandoc(cls.__doc__), descriptions)
        return cls

    return complete


def _taking(
    own: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Returns a constructor that passes all arguments to `own` by name."""
    names = [each.name for each in parameters]

    @functools.wraps(own)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__} takes at most {len(names)} arguments by position. "
                f"Received: {len(args)}"
            )
        given = dict(zip(names, args, strict=False))
        if twice := given.keys() & kwargs.keys():
            called = type(self).__qualname__
            message = f"got multiple values for keyword argument {min(twice)!r}"
            raise TypeError(f"{called}.__init__() {message}")
        own(self, **given, **kwargs)

    first = next(iter(inspect.signature(own).parameters.values()))
    others = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [first, *parameters, others], return_annotation="None"
    )
    return __init__


def _descriptions(text: str) -> dict[str, str]:
    return {entry[1]: entry[0] for entry in _ENTRY.finditer(text)}


def _described(text: str, descriptions: Sequence[str]) -> str:
    """Returns a docstring with these descriptions in place of those under `Args:`, except for `**kwargs`."""
    start = text.index("Args:\n") + len("Args:\n")
    end = start
    while entry := _ENTRY.match(text, end):
        end = entry.end()
    rest = _descriptions(text[start:end]).get("**kwargs", "")
    return text[:start] + "".join(descriptions) + rest + text[end:]
