"""What type checkers are told: of layers and models that are passed on, and which options all layers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

if TYPE_CHECKING:
    from tfkit.src.core.state import LayerState


class Tracked(Protocol):
    """What holds layers and weights: a layer, a model, or a class that is mixed into them."""

    _tfkit: LayerState

    @property
    def name(self) -> str:
        """The label."""

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights."""

    def _members(self) -> list[tuple[str, Any]]: ...


class AnyModel(Tracked, Protocol):
    """A model, as the rooms below `models` know it."""

    optimizer: Any
    compiled: bool
    built: bool
    output_names: list[str] | None
    _graph: Any

    @property
    def weights(self) -> list[Any]:
        """Those of all layers."""

    @property
    def trainable_weights(self) -> list[Any]:
        """Those that training changes."""

    def get_compile_config(self) -> Any:
        """What `compile` was given, as data."""

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles the model as it was when `get_compile_config` gave `config`."""


class _CommonOptions(TypedDict, total=False):
    trainable: bool
    dtype: Any
    autocast: bool
    input_shape: Any
    input_dim: int | None


class RegularizedOptions(_CommonOptions, total=False):
    """What a layer takes beside an `activity_regularizer` of its own."""

    name: str | None


class NamedOptions(_CommonOptions, total=False):
    """What a layer takes beside a `name` of its own."""

    activity_regularizer: Any


class LayerOptions(NamedOptions, total=False):
    """The keyword arguments that every layer takes, as `Layer` documents them."""

    name: str | None


def open_signature(method: Callable[..., Any]) -> Callable[..., Any]:
    """Lets subclasses override a method with arguments of their own: it is given back as it is."""
    return method
