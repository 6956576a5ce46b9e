"""Dtype policies: the dtypes of a layer's computations and of its weights.

Mixed precision computes in 16 bits and keeps weights in 32 (Micikevicius et al., 2017,
https://arxiv.org/abs/1710.03740).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.base import settings
from tfkit.src.base.context import ThreadSetting
from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import did_you_mean
from tfkit.src.base.protocols import HasPath
from tfkit.src.base.registry.constructors import Configured
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.base.registry.serialization import (
    deserialize_keras_object,
    resolve,
    serialize_keras_object,
)
from tfkit.src.base.registry.tables import register_builtins

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


# `None` means the default float type.
_global_policy: ThreadSetting[DTypePolicy | None] = ThreadSetting("dtype_policy", None)
# The function that makes a policy of a name such as "int8_from_float32"; the module of these adds it.
names_of_quantized: list[Callable[[str], DTypePolicy]] = []


class DTypePolicy(Configured, Overridable):
    """The dtypes in which a layer computes and stores its weights.

    Args:
        name: a dtype such as `"float32"` or `"bfloat16"` (both are that dtype), or `"mixed_float16"`,
            `"mixed_bfloat16"` (computes in 16 bits, weights in `float32`); the global policy's unless
            given.

    Raises:
        TypeError: for anything that is not a string.
        ValueError: for any other name.

    Example:
        >>> policy = DTypePolicy("mixed_bfloat16")
        >>> policy.compute_dtype, policy.variable_dtype
        ('bfloat16', 'float32')
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            chosen = _global_policy.get()
            name = settings.floatx() if chosen is None else chosen.name
        if not isinstance(name, str):
            raise TypeError(
                "The name of a dtype policy must be a string, such as 'mixed_float16'. Received: "
                f"name={name!r} (of type {type(name).__name__})"
            )
        if name in _MIXED:
            self._compute_dtype, self._variable_dtype = _MIXED[name], "float32"
        else:
            try:
                self._compute_dtype = self._variable_dtype = standardize_dtype(name)
            except ValueError as error:
                near = did_you_mean(name, _MIXED)
                raise ValueError(
                    "Cannot make a dtype policy. Expected a dtype such as 'float32', or one of "
                    f"{sorted(_MIXED)}. " + (f"Received: {name!r}.{near}" if near else str(error))
                ) from None
            name = self._compute_dtype
        self._name = name

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """The dtype of inputs, outputs and computations."""
        return self._compute_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype of weights."""
        return self._variable_dtype

    @property
    def quantization_mode(self) -> str | None:
        """The mode of the quantization; `None` where nothing is quantized."""
        return None

    @property
    def is_mixed(self) -> bool:
        """Whether computations and weights have different dtypes."""
        return self._compute_dtype != self._variable_dtype

    def of(self, layer: HasPath) -> DTypePolicy:
        """Returns the policy of a layer that was made with this one; a `DTypePolicyMap` has several."""
        return self

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"name": self.name}

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self.name}">'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


FloatDTypePolicy = DTypePolicy

for _kind in ("", "dtype_policies"):
    register_builtins(_kind, [DTypePolicy], {"FloatDTypePolicy": DTypePolicy})


def dtype_policy() -> DTypePolicy:
    """Returns the dtype policy of layers made without a `dtype` argument.

    Returns:
        A `DTypePolicy`: unless it has been set, the policy of the default float dtype.

    Example:
        >>> dtype_policy().name
        'float32'
    """
    chosen = _global_policy.get()
    return DTypePolicy(settings.floatx()) if chosen is None else chosen


@shortened
def set_dtype_policy(policy: str | DTypePolicy) -> None:
    """Sets the dtype policy of layers that are made from now on without a `dtype` argument.

    The main thread sets it for the process, any other thread for the layers that it makes itself.

    Args:
        policy: a policy, or its name, such as `"mixed_float16"`.

    Raises:
        ValueError: for an unknown name, and for `None`; `reset_dtype_policy()` goes back to the
            default.

    Example:
        >>> set_dtype_policy("mixed_float16")
        >>> tfkit.layers.Dense(1).compute_dtype
        'float16'
        >>> reset_dtype_policy()
    """
    if policy is None:
        raise ValueError(
            "`set_dtype_policy` expects the name of a policy, such as 'mixed_float16', or a `DTypePolicy`. "
            "Received: policy=None. `reset_dtype_policy()` goes back to the default float type."
        )
    _global_policy.set(get(policy))


def reset_dtype_policy() -> None:
    """Makes layers without a `dtype` argument follow the default float dtype again.

    Example:
        >>> set_dtype_policy("float64")
        >>> reset_dtype_policy()
        >>> dtype_policy().name
        'float32'
    """
    _global_policy.set(None)


@shortened
def get(identifier: Any) -> DTypePolicy:
    """Returns the dtype policy for an identifier.

    Args:
        identifier: a name such as `"mixed_float16"` or `"int8_from_float32"`, a dtype, a configuration, a
            policy, or `None` for the global one.

    Returns:
        A `DTypePolicy`.

    Raises:
        ValueError: for anything else.

    Example:
        >>> get("mixed_bfloat16").compute_dtype
        'bfloat16'
    """
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        found = resolve(identifier, "dtype_policies")
        if isinstance(found, DTypePolicy):
            return found
    elif isinstance(identifier, str) and "_from_" in identifier:
        return names_of_quantized[0](identifier)
    else:
        return DTypePolicy(
            identifier if isinstance(identifier, str) else standardize_dtype(identifier)
        )
    raise ValueError(f"Expected the configuration of a dtype policy. Received: {identifier!r}")


def constructor_arguments(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a constructor that a configuration describes.

    A plain policy is given as its name, as in Keras, for constructors that take `dtype="float32"`. Policies
    of other classes hold more than a name.

    Args:
        config: the configuration of a layer or an operation.
    """
    arguments = {name: deserialize_keras_object(value) for name, value in config.items()}
    policy = arguments.get("dtype")
    if type(policy) is DTypePolicy and policy is not config["dtype"]:
        arguments["dtype"] = policy.name
    return arguments


def serialize(dtype_policy: DTypePolicy) -> dict[str, Any]:
    """Returns the configuration of a dtype policy.

    Args:
        dtype_policy: a policy.

    Returns:
        A dict of plain data that `deserialize` accepts.

    Example:
        >>> serialize(DTypePolicy("mixed_float16"))["config"]
        {'name': 'mixed_float16'}
    """
    return serialize_keras_object(dtype_policy)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> DTypePolicy:
    """Returns the dtype policy that a configuration describes: the inverse of `serialize`.

    Args:
        config: a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A `DTypePolicy`.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(DTypePolicy("mixed_float16"))).name
        'mixed_float16'
    """
    return deserialize_keras_object(config, custom_objects, kind="dtype_policies")
