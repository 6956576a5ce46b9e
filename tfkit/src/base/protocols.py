"""The interfaces of layers and models for rooms on the floors below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tfkit.src.core.state import LayerState
    from tfkit.src.models.graph import Graph
    from tfkit.src.optimizers.base import Optimizer


class HasPath(Protocol):
    """A layer for messages."""

    @property
    def path(self) -> str:
        """The names of the calling layers from the outermost to this one: `encoder/dense_proj`."""


class Tracked(Protocol):
    """An object that holds layers and weights: a layer, a model, or a class that is mixed into them."""

    _tfkit: LayerState

    @property
    def name(self) -> str:
        """The name."""

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights."""

    def _tfkit_members(self) -> list[tuple[str, Any]]: ...


class ModelLike(Tracked, Protocol):
    """A model for the rooms below `models`."""

    optimizer: Optimizer | None
    compiled: bool
    built: bool
    output_names: list[str] | None
    _tfkit_graph: Graph | None

    @property
    def weights(self) -> list[Any]:
        """The weights of all layers."""

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that training changes."""

    def get_compile_config(self) -> Any:
        """Returns the arguments of `compile`, as data."""

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles the model with the result of `get_compile_config`."""
