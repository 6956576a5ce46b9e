"""Weights with an initializer, a regularizer and a constraint, which are arguments of the layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class AddsWeights(Protocol):
    """The part of a layer that is needed here."""

    @property
    def add_weight(self) -> Callable[..., Any]:
        """Makes a weight of the layer."""


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
    arguments = {
        argument: getattr(layer, f"{kind}_{argument}")
        for argument in ("initializer", "regularizer", "constraint")
    }
    return layer.add_weight(name=name or kind, shape=shape, **{**arguments, **options})
