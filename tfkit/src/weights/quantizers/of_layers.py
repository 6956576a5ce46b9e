"""Quantization as every layer answers to it; those that can be quantized override it."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.quantized_policies import check_mode
from tfkit.src.weights.quantizers.configs import (
    Float8QuantizationConfig,
    Int4QuantizationConfig,
    Int8QuantizationConfig,
    QuantizationConfig,
)

_CONFIGS = {
    "int8": Int8QuantizationConfig,
    "int4": Int4QuantizationConfig,
    "float8": Float8QuantizationConfig,
}


class Quantization:
    """The mode of a layer's quantization, and a `quantize` that refuses; mixed into `Layer`."""

    dtype_policy: Any

    @property
    def quantization_mode(self) -> str | None:
        """The mode of the layer's quantization, such as `"int8"`; `None` where nothing is quantized."""
        return self.dtype_policy.quantization_mode

    def quantize(self, mode: str | None = None, type_check: bool = True, config: Any = None) -> Any:
        """Replaces weights by integers, in layers that can do that."""
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `quantize` method implemented."
        )


def resolved(mode: Any, config: Any) -> QuantizationConfig:
    """Returns the configuration of a quantization, of which mode or configuration are given.

    Raises:
        ValueError: if both are missing or contradict each other, and for any other mode.
    """
    if mode is None and config is None:
        raise ValueError("You must provide either `mode` or `config` to `quantize`. Received: None")
    if config is None:
        check_mode(mode)
        return _CONFIGS[mode]()
    if not isinstance(config, QuantizationConfig):
        raise ValueError(
            "`config` must be a `tfkit.quantizers.QuantizationConfig`. Received: "
            f"{config!r} (of type {type(config).__name__})"
        )
    check_mode(config.mode)
    if mode is not None and mode != config.mode:
        raise ValueError(
            f"Contradictory arguments: mode={mode!r} but config.mode={config.mode!r}. Pass one of them."
        )
    return config
