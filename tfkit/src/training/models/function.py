"""`Function`: the operations between symbolic inputs and outputs, as one operation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.layers.input_layer import Input
from tfkit.src.symbolic import specs, tensors
from tfkit.src.symbolic.operations import Operation
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.graph import Graph, graph_between, operations_of
from tfkit.src.training.models.input_forms import is_alike
from tfkit.src.training.models.model import Functional


class Function(Operation):
    """Computes symbolic outputs from symbolic inputs again, on values or on other symbolic tensors.

    A functional model is a function with training and files, in the sense of `isinstance(model, Function)`.

    Args:
        inputs: symbolic tensor, or a nest of them. They may be results of calls, which are not part of the
            function then.
        outputs: symbolic tensor that is computed from `inputs`, or a nest of them.
        name: name of the function; `None` for a default name.

    Raises:
        ValueError: for no inputs or outputs, and for outputs that need anything other than `inputs`.

    Example:
        >>> x, y = tfkit.KerasTensor((None, 2)), tfkit.KerasTensor((None, 2))
        >>> function = Function([x, y], {"sum": x + y, "scaled": 3 * x})
        >>> result = function([tf.ones((1, 2)), tf.ones((1, 2))])
        >>> result["sum"].numpy(), result["scaled"].numpy()
        (array([[2., 2.]], dtype=float32), array([[3., 3.]], dtype=float32))
        >>> [operation.name for operation in function.operations]
        ['multiply', 'add']
    """

    @shortened
    def __init__(self, inputs: Any, outputs: Any, name: str | None = None) -> None:
        super().__init__(name)
        for kind, given in (("inputs", inputs), ("outputs", outputs)):
            if not tf.nest.flatten(given):
                raise ValueError(f"`{kind}` argument cannot be empty. Received: {given!r}")
        self._inputs, self._outputs = tf.nest.flatten(inputs), tf.nest.flatten(outputs)
        for tensor in self._inputs:
            if isinstance(tensor, KerasTensor) and tensor.node is None:
                Input(tensor=tensor)  # Sets its origin.
        self._tfkit_graph: Graph = graph_between(inputs, outputs)

    @property
    def inputs(self) -> list[KerasTensor]:
        """The symbolic inputs, as a list."""
        return self._inputs

    @property
    def outputs(self) -> list[KerasTensor]:
        """The symbolic outputs, as a list."""
        return self._outputs

    @property
    def operations(self) -> list[Operation]:
        """The layers and functions between inputs and outputs, in order."""
        # What has computed the inputs is outside of the function.
        entries = {
            id(tensor.node.operation) for tensor in self._tfkit_graph.flat_inputs if tensor.node
        }
        return [it for it in operations_of(self._tfkit_graph) if id(it) not in entries]

    def call(self, inputs: Any) -> Any:
        """Computes the outputs.

        Args:
            inputs: values in the form of the function's inputs.

        Raises:
            ValueError: for a different form, and for shapes that do not fit.
        """
        return self._tfkit_graph.run(self._checked(inputs))

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns symbolic outputs for symbolic inputs."""
        self._checked(inputs)
        return tensors.trace(self._tfkit_graph.run, (inputs,), {})

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shapes of the outputs for the given shape or nest of shapes."""
        dtype = self._inputs[0].dtype
        inputs = specs.symbolic_from_shapes(input_shape, dtype)
        given = zip(tf.nest.flatten(inputs), self._inputs, strict=True)
        alike = [KerasTensor(it.shape, own.dtype, own.sparse, own.ragged) for it, own in given]
        return specs.shapes_of(self.compute_output_spec(tf.nest.pack_sequence_as(inputs, alike)))

    def _checked(self, inputs: Any) -> Any:
        """Returns inputs that have the form and shapes of the function's own, with arrays as tensors."""
        expected = self._tfkit_graph.inputs
        if not is_alike(inputs, expected):
            raise ValueError(
                f"Function '{self.name}' was called with an invalid input structure. Expected: "
                f"{expected}. Received: {inputs!r}"
            )
        values = []
        for value, own in zip(tf.nest.flatten(inputs), self._tfkit_graph.flat_inputs, strict=True):
            if not isinstance(value, KerasTensor) and not tf.is_tensor(value):
                value = tf.convert_to_tensor(value, own.dtype)
            if not tf.TensorShape(value.shape).is_compatible_with(own.shape):
                raise ValueError(
                    f"Function '{self.name}' was called with incompatible inputs. Expected: a tensor of "
                    f"shape {own.shape} for '{own.name}'. Received: shape {tuple(value.shape)}"
                )
            values.append(value)
        return tf.nest.pack_sequence_as(inputs, values)


Function.register(Functional)
