"""Checks the inputs of a signature before they are passed to TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import numpy_dtype
from .signatures import TensorSpec


def checked(name: str, value: Any, spec: TensorSpec) -> np.ndarray:
    """Returns the value as an array in C order, after a check of its dtype and shape.

    Raises:
        ValueError: for a dtype or shape other than those of `spec`.
    """
    array = np.asarray(value, order="C")
    if array.dtype.kind in "SUO" and spec.dtype == "string":
        array = _as_bytes(name, array)
    expected = numpy_dtype(spec.dtype)
    if array.dtype != expected:
        raise ValueError(
            f"Input {name!r} expects dtype {spec.dtype}: convert the array with "
            f"`.astype({spec.dtype!r})` if that is what you mean. Received: {array.dtype}"
        )
    fits = spec.shape is None or (
        array.ndim == len(spec.shape)
        and all(want in (None, got) for want, got in zip(spec.shape, array.shape, strict=True))
    )
    if not fits:
        raise ValueError(f"Input {name!r} expects shape {spec.shape}. Received: {array.shape}")
    return array


def _as_bytes(name: str, array: np.ndarray) -> np.ndarray:
    """Returns the array with each `str` encoded in UTF-8."""
    result = np.empty(array.shape, object)
    for index, text in enumerate(array.flat):
        if not isinstance(text, str | bytes):
            raise ValueError(
                f"Input {name!r} expects dtype string: an array of `bytes` or `str`. "
                f"Received an element of type {type(text).__name__}"
            )
        result.flat[index] = text.encode() if isinstance(text, str) else bytes(text)
    return result
