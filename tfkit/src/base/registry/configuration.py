"""The configuration of a layer, from its constructor's arguments, for the default `get_config()`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol

from tfkit.src.base.nests import bounded
from tfkit.src.base.protocols import HasPath
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.constructors import ConstructorArguments, NoConfigurationError

_OF_EVERY_LAYER = ("name", "trainable", "dtype")


class Recorded(HasPath, Protocol):
    """The part of a layer's interface that concerns its configuration."""

    activity_regularizer: Any
    _tfkit_omitted_from_config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the layer."""

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights."""

    @property
    def dtype_policy(self) -> Any:
        """The dtypes of computations and weights."""


@bounded
def layer_config(layer: Recorded, recorded: ConstructorArguments, base: type) -> dict[str, Any]:
    """Returns the configuration of a layer: its name, `trainable` and dtype, then its arguments.

    If its class has a user's method `get_config`, that method starts from this result, which then has only
    the arguments of the built-in class that the layer extends. The method adds all others, as in Keras:
    `dict(units=self.units, **super().get_config())` must not find `units` there already.

    Args:
        layer: the layer.
        recorded: the recorded arguments of its constructor.
        base: the class `Layer`.

    Raises:
        NoConfigurationError: that names the argument that cannot be saved.
    """
    config = {
        "name": layer.name,
        "trainable": layer.trainable,
        "dtype": serialization.serialize_keras_object(layer.dtype_policy),
    }
    owner = owner_of(type(layer), "get_config")
    if owner is not base and not is_ours(owner):
        return _extended(layer, base, config)
    if owner is base:  # This makes `cls(**config)` work.
        config = accepted(layer, recorded, config)
    # tfkit's own layers keep each argument as an attribute of the same name, which is saved: it is the
    # resolved object and follows later assignments. A user's attribute may be anything.
    builtin = registry.is_builtin(type(layer))
    for name, value in recorded.as_dict().items():
        if name not in _OF_EVERY_LAYER:
            if builtin and _keeps(layer, name, base):
                value = getattr(layer, name)
            _add(config, name, value, layer, builtin, required=owner is base)
    return config


def accepted(
    layer: Recorded, recorded: ConstructorArguments, config: dict[str, Any]
) -> dict[str, Any]:
    """Returns the part of a configuration that `from_config` accepts.

    It always accepts that a layer is frozen, unless a user's `from_config` calls the constructor.
    """
    freezes = not layer.trainable and is_ours(owner_of(type(layer), "from_config"))
    return {
        name: value
        for name, value in config.items()
        if recorded.accepts(name) or (freezes and name == "trainable")
    }


def require_all(layer: Recorded, recorded: ConstructorArguments, config: dict[str, Any]) -> None:
    """Raises an error for a configuration without one of the constructor's arguments.

    Raises:
        NoConfigurationError: that names the argument that cannot be saved.
    """
    for name, value in recorded.as_dict().items():
        if name not in (*_OF_EVERY_LAYER, *config):
            _add({}, name, value, layer, builtin=False, required=True)


def _extended(layer: Recorded, base: type, common: dict[str, Any]) -> dict[str, Any]:
    """Returns the current arguments of the built-in class that a user's layer extends.

    Args:
        layer: the layer.
        base: the class `Layer`.
        common: the arguments of every layer, of which some built-in classes accept only a part.
    """
    # Libraries extend some classes that are not public, such as `BaseConv`.
    bases = (
        cls
        for cls in type(layer).__mro__
        if registry.is_builtin(cls) or (is_ours(cls) and "__init__" in vars(cls))
    )
    builtin = next(bases, base)
    parameters = inspect.signature(builtin).parameters
    takes_all = any(it.kind is it.VAR_KEYWORD for it in parameters.values())
    config = {
        name: value
        for name, value in common.items()
        if takes_all or name in parameters or value is False  # That a layer is frozen.
    }
    for name, parameter in parameters.items():
        named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        own = named and name not in (*_OF_EVERY_LAYER, "activity_regularizer", "autocast")
        if own and _keeps(layer, name, base):
            _add(config, name, getattr(layer, name), layer, builtin=True, required=False)
    if layer.activity_regularizer is not None:
        value = layer.activity_regularizer
        _add(config, "activity_regularizer", value, layer, builtin=True, required=False)
    return config


def _keeps(layer: Recorded, name: str, base: type) -> bool:
    """Whether a layer has an attribute named like an argument, other than a method of every layer."""
    return hasattr(layer, name) and not hasattr(base, name)


def owner_of(cls: type, name: str) -> type:
    """Returns the class that defines one of a class's methods: itself, or a base class."""
    return next(each for each in cls.__mro__ if name in vars(each))


def is_ours(cls: type) -> bool:
    """Whether a class is built in, and not a user's."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _add(
    config: dict[str, Any], name: str, value: Any, layer: Recorded, builtin: bool, required: bool
) -> None:
    """Adds one argument to a configuration; one that cannot be saved must not be required."""
    omitted = layer._tfkit_omitted_from_config
    if builtin and name in omitted and value == omitted[name]:
        return
    try:
        config[name] = _short(serialization.serialize_keras_object(value))
    except TypeError as error:
        if required:
            raise NoConfigurationError(
                f"Cannot create the configuration of {type(layer).__name__} '{layer.path}': its argument "
                f"`{name}` cannot be saved. {error} Or define `get_config()` and `from_config()`."
            ) from None


def _short(config: Any) -> Any:
    """Returns the bare name for the configuration of a built-in function (`"relu"`)."""
    if isinstance(config, dict) and config.get("class_name") == "function":
        own = config["module"] == "builtins" and ">" not in config["config"]
        return config["config"] if own else config
    return config
