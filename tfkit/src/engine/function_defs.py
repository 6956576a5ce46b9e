"""`FunctionDef`s: tracing and registration, and the functions that their nodes name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import AtomicFunction, context, function_pb2


def traced_apart(function: Callable[..., Any], *specs: tf.TensorSpec) -> Any:
    """Returns a function of tensors as a `ConcreteFunction`, outside the trace that needs it first."""
    with tf.init_scope():
        return tf.function(function, autograph=False).get_concrete_function(*specs)


def results_of(function: Any) -> list[tf.Tensor]:
    """Returns the results of a `ConcreteFunction`, inside it.

    Its `outputs` get more as soon as a tape has followed a call: values that the gradient needs.
    """
    return list(function.outputs[: len(function.function_def.signature.output_arg)])


def source_of(reference: str) -> str:
    """Returns the name of the node or argument that an input of a node comes from."""
    return reference.removeprefix("^").partition(":")[0]


def copy_of(definition: Any) -> Any:
    """Returns a copy of a `FunctionDef`, to be changed."""
    copy = function_pb2.FunctionDef()
    copy.CopyFrom(definition)
    return copy


def add_constant(definition: Any, name: str, value: Any) -> str:
    """Adds a constant to a `FunctionDef`, and returns a reference to it."""
    # Built by hand, because there is no graph here in which TensorFlow's functions could be called.
    tensor = tf.make_tensor_proto(value)
    node = definition.node_def.add(name=name, op="Const")
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
    return f"{name}:output:0"


def functions_in(value: Any) -> Sequence[Any]:
    """Returns the functions named by an attribute of a node, to be read or renamed: one, several or none."""
    # Reading `value.func` of an attribute without one would return an empty message, which looks like a
    # function.
    return [value.func] if value.HasField("func") else value.list.func


def make_known(definition: Any) -> None:
    """Registers a function in TensorFlow by its name, unless there is one of this name."""
    # Programs are registered by their content: the name that exists is the same function.
    running = context.context()
    if not running.has_function(definition.signature.name):
        running.add_function_def(definition)


def registered(definition: Any) -> AtomicFunction:
    """Returns a function that can be called in graphs as long as a reference to it exists."""
    # `AtomicFunction` removes the definition from TensorFlow when it is freed, which `add_function_def` by
    # itself would leave there for the rest of the process.
    context.context().add_function_def(definition)
    return AtomicFunction(definition.signature.name, context.context(), None)
