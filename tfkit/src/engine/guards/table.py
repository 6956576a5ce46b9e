"""The table of operations that refuse values, with their checks."""

from __future__ import annotations

from typing import Literal

from tfkit.src.engine.guards.check import Check
from tfkit.src.engine.guards.harmless import HARMLESS
from tfkit.src.engine.guards.indices import INDICES
from tfkit.src.engine.guards.matrices import MATRICES
from tfkit.src.engine.guards.slices import SLICES
from tfkit.src.engine.guards.values import VALUES

CHECKS: dict[str, Check] = {**INDICES, **SLICES, **VALUES, **MATRICES}

_QUANTIZED = "scales that are not positive, zero points out of range"
_RANGE = "input_min above input_max, a number of bits out of range"
_STACK = "a value that was not pushed, a stack that is full"
_ARRAY = "an index outside of the array, an element written twice or never"

# Operations that refuse values but are not checked: they are rare, or only in TensorFlow 1. A step with one
# of them is not given to XLA under `"auto"`.
UNGUARDED: dict[str, str] = {
    **dict.fromkeys(("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"), _RANGE),
    "QuantizeAndDequantizeV4": _RANGE,
    **dict.fromkeys(("StackPopV2", "StackPushV2"), _STACK),
    "StackV2": _STACK,
    "SymbolicGradient": "what the operations of its function refuse",
    **{
        f"TensorArray{name}V3": _ARRAY
        for name in ("Concat", "Gather", "Grad", "Read", "Scatter", "Split", "Write")
    },
    **{
        f"Uniform{name}": _QUANTIZED
        for name in ("Dequantize", "Quantize", "QuantizedAdd", "QuantizedClipByValue")
        + ("QuantizedConvolution", "QuantizedDot", "Requantize")
    },
}


def kind_of(op: str) -> Literal["guarded", "harmless", "unguarded"]:
    """Returns the kind of an operation that XLA compiles; an unknown one counts as unguarded."""
    if op in CHECKS:
        return "guarded"
    return "harmless" if op in HARMLESS else "unguarded"


def is_listed(op: str) -> bool:
    """Whether an operation is in the table, which means that XLA compiles it for the CPU."""
    return op in CHECKS or op in HARMLESS or op in UNGUARDED


def refusal_of(op: str) -> str:
    """Returns a description of what the kernel of a type of operation refuses."""
    return CHECKS[op].says if op in CHECKS else UNGUARDED.get(op, "anything that it may refuse")
