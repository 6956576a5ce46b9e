"""Layers that load a part of a file with their own methods: all of them, or none."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfkit.src.base.quoting import quoted
from tfkit.src.core.layer import Layer
from tfkit.src.files.saving.errors import LoadError


@dataclasses.dataclass
class OwnLoading:
    """Calls the methods of layers that load a part of a file; a method may raise any error.

    Args:
        path: the file, for messages.
        skip_mismatch: whether a layer whose method raises an error is skipped. Otherwise loading fails, and
            all layers are as they were before.
    """

    path: Any
    skip_mismatch: bool
    _restorers: list[Callable[[], None]] = dataclasses.field(default_factory=list)

    def load_variables(
        self, layer: Layer, layer_path: str, store: Mapping[str, np.ndarray]
    ) -> str | None:
        """Returns `None`, or the reason why the layer was skipped; it is then unchanged.

        Args:
            layer: the layer.
            layer_path: name of the layer in messages.
            store: what its method `load_own_variables` gets.

        Raises:
            LoadError: if the method raises an error, unless layers are skipped.
        """
        shapes = quoted({key: value.shape for key, value in store.items()})
        load = functools.partial(layer.load_own_variables, store)
        return self._load(layer, load, "load_own_variables", layer_path, f" The file has: {shapes}")

    def load_assets(self, layer: Layer, load: Callable[[], None]) -> None:
        """Loads the files of a layer, whose method `load_assets` is called by `load`."""
        self._load(layer, load, "load_assets", layer.path)

    def _load(
        self,
        layer: Layer,
        load: Callable[[], None],
        method: str,
        layer_path: str,
        content: str = "",
    ) -> str | None:
        restore = layer._tfkit_restorer()
        self._restorers.insert(0, restore)
        try:
            load()
        except Exception as error:
            reason = f"its `{method}()` raised {type(error).__name__}: {error}"
            if self.skip_mismatch:
                restore()
                return reason
            for restore in self._restorers:
                restore()
            raise LoadError(
                f"File {self.path}: layer '{layer_path}' (of type {type(layer).__name__}) cannot load its "
                f"{method.rpartition('_')[2]}; nothing was loaded: {reason}.{content}"
            ) from error
        return None
