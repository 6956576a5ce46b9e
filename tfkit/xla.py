"""What XLA can compile, asked of TensorFlow's own table of kernels; and what its compiler leaves behind."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator

import tensorflow as tf
from tensorflow.python.framework import kernels

# Stand-ins for arguments, which no device runs.
_NO_COMPUTATION = frozenset(("Placeholder", "_Arg", "_Retval"))


def operations(graph: tf.Graph) -> Iterator[tuple[str, str]]:
    """Type and name of every operation of a graph and of the functions inside it."""
    definition = graph.as_graph_def()
    for node in definition.node:
        yield node.op, node.name
    for function in definition.library.function:
        for node in function.node_def:
            yield node.op, node.name


def not_compilable(operation: str) -> bool:
    """Whether XLA has no kernel on this machine's device for a type of operation."""
    if operation in _NO_COMPUTATION or operation.startswith("__inference_"):
        return False
    return f"XLA_{device()}_JIT" not in _devices(operation)


@functools.cache
def device() -> str:
    """The type of device that programs run on: `"TPU"`, `"GPU"` or `"CPU"`."""
    for kind in ("TPU", "GPU"):
        if tf.config.list_logical_devices(kind):
            return kind
    return "CPU"


@functools.cache
def _devices(operation: str) -> frozenset[str]:
    """The devices that have a kernel for a type of operation."""
    _register_kernels()
    found = kernels.get_registered_kernels_for_op(operation).kernel
    return frozenset(kernel.device_type for kernel in found)


@functools.cache
def _register_kernels() -> None:
    """TensorFlow registers XLA's kernels when it first compiles something: this, in 40 ms."""
    tf.function(lambda: tf.constant(0), autograph=False, jit_compile=True)()


def give_back_memory() -> None:
    """Gives what XLA's compiler has used and freed back to the system: 50 to 200 MB, in 15 to 40 ms.

    The C library of Linux would keep it for the process. Where there is no such function, nothing is done.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
