"""Queries TensorFlow's table of kernels that XLA can compile, and releases the compiler's memory."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.base.names import words
from tfkit.src.borrowed.private import attr_value_pb2, attribute_scope, kernels
from tfkit.src.engine.machine import device

LOOPS = ("While", "StatelessWhile")
OWN_LOOP = "_tfkit_own_loop"
# A part of the names of functions that XLA compiles in programs which it does not compile as a whole.
# Programs of few steps run them without XLA.
PART = "part_for_xla"
# TensorFlow names the body of a loop's gradient after the body of the loop, whose name ends in a number,
# whatever the layer is called: `lstm_while_body_12_grad_34`.
_GRADIENT_BODY = re.compile(r"body_\d+(_rewritten)?(_grad_\d+)+(_rewritten)?$")

# Types of operations that store no result: it is known, stored already, or small.
NOT_STORING = words("""
    Const Placeholder ReadVariableOp Shape NoOp Identity StridedSlice Reshape AssignVariableOp
    ExpandDims Pack
""")

# Placeholders for arguments, which no device runs.
_NO_COMPUTATION = frozenset(("Placeholder", "_Arg", "_Retval"))


@contextlib.contextmanager
def own_loop() -> Iterator[None]:
    """Context manager that marks a `tf.while_loop` of tfkit as faster in XLA, even inside another loop.

    The mark is an attribute of the operation: a user's layer could have any name. It remains when the
    function with the loop is called by other functions. TensorFlow's gradient of the loop does not get it.
    """
    if tf.executing_eagerly():
        yield
        return
    # Operations next to the loop get the attribute too, without harm.
    graph = tf.compat.v1.get_default_graph()
    with attribute_scope(graph, OWN_LOOP, attr_value_pb2.AttrValue(b=True)):
        yield


def has_part(definition: Any) -> bool:
    """Whether a `GraphDef` has a function that is named as a part."""
    return any(PART in function.signature.name for function in definition.library.function)


def operations(
    definition: Any, is_left_out: Callable[[str], bool] = lambda name: False
) -> Iterator[tuple[str, str]]:
    """Yields type and name of the operations of a `GraphDef` and of the functions inside it.

    Loops of `own_loop` are left out, but not their contents; so are operations that call a function by its
    name, and the functions for whose names `is_left_out` is true.
    """
    functions = {each.signature.name for each in definition.library.function}
    for node in _nodes(definition, is_left_out):
        if node.op not in functions and (node.op not in LOOPS or OWN_LOOP not in node.attr):
            yield node.op, node.name


def gradient_loop(definition: Any) -> tuple[str, str] | None:
    """Returns type and name of the first loop that TensorFlow made as a loop's gradient, or `None`."""
    for node in _nodes(definition):
        if node.op in LOOPS and _GRADIENT_BODY.search(node.attr["body"].func.name):
            return node.op, node.name
    return None


def _nodes(
    definition: Any, is_left_out: Callable[[str], bool] = lambda name: False
) -> Iterator[Any]:
    yield from definition.node
    for each in definition.library.function:
        if not is_left_out(each.signature.name):
            yield from each.node_def


def not_compilable(operation: str) -> bool:
    """Whether XLA has no kernel on this machine's device for a type of operation."""
    # TensorFlow names functions, which may be called by their names, `__inference_...`.
    if operation in _NO_COMPUTATION or operation.startswith("__inference_"):
        return False
    return f"XLA_{device()}_JIT" not in _devices(operation)


@functools.cache
def _devices(operation: str) -> frozenset[str]:
    """Returns the devices that have a kernel for a type of operation."""
    _register_kernels()
    found = kernels.get_registered_kernels_for_op(operation).kernel
    return frozenset(kernel.device_type for kernel in found)


@functools.cache
def _register_kernels() -> None:
    """Compiles a function, as TensorFlow registers XLA's kernels in its first compilation: in 40 ms."""
    tf.function(lambda: tf.constant(0), autograph=False, jit_compile=True)()


def give_back_memory() -> None:
    """Gives memory that XLA's compiler has freed back to the system: 50 to 200 MB, in 15 to 40 ms.

    The C library of Linux would keep it for the process. On systems without `malloc_trim`, nothing is done.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
