"""Constructor arguments, kept when an object is made, so that `get_config()` needs no boilerplate."""

from __future__ import annotations

import inspect
from typing import Any

from tfkit.src.registry import serialization
from tfkit.src.registry import tables as registry


class ConstructorSignature:
    """The `__signature__` of classes that define `__new__`: that of their `__init__`.

    In Python 3.11.2 an inherited `__new__` comes before an inherited `__init__`, in later versions after it.
    """

    def __get__(self, instance: Any, cls: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(list(parameters)[1:])


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


_OF_EVERY_LAYER = ("name", "trainable", "dtype")


def layer_config(layer: Any, base: type) -> dict[str, Any]:
    """The configuration of a layer: its name, `trainable` and dtype, then its arguments.

    Where the method `get_config` of its class is a user's, this is what that method starts from, and the
    arguments are those of the built-in class that the layer extends. All others are up to that method,
    as for Keras: `dict(units=self.units, **super().get_config())` must not find `units` there already.

    Args:
        layer: the layer.
        base: the class `Layer`.

    Raises:
        TypeError: that names the argument that cannot be saved.
    """
    recorded = layer._tfkit.arguments
    config = {
        "name": layer.name,
        "trainable": layer.trainable,
        "dtype": serialization.serialize_keras_object(layer.dtype_policy),
    }
    owner = owner_of(type(layer), "get_config")
    if owner is not base and not is_ours(owner):
        return {**config, **_extended(layer, base)}
    if owner is base:  # So that `cls(**config)` works.
        config = {name: value for name, value in config.items() if recorded.accepts(name)}
    # tfkit's own layers keep each argument as an attribute of the same name, which is what is saved: it
    # is the resolved object and follows later assignments. A user's attribute may be anything.
    builtin = registry.is_builtin(type(layer))
    for name, value in recorded.as_dict().items():
        if name not in _OF_EVERY_LAYER:
            if builtin and _keeps(layer, name, base):
                value = getattr(layer, name)
            _add(config, name, value, layer, builtin, required=owner is base)
    return config


def _extended(layer: Any, base: type) -> dict[str, Any]:
    """The arguments of the built-in class that a user's layer extends, as it has them now."""
    config: dict[str, Any] = {}
    builtin = next((cls for cls in type(layer).__mro__ if registry.is_builtin(cls)), base)
    for name, parameter in inspect.signature(builtin).parameters.items():
        named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        own = named and name not in (*_OF_EVERY_LAYER, "activity_regularizer", "autocast")
        if own and _keeps(layer, name, base):
            _add(config, name, getattr(layer, name), layer, builtin=True, required=False)
    if layer.activity_regularizer is not None:
        value = layer.activity_regularizer
        _add(config, "activity_regularizer", value, layer, builtin=True, required=False)
    return config


def _keeps(layer: Any, name: str, base: type) -> bool:
    """Whether a layer has an attribute of the name of an argument, which is no method of every layer's."""
    return hasattr(layer, name) and not hasattr(base, name)


def owner_of(cls: type, name: str) -> type:
    """The class that gives a class one of its methods: itself, or one that it extends."""
    return next(each for each in cls.__mro__ if name in vars(each))


def is_ours(cls: type) -> bool:
    """Whether a class is one of tfkit's, and not a user's."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _add(
    config: dict[str, Any], name: str, value: Any, layer: Any, builtin: bool, required: bool
) -> None:
    """Puts one argument into a configuration; one that cannot be saved must not be required."""
    omitted = layer._omitted_from_config
    if builtin and name in omitted and value == omitted[name]:
        return
    try:
        config[name] = _short(serialization.serialize_keras_object(value))
    except TypeError as error:
        if required:
            raise TypeError(
                f"Cannot make the configuration of {type(layer).__name__} '{layer.path}': its "
                f"argument `{name}` cannot be saved. {error} Or define `get_config()` and "
                "`from_config()`."
            ) from None


def _short(config: Any) -> Any:
    """The bare name where a configuration is that of one of tfkit's own functions (`"relu"`)."""
    if isinstance(config, dict) and config.get("class_name") == "function":
        own = config["module"] == "builtins" and ">" not in config["config"]
        return config["config"] if own else config
    return config


def made_from(cls: type, arguments: dict[str, Any]) -> Any:
    """A layer of a class, with a note on errors of its constructor about where the arguments are from."""
    try:
        return cls(**arguments)
    except (TypeError, ValueError) as error:
        error.add_note(
            f"Raised while `{cls.__name__}.from_config()` made a {cls.__name__} with the arguments "
            f"{list(arguments)}: its `__init__` must take what its `get_config()` returns."
        )
        raise
