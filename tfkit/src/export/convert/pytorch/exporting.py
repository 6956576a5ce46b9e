"""Modules as programs of `torch.export`, which run without tfkit."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import torch

from tfkit.src.export.convert.pytorch.dtypes import array_of, dtype_of, tensor_of

# Examples have sizes that constants of layers seldom have: PyTorch treats equal sizes as the same one.
_ROWS, _LENGTH = 3, 11


def exported(module: torch.nn.Module, specs: list[Any]) -> bytes:
    """Returns the `ExportedProgram` of a module, as `torch.export.save` writes it.

    The first axes of all inputs are one size, of the batch; other free sizes are independent. Sizes that the
    operations need to know are fixed: first those other than the batch, then all.

    Args:
        module: the module.
        specs: a nest of `tf.TensorSpec`s for each of its inputs.
    """
    arguments = tuple(tf.nest.map_structure(_example, specs))
    batch = torch.export.Dim("batch", min=1)
    for free in (lambda axis: True, lambda axis: axis == 0):
        shapes = tuple(
            tf.nest.map_structure(lambda spec, free=free: _free(spec, batch, free), specs)
        )
        try:
            return _stored(torch.export.export(module, arguments, dynamic_shapes=(shapes,)))
        except (torch._dynamo.exc.UserError, ValueError, RuntimeError, TypeError):
            continue
    return _stored(torch.export.export(module, arguments))


def loaded(content: bytes, specs: list[Any]) -> tuple[Callable[..., list[np.ndarray]], bool]:
    """Returns a stored program as a function of a list of arrays, and whether it accepts any batch."""
    program = torch.export.load(io.BytesIO(content))
    module = program.module()

    def run(arrays: list[np.ndarray]) -> list[np.ndarray]:
        tensors = tf.nest.pack_sequence_as(specs, [tensor_of(array) for array in arrays])
        with torch.no_grad():
            results = [it for it in tf.nest.flatten(module(*tensors)) if it is not None]
        return [
            array_of(it, "bfloat16") if it.dtype == torch.bfloat16 else it.numpy() for it in results
        ]

    return run, bool(program.range_constraints)


def _stored(program: Any) -> bytes:
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def _example(spec: tf.TensorSpec) -> torch.Tensor:
    sizes = [
        size if size is not None else _LENGTH if axis else _ROWS
        for axis, size in enumerate(spec.shape)
    ]
    return torch.zeros(sizes, dtype=dtype_of(spec.dtype.name))


def _free(spec: tf.TensorSpec, batch: Any, free: Any) -> Any:
    return {
        axis: batch if axis == 0 else torch.export.Dim.DYNAMIC
        for axis, size in enumerate(spec.shape)
        if size is None and free(axis)
    }
