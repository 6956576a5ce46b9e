"""What rooms know of the layers and models that they are handed, where these stand on a floor above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tfkit.src.core.state import LayerState
    from tfkit.src.models.graph import Graph
    from tfkit.src.optimizers.base import Optimizer


class HasPath(Protocol):
    """A layer as messages name it."""

    @property
    def path(self) -> str:
        """How the layer is reached from the outermost layer that called it: `encoder/dense_proj`."""


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


class ModelLike(Tracked, Protocol):
    """A model, as the rooms below `models` know it."""

    optimizer: Optimizer | None
    compiled: bool
    built: bool
    output_names: list[str] | None
    _graph: Graph | None

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
