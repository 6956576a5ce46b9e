"""Layers that load a part of a file with their own methods: all of them, or none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

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

    def load(
        self,
        layer: Layer,
        load: Callable[[], None],
        *,
        method: str,
        layer_path: str,
        part: str,
        content: str = "",
    ) -> str | None:
        """Returns `None`, or the reason why the layer was skipped; it is then unchanged.

        Args:
            layer: the layer.
            load: calls its method.
            method: name of the method.
            layer_path: name of the layer in messages.
            part: the part of the layer that is loaded, such as "variables".
            content: a sentence for the error, which describes the content of the file.

        Raises:
            LoadError: if the method raises an error, unless layers are skipped.
        """
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
                f"{part}; nothing was loaded: {reason}.{content}"
            ) from error
        return None
