"""Replaces the variables of an endpoint by constants, and folds constants."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import (
    ConfigProto,
    MetaGraphDef,
    convert_variables_to_constants_v2,
    tf_optimizer,
)
from tfkit.src.engine.function_defs import functions_in

# Constant folding also multiplies the scale of a batch normalization into the kernel before it.
_OPTIMIZERS = ("pruning", "constfold", "arithmetic", "constfold", "dependency", "pruning")


def frozen(name: str, trace: Any) -> Callable[..., Any]:
    """Returns a function with the arguments and results of a trace, and no variables.

    Tables are not changed. Operations that no result depends on, such as assertions, are left out.

    Args:
        name: of the endpoint, for messages.
        trace: concrete function.

    Raises:
        ValueError: for a function that assigns variables.
    """
    operations = {node.op for node in _nodes(trace.graph.as_graph_def())}
    assigned = sorted(operation for operation in operations if operation.startswith("Assign"))
    if assigned:
        raise ValueError(
            f"Cannot freeze endpoint '{name}': it changes variables ({', '.join(assigned)}). Export a "
            "SavedModel with `freeze=False`, which keeps them."
        )
    # It is not needed here, and it cannot be copied.
    trace.graph.clear_collection("table_initializer")
    # Loops stay loops: lowered ones could not be differentiated or compiled by XLA.
    constant = convert_variables_to_constants_v2(trace, lower_control_flow=False)
    graph_def = _optimized(constant.graph.as_graph_def(), constant.outputs)
    _set_apart(graph_def)
    placeholders = [node for node in graph_def.node if node.op == "Placeholder"]
    present = {node.name for node in placeholders}
    for node in placeholders:
        graph_def.node.remove(node)
    captured = {
        inside.name: outside
        for outside, inside in trace.graph.captures
        if inside.op.name in present
    }
    inputs = [
        tensor.name for tensor in trace.inputs[: len(trace.inputs) - len(trace.graph.captures)]
    ]
    outputs = [tensor.name for tensor in constant.outputs]

    def call(*args: Any) -> Any:
        tensors = [leaf for leaf in tf.nest.flatten(list(args)) if tf.is_tensor(leaf)]
        given = {
            inside: tensor
            for inside, tensor in zip(inputs, tensors, strict=True)
            if inside.partition(":")[0] in present
        }
        # Tables are not constants: they are captured again by the new graph.
        capture = tf.compat.v1.get_default_graph().capture
        given |= {inside: capture(outside) for inside, outside in captured.items()}
        results = tf.graph_util.import_graph_def(graph_def, given, outputs, name="frozen")
        return tf.nest.pack_sequence_as(trace.structured_outputs, results)

    return call


def _optimized(graph_def: Any, outputs: list[tf.Tensor]) -> Any:
    """Returns the graph after TensorFlow's own optimizer."""
    config = ConfigProto()
    rewrite = config.graph_options.rewrite_options
    rewrite.optimizers.extend(_OPTIMIZERS)
    # The optimizer leaves out graphs with few nodes by default.
    rewrite.min_graph_nodes = -1
    meta_graph = MetaGraphDef(graph_def=graph_def)
    kept = meta_graph.collection_def["train_op"].node_list.value
    # Without a list of what is fetched, it would prune everything.
    kept.extend(tensor.op.name for tensor in outputs)
    return tf_optimizer.OptimizeGraph(config, meta_graph)


def _set_apart(graph_def: Any) -> None:
    """Renames the changed functions, so that they do not collide with the original ones."""
    library = graph_def.library
    names = {
        each.signature.name: f"{each.signature.name}_{uuid.uuid4().hex}"
        for each in library.function
    }
    del library.gradient[:], library.registered_gradients[:]
    for function in library.function:
        function.signature.name = names[function.signature.name]
    for node in _nodes(graph_def):
        node.attr.pop("_gradient_op_type", None)
        for value in node.attr.values():
            for called in functions_in(value):
                called.name = names.get(called.name, called.name)


def _nodes(graph_def: Any) -> list[Any]:
    """Returns the nodes of a graph and of its functions."""
    return [*graph_def.node, *(n for each in graph_def.library.function for n in each.node_def)]
