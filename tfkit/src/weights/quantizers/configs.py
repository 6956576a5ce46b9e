"""Configurations of the quantization of layers: the mode, and the quantizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.src.base.registry.constructors import Configured
from tfkit.src.base.registry.quantized_policies import check_mode
from tfkit.src.weights.quantizers import lookup
from tfkit.src.weights.quantizers.base import AbsMaxQuantizer


class QuantizationConfig(Configured):
    """The base of configurations of a quantization; a subclass defines `mode`.

    Args:
        weight_quantizer: function from weights to integers and a scale, such as a `Quantizer`; `None` for the
            mode's own.
        activation_quantizer: function from inputs to integers and a scale; `None` for inputs that stay
            floats.

    Example:
        >>> tfkit.quantizers.Int8QuantizationConfig().mode
        'int8'
    """

    def __init__(self, weight_quantizer: Any = None, activation_quantizer: Any = None) -> None:
        self.weight_quantizer = lookup.get(weight_quantizer)
        self.activation_quantizer = lookup.get(activation_quantizer)

    @property
    def mode(self) -> str:
        """The mode of the quantization, such as `"int8"`."""
        raise NotImplementedError(f"{type(self).__name__} must define the property `mode`.")

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data."""
        return {
            "weight_quantizer": lookup.serialize(self.weight_quantizer),
            "activation_quantizer": lookup.serialize(self.activation_quantizer),
        }

    @staticmethod
    def weight_quantizer_or_default(config: Any, default: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a configuration's quantizer of weights, or the default if there is no configuration."""
        found = None if config is None else config.weight_quantizer
        return default if found is None else found

    @staticmethod
    def activation_quantizer_or_default(config: Any, default: Any) -> Any:
        """Returns a configuration's quantizer of inputs; the default if there is no configuration."""
        return default if config is None else config.activation_quantizer


def _check_dtypes(config: QuantizationConfig) -> None:
    for argument in ("weight_quantizer", "activation_quantizer"):
        dtype = getattr(getattr(config, argument), "output_dtype", "int8")
        if dtype != "int8":
            raise ValueError(
                f"{type(config).__name__} requires a `{argument}` with output_dtype='int8'. Received: "
                f"output_dtype={dtype!r}"
            )


class Int8QuantizationConfig(QuantizationConfig):
    """Weights and inputs as 8-bit integers.

    Args:
        weight_quantizer: function from weights to integers and a scale; `None` for an `AbsMaxQuantizer`.
        activation_quantizer: function from inputs to integers and a scale; `"default"` for an
            `AbsMaxQuantizer` of their last axis, `None` for inputs that stay floats. Default: `"default"`.

    Raises:
        ValueError: for a quantizer whose integers are not `int8`.

    Example:
        >>> Int8QuantizationConfig(activation_quantizer=None).get_config()[
        ...     "weight_quantizer"
        ... ] is None
        True
    """

    def __init__(self, weight_quantizer: Any = None, activation_quantizer: Any = "default") -> None:
        # `None` is a choice as well: inputs that stay floats.
        if isinstance(activation_quantizer, str) and activation_quantizer == "default":
            activation_quantizer = AbsMaxQuantizer()
        super().__init__(weight_quantizer, activation_quantizer)
        _check_dtypes(self)

    @property
    def mode(self) -> str:
        """`"int8"`."""
        return "int8"


class Int4QuantizationConfig(QuantizationConfig):
    """Weights as 4-bit integers, in groups of rows with a scale each.

    Args:
        weight_quantizer: function from weights to integers from -8 to 7 and a scale, for `block_size=-1`;
            `None` for an `AbsMaxQuantizer`.
        activation_quantizer: function from inputs to 8-bit integers and a scale, for `block_size=-1`.
            `"default"` and `None` leave the inputs floats. Default: `"default"`.
        block_size: number of rows of a group; -1 or `None` for one scale for each column. Default: `128`.

    Raises:
        ValueError: for a group size that is neither positive nor -1, for quantizers together with groups,
            which have their own, and for a quantizer of weights with a different range.

    Example:
        >>> Int4QuantizationConfig(block_size=64).get_config()["block_size"]
        64
    """

    def __init__(
        self,
        weight_quantizer: Any = None,
        activation_quantizer: Any = "default",
        block_size: int | None = 128,
    ) -> None:
        if isinstance(activation_quantizer, str) and activation_quantizer == "default":
            activation_quantizer = None
        super().__init__(weight_quantizer, activation_quantizer)
        if block_size is not None and block_size != -1 and block_size < 1:
            raise ValueError(
                f"`block_size` must be None, -1 or a positive integer. Received: block_size={block_size}"
            )
        self.block_size = block_size
        given = (self.weight_quantizer, self.activation_quantizer)
        if self.has_groups and given != (None, None):
            raise ValueError(
                "Groups of rows have their own quantizers. Pass `block_size=-1` for one scale for each "
                f"column, or no quantizers. Received: block_size={block_size}, "
                f"weight_quantizer={given[0]!r}, activation_quantizer={given[1]!r}"
            )
        _check_dtypes(self)
        value_range = getattr(self.weight_quantizer, "value_range", (-8, 7))
        if tuple(value_range) != (-8, 7):
            raise ValueError(
                "Int4QuantizationConfig requires a `weight_quantizer` with value_range=(-8, 7). Received: "
                f"value_range={value_range}"
            )

    @property
    def has_groups(self) -> bool:
        """Whether groups of rows have their own scales."""
        return self.block_size not in (None, -1)

    @property
    def mode(self) -> str:
        """`"int4"`."""
        return "int4"

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data."""
        return {**super().get_config(), "block_size": self.block_size}


class Float8QuantizationConfig(QuantizationConfig):
    """Training in 8-bit floats, which has no quantizers to choose.

    Example:
        >>> Float8QuantizationConfig().mode
        'float8'
    """

    def __init__(self) -> None:
        super().__init__()

    @property
    def mode(self) -> str:
        """`"float8"`."""
        return "float8"

    def get_config(self) -> dict[str, Any]:
        """Returns an empty dict, because there are no arguments."""
        return {}


_CONFIGS = {
    "int8": Int8QuantizationConfig,
    "int4": Int4QuantizationConfig,
    "float8": Float8QuantizationConfig,
}


def resolved(mode: Any, config: Any) -> QuantizationConfig:
    """Returns the configuration of a quantization, given its mode or a configuration.

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
