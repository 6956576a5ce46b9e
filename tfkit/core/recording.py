"""Constructor arguments, kept when an object is made, so that `get_config()` needs no boilerplate."""

from __future__ import annotations

import inspect
from typing import Any

from tfkit import registry, serialization


class ConstructorArguments:
    """The arguments that an object was made with.

    Args:
        cls: the class of the object.
        args: positional arguments of its constructor.
        kwargs: keyword arguments.
    """

    __slots__ = ("args", "cls", "kwargs")

    def __init__(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.cls = cls
        self.args = args
        self.kwargs = kwargs

    def as_dict(self) -> dict[str, Any]:
        """Arguments by name, defaults included.

        Raises:
            TypeError: for a constructor with `*args`, whose arguments have no names.
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
                    raise TypeError(
                        f"Cannot make the configuration of {self.cls.__name__}: its constructor takes "
                        f"`*{name}`, which have no names. Define `get_config()` and `from_config()`."
                    )
            else:
                arguments[name] = value
        return arguments

    def accepts(self, name: str) -> bool:
        """Whether the constructor takes an argument of this name."""
        parameters = inspect.signature(self.cls).parameters
        return name in parameters or any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
        )


def layer_config(layer: Any, overridden: bool) -> dict[str, Any]:
    """The configuration of a layer: its name, `trainable` and dtype, then its recorded arguments.

    Args:
        layer: the layer.
        overridden: whether this is the part that a user's `get_config()` starts from. Then the arguments
            that its own constructor names, and those that cannot be saved, are left to that method;
            otherwise they are an error, and of the first three only those that the constructor takes are
            given, so that `cls(**config)` works.

    Raises:
        TypeError: that names the argument that cannot be saved.
    """
    recorded = layer._tfkit.arguments
    config = {
        "name": layer.name,
        "trainable": layer.trainable,
        "dtype": serialization.serialize_keras_object(layer.dtype_policy),
    }
    if not overridden:
        config = {name: value for name, value in config.items() if recorded.accepts(name)}
    # tfkit's own layers keep each argument as an attribute of the same name, which is what is saved: it
    # is the resolved object and follows later assignments. A user's attribute may be anything.
    builtin = registry.is_builtin(type(layer))
    arguments = recorded.as_dict()
    of_builtin: frozenset[str] = frozenset(arguments) if builtin else frozenset()
    if overridden and not builtin:
        arguments, of_builtin = _known_to_the_bases(type(layer), arguments)
    for name, value in arguments.items():
        if name in ("name", "trainable", "dtype"):
            continue
        if name in of_builtin and hasattr(layer, name):
            value = getattr(layer, name)
        omitted = layer._omitted_from_config
        if of_builtin and name in omitted and value == omitted[name]:
            continue
        try:
            config[name] = _short(serialization.serialize_keras_object(value))
        except TypeError as error:
            if not overridden:
                raise TypeError(
                    f"Cannot make the configuration of {type(layer).__name__} '{layer.path}': its "
                    f"argument `{name}` cannot be saved. {error} Or define `get_config()` and "
                    "`from_config()`."
                ) from None
    return config


def _known_to_the_bases(
    cls: type, arguments: dict[str, Any]
) -> tuple[dict[str, Any], frozenset[str]]:
    """Returns what the bases of a user's `get_config` know of the arguments, and which are tfkit's own.

    Keras's layers know their own arguments only, so programs write `dict(units=..., **super().get_config())`.
    """
    named: set[str] = set()  # By the constructors of the overriding classes.
    overriding = [base for base in cls.__mro__ if "get_config" in vars(base) and not _is_own(base)]
    for base in cls.__mro__[: cls.__mro__.index(overriding[-1]) + 1] if overriding else ():
        if "__init__" in vars(base):
            named |= set(_parameters(base))
    known = {name: value for name, value in arguments.items() if name not in named}
    own = next((base for base in cls.__mro__ if registry.kind_of(base) == "layers"), None)
    if own is None or own.__name__ == "Layer":
        return known, frozenset()
    parameters = _parameters(own)
    return {**dict.fromkeys(parameters), **known}, frozenset(parameters)


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _parameters(cls: type) -> list[str]:
    """The names that a constructor takes, those behind `*` and `**` aside."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(cls).parameters.values()
    return [each.name for each in parameters if each.kind not in variadic]


def _short(config: Any) -> Any:
    """The bare name where a configuration is that of one of tfkit's own functions (`"relu"`)."""
    if isinstance(config, dict) and config.get("class_name") == "function":
        own = config["module"] == "builtins" and ">" not in config["config"]
        return config["config"] if own else config
    return config
