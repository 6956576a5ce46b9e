"""Dtypes of TensorFlow in PyTorch, and constants as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import torch

# Unsigned integers of 32 and 64 bits are in wider or signed ones: PyTorch has few operations for them.
_STAND_INS = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}
WORD = 0xFFFFFFFF


def dtype_of(name: str) -> torch.dtype:
    """Returns the dtype that tensors of a dtype of TensorFlow's have."""
    found = getattr(torch, _STAND_INS.get(name, name), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"PyTorch has no tensors of {name}.")
    return found


def tensor_of(array: np.ndarray, device: Any = None) -> torch.Tensor:
    """Returns a copy of an array as a tensor."""
    if array.dtype == object:  # Of sizes, some of which are symbols.
        return torch.stack(
            [torch.full((), item, dtype=torch.int32, device=device) for item in array.flat]
        ).reshape(array.shape)
    name = array.dtype.name
    if name == "bfloat16":
        # PyTorch does not know NumPy's bfloat16: its bits pass as integers.
        return torch.tensor(array.view(np.int16).copy(), device=device).view(torch.bfloat16)
    if name in _STAND_INS:
        array = array.astype(_STAND_INS[name])
    dtype_of(name)
    return torch.tensor(np.ascontiguousarray(array).reshape(array.shape), device=device)


def fresh(array: np.ndarray, device: Any = None) -> torch.Tensor:
    """Returns the same as `tensor_of`; one number by an operation that compilers write into their code."""
    if array.size != 1:
        return tensor_of(array, device)
    dtype = dtype_of(array.dtype.name)
    return torch.full(array.shape, array.item(), dtype=dtype, device=device)


def array_of(tensor: torch.Tensor, dtype: str) -> np.ndarray:
    """Returns a tensor as an array of a dtype of TensorFlow's."""
    tensor = tensor.detach().cpu()
    if dtype == "bfloat16":
        return tensor.contiguous().view(torch.int16).numpy().view(tf.bfloat16.as_numpy_dtype)
    if dtype.startswith("float8"):
        return tensor.contiguous().view(torch.uint8).numpy().view(tf.as_dtype(dtype).as_numpy_dtype)
    return tensor.numpy().astype(dtype, copy=False)


def wrapped(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Returns the integers that a dtype keeps of wider ones."""
    if dtype == "uint32":
        # Arithmetic in wider integers overflows like arithmetic of the dtype: higher bits are
        # cut off.
        return x & WORD
    if dtype == "uint16":
        return x & 0xFFFF
    return x
