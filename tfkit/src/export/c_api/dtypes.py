"""Data types: the numbers of TF_DataType, their names, and NumPy's dtypes for them."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:  # bfloat16 is then refused with an error, and everything else works
    ml_dtypes = None  # type: ignore[assignment,unused-ignore]

NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
NUMBERS = {name: number for number, name in NAMES.items()}
STRING = NUMBERS["string"]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns NumPy's dtype of a name; strings are objects.

    Raises:
        ValueError: if NumPy has none.
    """
    if name not in NUMBERS:
        raise ValueError(f"Data type {name} is not supported. Supported: {sorted(NUMBERS)}.")
    if name == "string":
        return np.dtype(object)
    if name == "bfloat16":
        if ml_dtypes is None:
            raise ValueError("A bfloat16 tensor needs the package ml_dtypes: install it.")
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)
