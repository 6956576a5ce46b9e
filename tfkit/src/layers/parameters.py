"""Weights with an initializer, a regularizer and a constraint, which are arguments of the layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tfkit.src.weights import constraints, regularizers
from tfkit.src.weights.initializers import lookup as initializers

_LOOKUPS = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


class WithKernel:
    """The attributes of a layer's kernel, which `take_options` sets."""

    kernel_initializer: Any
    kernel_regularizer: Any
    kernel_constraint: Any


class WithBias:
    """The attributes of a layer's bias, which `take_options` sets."""

    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any


class WithScale:
    """The attributes of factors and of a shift after a normalization, which `take_options` sets."""

    beta_initializer: Any
    gamma_initializer: Any
    beta_regularizer: Any
    gamma_regularizer: Any
    beta_constraint: Any
    gamma_constraint: Any


class AddsWeights(Protocol):
    """The part of a layer that is needed here."""

    @property
    def add_weight(self) -> Callable[..., Any]:
        """Makes a weight of the layer."""


def take_options(layer: AddsWeights, arguments: Mapping[str, Any], *kinds: str) -> None:
    """Sets the attributes of a layer that `add_parameter` reads.

    Args:
        layer: the layer, in its constructor.
        arguments: the constructor's `locals()`. Arguments that it does not have are left out.
        *kinds: how the arguments begin: `"kernel"` for `kernel_initializer` and the others.
    """
    for kind in kinds:
        for option, lookup in _LOOKUPS.items():
            if (name := f"{kind}_{option}") in arguments:
                setattr(layer, name, lookup.get(arguments[name]))


def add_parameter(
    layer: AddsWeights, kind: str, shape: Sequence[int], name: str | None = None, **options: Any
) -> Any:
    """Returns a new weight of a layer.

    Args:
        layer: the layer, while it is built; it has the attributes `<kind>_initializer`, `<kind>_regularizer`
            and `<kind>_constraint`.
        kind: how the arguments of the layer begin.
        shape: shape of the weight.
        name: name of the weight. Default: `kind`.
        **options: further arguments of `Layer.add_weight`.
    """
    arguments = {argument: getattr(layer, f"{kind}_{argument}") for argument in _LOOKUPS}
    return layer.add_weight(name=name or kind, shape=shape, **{**arguments, **options})
