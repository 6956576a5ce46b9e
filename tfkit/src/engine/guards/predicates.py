"""Makes TensorFlow functions of the rows of the table, which equal operations share."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.borrowed.private import add_function, attr_value_pb2
from tfkit.src.engine.function_defs import copy_of, registered
from tfkit.src.engine.guards.check import Operation
from tfkit.src.engine.guards.known_values import SHAPES
from tfkit.src.engine.guards.table import CHECKS

# Elements of a constant that becomes a part of the predicate; larger ones are passed as arguments.
_MAX_CONSTANT = 64


class Predicate:
    """A function of some values of an operation: whether TensorFlow's kernel certainly accepts them.

    Args:
        function: a `ConcreteFunction` of all inputs and outputs of the operation that gives a scalar bool.

    Attributes:
        places: the indices of the inputs and outputs, numbered together, that are arguments. The others are
            not needed: for a tensor whose size is known, often not even its values.
        places_by_value: the indices of the tensors of which more than the shape is needed.
        function: the function of the arguments.
    """

    def __init__(self, function: Any, variable: Sequence[int]) -> None:
        # Unused arguments are removed: an output of the operation as an argument would keep `ahead` from
        # computing the predicate before the step.
        used = [bool(tensor.consumers()) for tensor in function.inputs]
        self.places = [place for place, is_used in zip(variable, used, strict=True) if is_used]
        # An argument counts as known when XLA compiles if only its shape is read.
        self.places_by_value = [
            place
            for place, tensor in zip(variable, function.inputs, strict=True)
            if not all(operation.type in SHAPES for operation in tensor.consumers())
        ]
        definition = copy_of(function.function_def)
        arguments = list(definition.signature.input_arg)
        del definition.signature.input_arg[:]
        definition.signature.input_arg.extend(
            argument for argument, is_used in zip(arguments, used, strict=True) if is_used
        )
        definition.arg_attr.clear()
        definition.signature.name += "_of_used"
        self._called = function  # TensorFlow must keep the functions that it calls.
        self.function = registered(definition)

    def __call__(self, tensors: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns the result for the inputs and outputs of an operation."""
        if not tf.executing_eagerly():
            add_function(tf.compat.v1.get_default_graph(), self.function)
        arguments = [tensors[place] for place in self.places]
        (accepted,) = tf.raw_ops.PartitionedCall(
            args=arguments, Tout=[tf.bool], f=self.function.name
        )
        return accepted


def predicate_of(
    node: Any,
    inputs: Sequence[tf.TensorSpec],
    outputs: Sequence[tf.TensorSpec],
    constants: Mapping[int, np.ndarray] | None = None,
) -> Predicate | None:
    """Returns the predicate of an operation, for a program that XLA compiles; `None` if it is always true.

    Args:
        node: a `NodeDef`, whose operation is in `CHECKS`.
        inputs: its known inputs, with the tensors of a list one by one.
        outputs: its known outputs, in the same form.
        constants: inputs whose values are known, by index.
    """
    # A key that can be compared: the bytes of attributes and constants. Attributes with an underscore are
    # notes for TensorFlow's passes, and differ between equal operations.
    attr = tuple(
        (name, value.SerializeToString(deterministic=True))
        for name, value in sorted(node.attr.items())
        if not name.startswith("_")
    )
    known = tuple(
        (place, value.dtype.str, value.shape, value.tobytes())
        for place, value in sorted((constants or {}).items())
        # Only sizes, indices and flags: values of floats differ from one step to the next.
        if value.size <= _MAX_CONSTANT and value.dtype.kind in "biu"
    )
    return _made(node.op, attr, tuple(inputs), tuple(outputs), known)


@functools.cache
def _made(
    op: str,
    attr: tuple[tuple[str, bytes], ...],
    inputs: tuple[tf.TensorSpec, ...],
    outputs: tuple[tf.TensorSpec, ...],
    known: tuple[tuple[int, str, tuple[int, ...], bytes], ...],
) -> Predicate | None:
    values = {name: attr_value_pb2.AttrValue.FromString(value) for name, value in attr}
    constants = {
        place: np.frombuffer(of, dtype).reshape(shape) for place, dtype, shape, of in known
    }
    specs = [*inputs, *outputs]
    variable = [index for index in range(len(specs)) if index not in constants]

    def accepts(*tensors: tf.Tensor) -> tf.Tensor:
        given = dict(zip(variable, tensors, strict=True))
        for place, value in constants.items():
            given[place] = tf.constant(value, specs[place].dtype)
        both = [given[place] for place in range(len(specs))]
        operation = Operation(both[: len(inputs)], both[len(inputs) :], values)
        return tf.reshape(CHECKS[op].accepts(operation), [])

    with tf.init_scope():  # Separate from the trace that needs it first.
        function = tf.function(accepts, autograph=False)
        predicate = Predicate(
            function.get_concrete_function(*(specs[place] for place in variable)), variable
        )
        # Without arguments its value is known now. If it is false, it stays: the step is then always
        # refused to XLA.
        return None if not predicate.places and bool(predicate([])) else predicate
