"""Dtype policies by the paths of layers."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from typing import Any

from tfkit.src.base.protocols import HasPath
from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import dtype_policies
from tfkit.src.base.registry.dtype_policies import DTypePolicy
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.base.registry.tables import register_builtins


class DTypePolicyMap(DTypePolicy, MutableMapping[str, DTypePolicy]):
    """A dtype policy for each of the layers that share it: `dtype=` of a model and of all layers in it.

    A layer has the policy whose key is its path, or whose key, as a regular expression, matches its whole
    path; otherwise the default policy. Paths are those of `layer.path`.

    Args:
        default_policy: policy, or its name, of all other layers; `None` for the global policy at the time
            when a layer asks.
        policy_map: dict of policies by key; `None` for an empty one.

    Raises:
        TypeError: if `policy_map` is not a dict.
        ValueError: for a key that is set twice, and for a path that several keys match.

    Example:
        >>> policies = DTypePolicyMap("float32")
        >>> policies["encoder/.*"] = "mixed_bfloat16"
        >>> policies["encoder/dense"].compute_dtype, policies["head"].compute_dtype
        ('bfloat16', 'float32')
    """

    def __init__(
        self, default_policy: Any = None, policy_map: dict[str, Any] | None = None
    ) -> None:
        if not isinstance(policy_map, (dict, type(None))):
            raise TypeError(
                "`policy_map` must be a dict of dtype policies by path, or None. Received: "
                f"policy_map={quoted(policy_map)} (of type {type(policy_map).__name__})"
            )
        self._default = None if default_policy is None else dtype_policies.get(default_policy)
        self._policies = {
            key: dtype_policies.get(value) for key, value in (policy_map or {}).items()
        }

    @property
    def default_policy(self) -> DTypePolicy:
        """The policy of layers that no key matches."""
        return dtype_policies.dtype_policy() if self._default is None else self._default

    @property
    def name(self) -> str:
        """The name: that of the default policy after `map_`."""
        return f"map_{self.default_policy.name}"

    @property
    def compute_dtype(self) -> str:
        """The dtype of computations by the default policy."""
        return self.default_policy.compute_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype of weights by the default policy."""
        return self.default_policy.variable_dtype

    @property
    def quantization_mode(self) -> str | None:
        """The mode of the default policy's quantization; `None` where nothing is quantized."""
        return self.default_policy.quantization_mode

    @property
    def is_mixed(self) -> bool:
        """Whether computations and weights have different dtypes by the default policy."""
        return self.default_policy.is_mixed

    def of(self, layer: HasPath) -> DTypePolicy:
        """Returns the policy of the layer's path."""
        return self[layer.path]

    def __getitem__(self, path: str) -> DTypePolicy:
        if path in self._policies:
            return self._policies[path]
        keys = [key for key in self._policies if re.fullmatch(key, path)]
        if len(keys) > 1:
            raise ValueError(
                f"Path '{path}' matches several keys of the DTypePolicyMap: {keys}. Each path may match at "
                "most one."
            )
        return self._policies[keys[0]] if keys else self.default_policy

    def __setitem__(self, key: str, policy: Any) -> None:
        if key in self._policies:
            raise ValueError(
                f"'{key}' is in the DTypePolicyMap already, with {self._policies[key]!r}. Delete it first."
            )
        self._policies[key] = dtype_policies.get(policy)

    def __delitem__(self, key: str) -> None:
        del self._policies[key]

    def __contains__(self, key: object) -> bool:
        return key in self._policies

    def __len__(self) -> int:
        return len(self._policies)

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicyMap) and self.get_config() == other.get_config()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        mapping = [(key, policy.name) for key, policy in self._policies.items()]
        return f"<DTypePolicyMap default_policy={self.default_policy.name}, mapping={mapping}>"

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments as data."""
        policies = {key: serialize_keras_object(policy) for key, policy in self._policies.items()}
        default = None if self._default is None else self._default.name
        return {"default_policy": default, "policy_map": policies}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DTypePolicyMap:
        """Returns the map that a configuration describes."""
        policies = config.get("policy_map") or {}
        made = {key: deserialize_keras_object(policy) for key, policy in policies.items()}
        return cls(config.get("default_policy"), made)


register_builtins("dtype_policies", [DTypePolicyMap])
