"""The calls between symbolic inputs and outputs, in the order in which they run on values."""

from __future__ import annotations

import collections
import copy
import operator
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base import budget, settings
from tfkit.src.base.errors import other_keras
from tfkit.src.base.names import free
from tfkit.src.base.nests import brief
from tfkit.src.core.layer import Layer
from tfkit.src.layers.input_layer import Input, InputLayer
from tfkit.src.symbolic import masking
from tfkit.src.symbolic.operations import FunctionCall, Operation
from tfkit.src.symbolic.tensors import KerasTensor, Node, symbolic_leaves
from tfkit.src.training.models.input_forms import path_of


class NotConnectedError(ValueError):
    """An output depends on an input that is not an input of the model."""


class Graph:
    """The computation of a functional model.

    Args:
        inputs: nest of symbolic tensors.
        outputs: nest of symbolic tensors that are computed from them.

    Raises:
        ValueError: for an output that also needs something other than `inputs`.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.flat_inputs = symbolic_leaves(inputs)
        self.flat_outputs = symbolic_leaves(outputs)
        for kind, given, flat in (
            ("inputs", inputs, self.flat_inputs),
            ("outputs", outputs, self.flat_outputs),
        ):
            if not flat or len(flat) != len(tf.nest.flatten(given)):
                others = next(filter(None, map(other_keras.advice, tf.nest.flatten(given))), "")
                raise ValueError(
                    f"All `{kind}` values must be KerasTensors, from `Input(...)` and calls on it. "
                    f"Received: {kind}={brief(given)}{others}"
                )
        try:
            self.nodes = _in_order(self.flat_inputs, self.flat_outputs)
        except NotConnectedError as error:
            raise ValueError(self._why_not_connected(error)) from None
        # The number of calls, including those inside models: it is a measure of the cost of a run.
        self.num_calls = sum(1 + _calls_inside(node.operation) for node in self.nodes)
        budget.check_calls(self.num_calls)
        floats = [
            tensor.dtype for tensor in self.flat_inputs if tf.as_dtype(tensor.dtype).is_floating
        ]
        # Whether an input requires floats of a different width than the default.
        self._other_floats = any(dtype != settings.floatx() for dtype in floats)
        self.operations = _unique(node.operation for node in self.nodes)
        self.layers = [it for it in self.operations if isinstance(it, Layer)]
        _check_names(self.layers)

    def own_floats(self, compute_dtype: str) -> bool:
        """Whether float inputs keep the dtypes of the `Input`s: 16 bits would round ids to other ids."""
        return self._other_floats or tf.as_dtype(compute_dtype).size == 2

    def with_call(self, outputs: Any) -> Graph | None:
        """Returns `Graph(self.inputs, outputs)` if `outputs` come from one call on outputs of this graph.

        This takes no longer than that call, whatever the size of the graph. `None` for any other outputs.
        """
        flat = symbolic_leaves(outputs)
        node = flat[0].node if flat else None
        known = {id(tensor) for tensor in self.flat_outputs}
        if (
            node is None
            or len(flat) != len(tf.nest.flatten(outputs))
            or any(tensor.node is not node for tensor in flat)
            or any(id(tensor) not in known for tensor in node.input_tensors)
            or len({id(tensor.node) for tensor in self.flat_outputs}) != 1
            or id(node.operation) in {id(operation) for operation in self.operations}
        ):
            return None
        # The new node depends on the last one alone, and follows it: the order of the others stays.
        graph = copy.copy(self)
        graph.outputs, graph.flat_outputs = outputs, flat
        graph.nodes = [*self.nodes, node]
        graph.num_calls = self.num_calls + 1 + _calls_inside(node.operation)
        budget.check_calls(graph.num_calls)
        graph.operations = [*self.operations, node.operation]
        if isinstance(node.operation, Layer):
            graph.layers = [*self.layers, node.operation]
            _check_names(graph.layers)
        return graph

    def _why_not_connected(self, error: NotConnectedError) -> str:
        """Returns the error for outputs that need another input, which names the first such output."""
        for tensor in self.flat_outputs:
            try:
                _in_order(self.flat_inputs, [tensor])
            except NotConnectedError:
                path = path_of(tensor, self.outputs)
                return f"Output with path `{path}` is not connected to `inputs`: {error}"
        return str(error)

    def run(self, inputs: Any) -> Any:
        """Returns the outputs for these inputs, which have the form of `self.inputs`."""
        values = dict(zip(map(id, self.flat_inputs), tf.nest.flatten(inputs), strict=True))
        return tf.nest.map_structure(self._filled(values, {}), self.outputs)

    def outputs_like(self, inputs: list[Any]) -> Any:
        """Returns symbolic outputs for a list of symbolic inputs like the graph's own; `None` for others."""
        pairs = zip(inputs, self.flat_inputs, strict=True)
        if not all(isinstance(given, KerasTensor) and _alike(given, own) for given, own in pairs):
            return None
        outputs = tf.nest.map_structure(_copy, self.outputs)
        # A list of one output is unpacked, as in `Model.call`.
        return outputs[0] if isinstance(outputs, (list, tuple)) and len(outputs) == 1 else outputs

    def replay(
        self,
        copies: dict[int, Any],
        values: dict[int, Any],
        call: Callable[..., Any] = operator.call,
    ) -> tuple[Any, Any]:
        """Returns the symbolic inputs and outputs of the same calls with other layers.

        Args:
            copies: what to call instead, by id of the layer, or of the call of a function.
            values: symbolic tensors to begin with, by id of the input.
            call: makes each call: `call(operation, *args, **kwargs)`.
        """
        filled = self._filled(values, copies, call)
        inputs, outputs = tf.nest.map_structure(filled, (self.inputs, self.outputs))
        return inputs, outputs

    def _filled(
        self,
        values: dict[int, Any],
        copies: dict[int, Any],
        call: Callable[..., Any] = operator.call,
    ) -> Callable[[Any], Any]:
        """Makes the calls that `values` lacks; returns a function from tensors of the graph to values."""

        def fill(leaf: Any) -> Any:
            return values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf

        for node in self.nodes:
            if all(id(output) in values for output in node.output_tensors):
                continue
            operation = copies.get(id(node)) or copies.get(id(node.operation), node.operation)
            if isinstance(node.operation, InputLayer):
                # An input has its tensor, and is not called.
                values[id(node.outputs)] = operation.output
                continue
            args, kwargs = tf.nest.map_structure(fill, (node.args, node.kwargs))
            results = tf.nest.flatten(call(operation, *args, **kwargs))
            if args and isinstance(operation, Layer) and operation._tfkit_overrides("compute_mask"):
                results = masking.of_graph(operation, args[0], results)
            for output, result in zip(tf.nest.flatten(node.outputs), results, strict=True):
                values[id(output)] = result
        return fill


def _alike(one: KerasTensor, other: KerasTensor) -> bool:
    masked = masking.get_mask(one) is not None or masking.get_mask(other) is not None
    kinds = [(it.shape, it.dtype, it.sparse, it.ragged) for it in (one, other)]
    return kinds[0] == kinds[1] and not masked


def _copy(tensor: KerasTensor) -> KerasTensor:
    """Returns a symbolic tensor of the same shape and dtype, with such a mask, that no call computes."""
    copy = KerasTensor(tensor.shape, tensor.dtype, tensor.sparse, tensor.ragged)
    mask = masking.get_mask(tensor)
    masking.set_mask(copy, None if mask is None else _copy(mask))
    return copy


def _calls_inside(operation: Any) -> int:
    graph = getattr(operation, "_tfkit_graph", None)
    return graph.num_calls if isinstance(graph, Graph) else 0


def graph_between(inputs: Any, outputs: Any) -> Graph:
    """Returns the graph from `inputs` to `outputs`.

    An input that a layer has computed is replaced by a new `Input`: that layer is not part of the graph.
    """
    graph = Graph(inputs, outputs)
    values = {id(tensor): _as_input(tensor) for tensor in graph.flat_inputs}
    if all(values[id(tensor)] is tensor for tensor in graph.flat_inputs):
        return graph
    return Graph(*graph.replay({}, values))


def _as_input(tensor: KerasTensor) -> KerasTensor:
    if tensor.node is not None and isinstance(tensor.node.operation, InputLayer):
        return tensor
    return Input(
        batch_shape=tensor.shape, dtype=tensor.dtype, sparse=tensor.sparse, ragged=tensor.ragged
    )


def _check_names(layers: list[Layer]) -> None:
    """Raises an error for a name given to two layers, which `get_layer` and files could not distinguish."""
    given = collections.Counter([layer._name for layer in layers if not layer._tfkit_auto_named])
    name, count = next(iter(given.most_common(1)), ("", 0))
    if count > 1:
        raise ValueError(
            f'The name "{name}" is used {count} times in the model. Give each layer its own name.'
        )


def operation_names(graph: Graph) -> dict[int, str]:
    """Returns a name for each node's operation: its own; a function's, numbered within the model."""
    names: dict[int, str] = {}
    taken = {it.name for it in graph.operations if isinstance(it, Operation)}
    for node in graph.nodes:
        if isinstance(node.operation, Operation):
            names[id(node)] = node.operation.name
        else:
            names[id(node)] = name = free(node.operation.__name__, taken)
            taken.add(name)
    return names


def operations_of(graph: Graph) -> list[Operation]:
    """Returns the operations of a graph, in order; each call of a function is a separate, named one."""
    names = operation_names(graph)
    found: dict[int, Operation] = {}
    for node in graph.nodes:
        operation = node.operation
        if not isinstance(operation, Operation):
            operation = FunctionCall(node, names[id(node)])
        found.setdefault(id(operation), operation)
    return list(found.values())


def _unique(items: Any) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _in_order(inputs: list[KerasTensor], outputs: list[KerasTensor]) -> list[Node]:
    """Returns the nodes between inputs and outputs, the farthest from the outputs first.

    A node's depth is its longest distance to an output. Nodes of equal depth are in the order in which a
    walk back from the outputs reaches their operations, which is the order of Keras's `model.layers`.
    """
    given = {id(tensor) for tensor in inputs}
    met: dict[int, int] = {}
    finished: list[Node] = []
    state: dict[int, str] = {}
    pending: list[tuple[Node, bool]] = []
    # A walk in depth from the outputs, without recursion: a graph may be deeper than Python's
    # stack. A node is met twice, the second time (`done`) after everything that it depends on.
    for output in outputs:
        pending.append((_origin(output, given), False))
        while pending:
            node, done = pending.pop()
            if done:
                state[id(node)] = "done"
                finished.append(node)
                continue
            if id(node) in state:
                continue
            state[id(node)] = "open"
            met.setdefault(id(_identity(node)), len(met))
            pending.append((node, True))
            # Inputs end the walk: what has computed them is not part of the graph.
            if not any(id(tensor) in given for tensor in node.output_tensors):
                parents = [_origin(tensor, given) for tensor in node.input_tensors]
                pending.extend((parent, False) for parent in reversed(parents))
    depth: collections.defaultdict[int, int] = collections.defaultdict(int)
    operation_depth: collections.defaultdict[int, int] = collections.defaultdict(int)
    # Outputs first, so that all users of a node have their depths when the node is visited.
    # Later calls of an operation pass its depth on to the earlier ones, as in Keras.
    for node in reversed(finished):
        identity = id(_identity(node))
        depth[id(node)] = max(depth[id(node)], operation_depth[identity])
        operation_depth[identity] = depth[id(node)]
        if not any(id(tensor) in given for tensor in node.output_tensors):
            for tensor in node.input_tensors:
                parent = id(_origin(tensor, given))
                depth[parent] = max(depth[parent], depth[id(node)] + 1)
    # Inputs that no output depends on come last.
    for tensor in inputs:
        node = _origin(tensor, given)
        if id(node) not in state:
            state[id(node)] = "done"
            met.setdefault(id(_identity(node)), len(met))
            finished.append(node)
            depth[id(node)] = 0
    return sorted(finished, key=lambda node: (-depth[id(node)], met[id(_identity(node))]))


def _identity(node: Node) -> Any:
    """Returns what counts as one operation: an `Operation` for all its calls, a function for each call."""
    return node.operation if isinstance(node.operation, Operation) else node


def _origin(tensor: KerasTensor, given: set[int]) -> Node:
    if tensor.node is None:
        raise ValueError(f"{tensor!r} was not made by `Input()` or by a call on symbolic tensors.")
    if isinstance(tensor.node.operation, InputLayer) and id(tensor) not in given:
        raise NotConnectedError(
            f"`outputs` of the model depend on the input '{tensor.node.operation.name}', which is not "
            "among `inputs`. Add it to `inputs=`."
        )
    return tensor.node
