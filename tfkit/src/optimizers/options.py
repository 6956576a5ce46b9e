"""The options that all optimizers share: their types, and how a constructor takes them.

They are written once, in the constructor of `Optimizer`. An optimizer takes them as `**options`, and
`@shares_options` lets them be passed by position, too, where Keras has them.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

from tfkit.src.errors.tracebacks import shorten
from tfkit.src.optimizers.base import Optimizer

Class = TypeVar("Class", bound=type[Optimizer])


class OptionsButDecay(TypedDict, total=False):
    """What type checkers and editors know of the options; `Optimizer` describes them."""

    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None


class Options(OptionsButDecay, total=False):
    """All shared options, for optimizers that have no weight decay of their own."""

    weight_decay: float | None


# An argument under `Args:` in the docstring of a class, with its description. From Python 3.13 on docstrings
# come without their indentation; `inspect.cleandoc` takes it away in the others.
_ENTRY = r"^    {name}: .*\n(?:     .*\n)*"


def _shared_options() -> dict[str, inspect.Parameter]:
    """The shared options as parameters, in Keras's order."""
    parameters = inspect.signature(Optimizer.__init__).parameters
    return {name: each for name, each in parameters.items() if name in Options.__annotations__}


def _descriptions() -> dict[str, str]:
    """What the docstring of `Optimizer` says of each of its arguments."""
    text = inspect.cleandoc(Optimizer.__doc__ or "")
    entries = re.finditer(_ENTRY.format(name=r"(\w+)"), text, re.M)
    return {entry[1]: entry[0] for entry in entries}


SHARED = _shared_options()
DEFAULTS = {name: parameter.default for name, parameter in SHARED.items()}
_DESCRIPTIONS = _descriptions()


def shares_options(cls: Class) -> Class:
    """Completes the signature and the help text of an optimizer that takes `**options`.

    The parameters that a caller sees are in Keras's order: those in front of a `*`, then the shared
    options that are not among them, then those behind the `*`. All can be passed by position.
    """
    own = cls.__init__
    cls.__init__ = _with_shared_options(own)  # type: ignore[method-assign]
    if cls.__doc__:  # Python's option -OO leaves none.
        added = [name for name in SHARED if name not in inspect.signature(own).parameters]
        described = "".join(_DESCRIPTIONS[name] for name in added)
        entry = _ENTRY.format(name=r"\*\*options")
        cls.__doc__ = re.sub(entry, lambda _: described, inspect.cleandoc(cls.__doc__), flags=re.M)
    return cls


def _with_shared_options(own: Callable[..., None]) -> Callable[..., None]:
    (first, *given) = inspect.signature(own).parameters.values()
    in_front = [each for each in given if each.kind is each.POSITIONAL_OR_KEYWORD]
    behind = [each for each in given if each.kind is each.KEYWORD_ONLY]
    names = {each.name for each in given}
    shared = [each for name, each in SHARED.items() if name not in names]
    parameters = [
        each.replace(kind=each.POSITIONAL_OR_KEYWORD) for each in (*in_front, *shared, *behind)
    ]
    order = [each.name for each in parameters]

    @functools.wraps(own)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            if len(args) > len(order):
                raise TypeError(
                    f"{type(self).__name__} takes at most {len(order)} arguments by position. "
                    f"Received: {len(args)}"
                )
            own(self, **dict(zip(order, args, strict=False)), **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    unknown = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [first, *parameters, unknown], return_annotation="None"
    )
    return __init__
