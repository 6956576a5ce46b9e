"""The interface of models for files and exports, which lie below the models."""

from __future__ import annotations

from typing import Any, Protocol

from tfkit.src.base.protocols import Tracked
from tfkit.src.optimizers.base import Optimizer


class ModelLike(Tracked, Protocol):
    """A model for the rooms below `training`."""

    optimizer: Optimizer | None
    compiled: bool
    built: bool
    output_names: list[str] | None
    _tfkit_graph: Any  # A `training.models.graph.Graph`, or `None`.

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
