"""Quantization of a whole model."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from typing import Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.configuration import is_ours, owner_of
from tfkit.src.core import tracking
from tfkit.src.layers.quantized.base import Quantizable
from tfkit.src.weights.quantizers.configs import resolved


class QuantizesLayers:
    """The method `quantize` of a model, mixed into `Model`."""

    built: bool
    optimizer: Any
    _tfkit: Any

    @shortened
    def quantize(
        self,
        mode: str | None = None,
        config: Any = None,
        filters: str | Iterable[str] | Callable[[Any], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        """Quantizes the layers of the model that can be quantized, all or none.

        The settings of `compile` are kept, and calls and training use the new weights. The optimizer begins
        again, because its weights have changed.

        Args:
            mode: `"int8"`, `"int4"` or `"float8"`; `None` for the mode of `config`.
            config: a `tfkit.quantizers.QuantizationConfig`; `None` for the mode's own.
            filters: which layers are quantized: a regular expression, or several, that is found in the name
                of a layer, or a function of a layer; `None` for all.
            **kwargs: `type_check`, whether to leave out classes that extend tfkit's (`True`).

        Raises:
            ValueError: for any other mode, before the model is built, and if a layer is quantized already.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="scores")])
            >>> model.quantize("int8", filters="scores")
            >>> model.layers[0].kernel.dtype.name
            'int8'
        """
        type_check = kwargs.pop("type_check", True)
        if kwargs:
            raise ValueError(
                f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}. Expected "
                "`type_check` at most."
            )
        config = resolved(mode, config)
        chosen = _filter(filters)
        if not self.built:
            raise ValueError(
                f"Cannot quantize a layer that isn't yet built: {self._tfkit.title}. Build the model, or "
                "call it on some data, first."
            )
        # All layers are checked before the first one is changed.
        layers: list[Any] = []
        for layer in tracking.all_layers(self._tfkit.layer):
            if not chosen(layer):
                continue
            if not is_ours(owner_of(type(layer), "quantize")):
                if len(tracking.all_layers(layer)) == 1:  # The method of a user's class.
                    layers.append(layer)
            elif isinstance(layer, Quantizable):
                try:
                    layer._tfkit_checked_quantization(None, type_check, config)
                except NotImplementedError:
                    continue
                layers.append(layer)
        for layer in layers:
            # The methods of users were not asked before.
            with contextlib.suppress(NotImplementedError):
                layer.quantize(config.mode, type_check=type_check, config=config)
        optimizer = getattr(self, "optimizer", None)
        if layers and optimizer is not None and optimizer.built:
            self.optimizer = type(optimizer).from_config(optimizer.get_config())


def _filter(filters: Any) -> Callable[[Any], bool]:
    """Returns whether a layer is chosen, as a function.

    Raises:
        ValueError: for anything but regular expressions and functions.
    """
    if filters is None:
        return lambda layer: True
    if callable(filters):
        return filters
    patterns = [filters] if isinstance(filters, str) else filters
    if not isinstance(patterns, (list, tuple)) or not all(isinstance(it, str) for it in patterns):
        raise ValueError(
            "The `filters` argument must be a regular expression, a list of them, or a function of a layer. "
            f"Received: {filters!r} (of type {type(filters).__name__})"
        )
    return lambda layer: any(re.search(pattern, layer.name) for pattern in patterns)
