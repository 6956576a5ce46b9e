"""Records the arguments of constructors, for configurations, and checks their values."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import numbers
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from tfkit.src.base.errors.tracebacks import shorten, shortened
from tfkit.src.base.names import advice_on, is_old
from tfkit.src.base.nests import brief

Axes = int | Sequence[int] | None
# A number of Python's or NumPy's, or a tensor or variable.
Number = Any
Function = TypeVar("Function", bound=Callable[..., Any])
Made = TypeVar("Made")


def attributes(holder: Any, *names: str) -> dict[str, Any]:
    """Returns the attributes of an object that hold its constructor's arguments, for a configuration."""
    return {name: getattr(holder, name) for name in names}


def own_arguments(holder: Any) -> dict[str, Any] | None:
    """Returns the attributes of an object that hold the arguments of a constructor, by their names.

    It is the constructor of the first of its classes that is built in and has one; `None` without any.
    A subclass of a user whose constructor is another one defines its own `get_config()`.
    """
    ours = __name__.partition(".")[0]
    for cls in type(holder).__mro__:
        if "__init__" in vars(cls) and cls.__module__.partition(".")[0] == ours:
            _, *names = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
            return attributes(holder, *names)
    return None


def given(arguments: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """Returns the arguments of a constructor from its `locals()`, for one that passes them on.

    Args:
        arguments: `locals()`, before the constructor has set further ones.
        *without: the arguments that it does not pass on.
    """
    omitted = ("self", "__class__", *without)
    own = {name: it for name, it in arguments.items() if name not in omitted}
    others = {**own.pop("kwargs", {}), **own.pop("options", {})}
    return own | others


def made_of(cls: Callable[..., Made], variables: Mapping[str, Any]) -> Made:
    """Returns an object of a dataclass, whose fields are the variables with their names, from `locals()`."""
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    return cls(**{name: variables[name] for name in names})


class Configured:
    """A class whose configuration is the arguments of its constructor."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns an object from the result of `get_config()`.

        Example:
            >>> metric = tfkit.metrics.TopKCategoricalAccuracy(k=3, name="top3")
            >>> type(metric).from_config(metric.get_config()).name
            'top3'
        """
        return cls(**config)


class ConstructorSignature:
    """The `__signature__` of classes that define `__new__`: the signature of their `__init__`.

    In Python 3.11.2 an inherited `__new__` comes before an inherited `__init__`, in later versions after it.
    """

    def __get__(self, instance: Any, cls: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(list(parameters)[1:])


class NoConfigurationError(TypeError, NotImplementedError):
    """The arguments of a constructor cannot become data: its class has to define `get_config()` itself."""


class ConstructorArguments:
    """The arguments that an object was made with.

    Args:
        cls: the class of the object.
        args: positional arguments of its constructor.
        kwargs: keyword arguments.
    """

    __slots__ = ("args", "cls", "kwargs")

    def __init__(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check_old_names(cls, args, kwargs)
        self.cls = cls
        self.args = args
        self.kwargs = kwargs

    def as_dict(self) -> dict[str, Any]:
        """Returns arguments by name, including defaults.

        Raises:
            NoConfigurationError: for a constructor with `*args`, whose arguments have no names.
        """
        signature = inspect.signature(self.cls)
        bound = signature.bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        arguments: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(value)
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                if value:
                    raise NoConfigurationError(
                        f"Cannot create the configuration of {self.cls.__name__}: its constructor takes "
                        f"`*{name}`, which have no names. Define `get_config()` and `from_config()`."
                    )
            else:
                arguments[name] = value
        return arguments

    def accepts(self, name: str) -> bool:
        """Whether the constructor accepts an argument of this name."""
        parameters = inspect.signature(self.cls).parameters
        return name in parameters or any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
        )


def named_after_class(init: Function) -> Function:
    """Returns a constructor that classes inherit, whose errors about arguments name the class called.

    Python's own would name the base: `_Pooling.__init__() missing 1 required positional argument`. The
    tracebacks of all errors show only the user's lines.
    """

    @functools.wraps(init)
    def constructor(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except BaseException as error:
            base, message = f"{init.__qualname__}()", str(error)
            if isinstance(error, TypeError) and message.startswith(base):
                # A subclass with its own constructor has called it by `super()`.
                inits = ((cls, cls.__init__) for cls in type(self).__mro__)  # type: ignore[misc]
                called = next(cls for cls, each in inits if inspect.unwrap(each) is init)
                error.args = (f"{called.__qualname__}.__init__(){message.removeprefix(base)}",)
            shorten(error)
            raise

    return constructor  # type: ignore[return-value]


_NOT_NAMES = {"self", "args", "kwargs", "options"}


def known_arguments(cls: type) -> set[str]:
    """Returns the names of the arguments of a class's constructor, and of those that it calls."""
    return {
        name
        for each in cls.__mro__
        if "__init__" in vars(each) and each is not object
        for name in inspect.signature(vars(each)["__init__"]).parameters
    } | {"input_shape", "input_dim"}


def unknown_arguments(cls: type, given: dict[str, Any]) -> ValueError:
    """Returns the error for unknown arguments of a constructor."""
    known = known_arguments(cls) - _NOT_NAMES
    advice = "".join(advice_on(name, sorted(known)) for name in [*given][:2])
    return ValueError(
        f"Unrecognized keyword arguments passed to {cls.__name__}: {brief(given)}.{advice}"
    )


def check_old_names(cls: type, args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    """Raises an error for arguments by old names, which Python would report as missing by their new ones.

    A class of the user may have any argument.

    Raises:
        ValueError: that states the new name.
    """
    old = {name: value for name, value in given.items() if is_old(name)}
    if not old or not cls.__module__.startswith("tfkit."):
        return
    known = _arguments_of_ours(cls)
    unknown = {name: value for name, value in old.items() if name not in known}
    if not unknown:
        return
    try:
        inspect.signature(cls).bind(*args, **given)
    except TypeError:
        raise unknown_arguments(cls, unknown) from None


# Of tfkit's classes only: a class of the user's is not kept alive.
_arguments_of_ours = functools.cache(known_arguments)


def made_from(cls: type, arguments: dict[str, Any]) -> Any:
    """Returns a new object; errors of its constructor get a note about the origin of the arguments.

    A layer that is frozen says so in its configuration, even if its constructor has no such argument.
    """
    is_frozen = arguments.get("trainable") is False
    if is_frozen and not ConstructorArguments(cls, (), {}).accepts("trainable"):
        made = made_from(cls, {n: value for n, value in arguments.items() if n != "trainable"})
        made.trainable = False
        return made
    try:
        return cls(**arguments)
    except (TypeError, ValueError) as error:
        error.add_note(
            f"Raised while `{cls.__name__}.from_config()` made a {cls.__name__} with the arguments "
            f"{list(arguments)}: its `__init__` must take what its `get_config()` returns."
        )
        raise


# --- Checks of values by the types in a signature ----------------------------------------------------


def with_checked_values(init: Function) -> Function:
    """Returns a constructor that refuses words as numbers, numbers as flags, and the like, by name.

    Only parameters with one of the annotations below are checked. Without the check, a wrong value would be
    noticed when the object is used, in an operation of TensorFlow that does not know the argument, or
    never: any word is a true flag.

    Raises:
        ValueError: that states the argument, the value and what was expected.
    """
    parameters = list(inspect.signature(init).parameters.values())
    checks = {it.name: found for it in parameters if (found := _check_of(it))}

    @functools.wraps(init)
    def constructor(self: Any, *args: Any, **kwargs: Any) -> None:
        names = (it.name for it in parameters[1:])
        for name, value in itertools.chain(zip(names, args, strict=False), kwargs.items()):
            expected, is_valid = checks.get(name, _ANYTHING)
            if not is_valid(value):
                raise ValueError(
                    f"`{name}` of {type(self).__name__} must be {expected}. Received: {name}={brief(value)}"
                )
        init(self, *args, **kwargs)

    return shortened(constructor)  # type: ignore[return-value]


def _check_of(parameter: inspect.Parameter) -> tuple[str, Callable[[Any], bool]] | None:
    if parameter.annotation == "str | None" and parameter.name != "name":
        return None  # Which words there are is checked where they are known.
    return _CHECKS.get(parameter.annotation)


def _is_flag(value: Any) -> bool:
    # As 0 and 1, flags come from files of settings; no flag is the same as False.
    if value is None or getattr(value, "dtype", None) == np.bool_:
        return True
    return isinstance(value, numbers.Real) and value in (0, 1)


def _is_number(value: Any) -> bool:
    if isinstance(value, numbers.Real):
        return not math.isnan(value)
    # An array or a tensor, whose values may not be known yet. Types of bfloat16 and the like are "V".
    dtype = getattr(value, "dtype", None)
    return dtype is not None and np.dtype(getattr(dtype, "as_numpy_dtype", dtype)).kind in "biufV"


def _are_numbers(value: Any) -> bool:
    return (isinstance(value, (list, tuple)) and all(map(_is_number, value))) or _is_number(value)


def _is_integer(value: Any) -> bool:
    if isinstance(value, float):  # As files of settings and spreadsheets write integers.
        return value.is_integer()
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _are_axes(value: Any) -> bool:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return value is None or all(map(_is_integer, listed))


def _or_none(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_valid(value)


_ANYTHING: tuple[str, Callable[[Any], bool]] = ("anything", lambda value: True)
_CHECKS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    "bool": ("True or False", _is_flag),
    "float": ("a number", _is_number),
    "Number": ("a number", _is_number),
    "float | None": ("a number or None", _or_none(_is_number)),
    "Sequence[float]": ("a list of numbers", _are_numbers),
    "int": ("an integer", _is_integer),
    "int | None": ("an integer or None", _or_none(_is_integer)),
    "Sequence[int] | None": ("integers or None", _are_axes),
    "Axes": ("an integer, several of them, or None", _are_axes),
    "Callable[..., Any]": ("a function", callable),
    "str": ("a string", lambda value: isinstance(value, str)),
    "str | None": ("a string or None", _or_none(lambda value: isinstance(value, str))),
}
