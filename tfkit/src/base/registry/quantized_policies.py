"""Dtype policies of quantized layers: the mode of the quantization, and the policy before it."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry import dtype_policies
from tfkit.src.base.registry.dtype_policies import DTypePolicy
from tfkit.src.base.registry.tables import register_builtins

MODES = ("int8", "int4", "float8")
# The number of steps whose largest values determine the scales of `float8`.
HISTORY_LENGTH = 1024
# Modes of Keras that tfkit does not have.
_CALIBRATED = ("gptq", "awq")


class QuantizedDTypePolicy(DTypePolicy):
    """The dtypes of a layer whose weights are integers: the dtypes of its policy before quantization.

    Args:
        mode: `"int8"` or `"int4"`, of the weights.
        source_name: name of the earlier policy, such as `"float32"`; `None` for the global policy.

    Raises:
        ValueError: for any other mode, and for computations in `float16`, which the sums of integers exceed.

    Example:
        >>> policy = QuantizedDTypePolicy("int8", "mixed_bfloat16")
        >>> policy.name, policy.compute_dtype
        ('int8_from_mixed_bfloat16', 'bfloat16')
    """

    def __init__(self, mode: str, source_name: str | None = None) -> None:
        check_mode(self._mode_of(mode))
        super().__init__(source_name)
        self._mode, self._source_name = mode, self._name
        self._name = f"{mode}_from_{self._source_name}"
        if self._compute_dtype == "float16" and self.quantization_mode != "float8":
            raise ValueError(
                f"Quantization mode='{mode}' doesn't work well with compute_dtype='float16': its largest "
                "number is exceeded. Use 'mixed_bfloat16' or 'float32'."
            )

    @staticmethod
    def _mode_of(mode: str) -> str:
        return mode

    @property
    def quantization_mode(self) -> str:
        """The mode: `"int8"`, `"int4"` or `"float8"`."""
        return self._mode_of(self._mode)

    @property
    def source_name(self) -> str:
        """The name of the policy of the layer before it was quantized."""
        return self._source_name

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"mode": self._mode, "source_name": self._source_name}

    def __repr__(self) -> str:
        return f'<{type(self).__name__} "{self.name}">'

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_config() == self.get_config()

    def __hash__(self) -> int:
        return hash(self.name)


class Int4DTypePolicy(QuantizedDTypePolicy):
    """The dtypes of a layer whose weights are 4-bit integers, and the size of their groups.

    Args:
        mode: `"int4/128"` for groups of 128 rows with a scale each; `"int4/-1"` for one scale for each
            column.
        source_name: name of the earlier policy, such as `"float32"`; `None` for the global policy.

    Raises:
        ValueError: for any other mode.

    Example:
        >>> Int4DTypePolicy("int4/64", "float32").block_size
        64
    """

    def __init__(self, mode: str, source_name: str | None = None) -> None:
        head, _, size = mode.partition("/") if isinstance(mode, str) else ("", "", "")
        if head != "int4" or not size.removeprefix("-").isdigit():
            raise ValueError(
                "Invalid mode for Int4DTypePolicy. Expected 'int4/<block_size>', such as 'int4/128'. "
                f"Received: mode={mode!r}"
            )
        self._block_size = int(size)
        if self._block_size != -1 and self._block_size < 1:
            raise ValueError(
                "Invalid block_size in mode. Expected -1 or a positive integer, as in 'int4/128'. Received: "
                f"mode={mode!r}"
            )
        super().__init__(mode, source_name)

    @staticmethod
    def _mode_of(mode: str) -> str:
        return mode.partition("/")[0]

    @property
    def block_size(self) -> int:
        """The number of rows of a group; -1 for one scale for each column."""
        return self._block_size


class QuantizedFloat8DTypePolicy(QuantizedDTypePolicy):
    """The dtypes of a layer that is trained in 8-bit floats.

    Args:
        mode: `"float8"`.
        source_name: name of the earlier policy, such as `"float32"`; `None` for the global policy.
        amax_history_length: number of steps whose largest values determine the scales. Default: `1024`.

    Raises:
        ValueError: for any other mode.

    Example:
        >>> QuantizedFloat8DTypePolicy("float8", "float32").amax_history_length
        1024
    """

    default_amax_history_length = HISTORY_LENGTH

    def __init__(
        self, mode: str, source_name: str | None = None, amax_history_length: int = HISTORY_LENGTH
    ) -> None:
        if not isinstance(amax_history_length, int) or amax_history_length < 1:
            raise TypeError(
                "`amax_history_length` must be a positive integer. Received: "
                f"amax_history_length={amax_history_length!r}"
            )
        super().__init__(mode, source_name)
        self._amax_history_length = amax_history_length

    @property
    def amax_history_length(self) -> int:
        """The number of steps whose largest values determine the scales."""
        return self._amax_history_length

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "amax_history_length": self._amax_history_length}


def check_mode(mode: Any) -> None:
    """Raises an error for a mode of quantization that tfkit does not have."""
    if mode in _CALIBRATED:
        raise ValueError(
            f"tfkit does not have the quantization mode '{mode}', which chooses the integers of weights with "
            "the help of example texts. Use 'int4', which needs none."
        )
    if mode not in MODES:
        raise ValueError(
            f"Invalid quantization mode. Expected one of {MODES}. Received: mode={mode!r}"
        )


def from_name(name: str) -> QuantizedDTypePolicy:
    """Returns the policy of a name such as `"int8_from_float32"`."""
    mode, _, source_name = name.partition("_from_")
    kind = mode.partition("/")[0]
    check_mode(kind)
    if kind == "float8":
        return QuantizedFloat8DTypePolicy(mode, source_name)
    return (Int4DTypePolicy if "/" in mode else QuantizedDTypePolicy)(mode, source_name)


def quantized(policy: DTypePolicy, mode: str, block_size: int | None) -> QuantizedDTypePolicy:
    """Returns the policy of a layer that has been quantized.

    Args:
        policy: its policy before.
        mode: the mode.
        block_size: the number of rows of a group, for 4 bits; `None` for one scale for each column.
    """
    if mode == "int4":
        return Int4DTypePolicy(f"int4/{block_size or -1}", policy.name)
    return (QuantizedFloat8DTypePolicy if mode == "float8" else QuantizedDTypePolicy)(
        mode, policy.name
    )


dtype_policies.names_of_quantized.append(from_name)
register_builtins(
    "dtype_policies", [QuantizedDTypePolicy, Int4DTypePolicy, QuantizedFloat8DTypePolicy]
)
