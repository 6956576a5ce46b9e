"""Converts a functional model to data, and back: layers, and the calls that connect them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.graph_form import check_graph, checked_reference, map_references
from tfkit.src.core.layer import Layer
from tfkit.src.layers.input_layer import InputLayer
from tfkit.src.symbolic.operations import Operation
from tfkit.src.symbolic.tensors import KerasTensor, Node, any_symbolic
from tfkit.src.training.models.graph import Graph, operation_names


def graph_to_config(graph: Graph) -> dict[str, Any]:
    """Returns the layers of a graph, with each call's arguments, in order; tensors are named by their call.

    Raises:
        TypeError: for a call of a function that is neither one of tfkit's ops nor registered.
    """
    names = operation_names(graph)
    entries: dict[str, dict[str, Any]] = {}
    keys: dict[int, tuple[str, int, int]] = {}
    for node in graph.nodes:
        name = names[id(node)]
        if name not in entries:
            entries[name] = {**_operation_config(node), "name": name, "inbound_nodes": []}
            if isinstance(node.operation, Layer):
                entries[name]["auto_named"] = node.operation._tfkit_auto_named
        calls = entries[name]["inbound_nodes"]
        index = len(calls)
        if not isinstance(node.operation, InputLayer):
            calls.append(
                {
                    "args": [_argument(arg, keys) for arg in node.args],
                    "kwargs": {key: _argument(value, keys) for key, value in node.kwargs.items()},
                }
            )
        # Later calls name an output by its layer, the number of the call, and its position.
        for position, output in enumerate(node.output_tensors):
            keys[id(output)] = (name, index, position)
    return {
        "layers": list(entries.values()),
        "input_layers": _map(graph.inputs, lambda tensor: list(keys[id(tensor)])),
        "output_layers": _map(graph.outputs, lambda tensor: list(keys[id(tensor)])),
    }


def _operation_config(node: Node) -> dict[str, Any]:
    operation = node.operation
    known = isinstance(operation, Operation) or registry.is_builtin(operation)
    if not known and registry.get_registered_name(operation) == operation.__name__:
        raise TypeError(
            f"Cannot save a functional model that calls `{operation.__module__}.{operation.__name__}` on "
            "symbolic tensors: a file cannot name it. Use the function of `tfkit.ops` instead, or put the "
            "call into a Layer's `call()`."
        )
    return serialization.serialize_keras_object(operation)


def _argument(value: Any, keys: dict[int, tuple[str, int, int]]) -> Any:
    if isinstance(value, KerasTensor):
        return {
            "class_name": "__keras_tensor__",
            "config": {
                "shape": value.shape,
                "dtype": value.dtype,
                "keras_history": list(keys[id(value)]),
            },
        }
    if isinstance(value, (list, tuple)):
        items = [_argument(item, keys) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return {key: _argument(item, keys) for key, item in value.items()}
    return serialization.serialize_keras_object(value)


def _map(structure: Any, function: Any) -> Any:
    if isinstance(structure, Mapping):
        return {key: _map(item, function) for key, item in structure.items()}
    if isinstance(structure, (list, tuple)):
        items = [_map(item, function) for item in structure]
        return tuple(items) if isinstance(structure, tuple) else items
    return function(structure)


def graph_from_config(config: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the symbolic inputs and outputs of the graph that a configuration describes.

    Args:
        config: the result of `graph_to_config`.
    """
    order = _checked_calls(config)  # Before any layer is made.
    operations: dict[str, Any] = {}
    outputs: dict[tuple[str, int], list[KerasTensor]] = {}
    for entry in config["layers"]:
        name = entry["name"]
        operations[name] = serialization.deserialize_keras_object(entry)
        if isinstance(operations[name], Layer):
            operations[name]._tfkit_auto_named = entry.get("auto_named", False)
    for name, index, call in order:
        args = [_restore(arg, outputs) for arg in call["args"]]
        kwargs = {key: _restore(value, outputs) for key, value in call["kwargs"].items()}
        result = _result(operations[name], args, kwargs)
        outputs[name, index] = [t for t in tf.nest.flatten(result) if isinstance(t, KerasTensor)]

    def tensor(reference: Any) -> KerasTensor:
        return _output(outputs, reference)

    return map_references(config["input_layers"], tensor), map_references(
        config["output_layers"], tensor
    )


Call = tuple[str, int, dict[str, Any]]


def _checked_calls(config: dict[str, Any]) -> list[Call]:
    """Returns the calls of a configuration in an order in which the inputs of each exist.

    Raises:
        ValueError: for two layers of the same name, and for tensors that no call returns.
    """
    check_graph(config)
    calls: list[Call] = []
    names = set()
    for entry in config["layers"]:
        name = entry["name"]
        if name in names:
            raise ValueError(
                f"The configuration of a functional model has two layers {quoted(name)}."
            )
        names.add(name)
        # An entry without calls is an input, which counts as called once, without arguments.
        nodes = entry["inbound_nodes"] or [{"args": [], "kwargs": {}}]
        calls += [(name, index, call) for index, call in enumerate(nodes)]
    known = {(name, index) for name, index, _ in calls}

    def check(reference: Any) -> None:
        if checked_reference(reference)[:2] not in known:
            raise ValueError(
                "An input or output in the configuration of a functional model is of no call of its layers: "
                f"{quoted(reference)}"
            )

    for key in ("input_layers", "output_layers"):
        map_references(config[key], check)
    return list(_in_turn(calls))


def _in_turn(calls: list[Call]) -> Iterator[Call]:
    """Yields the calls in an order in which the inputs of each exist: the list's order, if it is one.

    Each call is visited once, so the time is linear in the size of the configuration, in any order.
    """
    waiting: dict[int, int] = {}
    dependent: dict[tuple[str, int], list[int]] = {}
    for position, (_, _, call) in enumerate(calls):
        needed = set(_references([call["args"], call["kwargs"]]))
        waiting[position] = len(needed)
        for key in needed:
            dependent.setdefault(key, []).append(position)
    # A heap: of the calls that can be made, the first in the list is the next.
    ready = [position for position, count in waiting.items() if not count]
    while ready:
        position = heapq.heappop(ready)
        del waiting[position]
        name, index, _ = calls[position]
        yield calls[position]
        for other in dependent.pop((name, index), ()):
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    if waiting:
        names = sorted({str(calls[position][0]) for position in waiting})
        known = {name for name, _, _ in calls}
        for name, _ in dependent:
            if name not in known:
                raise ValueError(
                    f"Missing node: {quoted(name)}. The configuration of a functional model has no such "
                    f"layer, whose output is an input of one of {quoted(names)}."
                )
        raise ValueError(
            "The configuration of a functional model has a loop, or uses an output of a call that is not "
            f"there: the inputs of {quoted(names)} are never computed."
        )


def _references(value: Any) -> Iterator[tuple[str, int]]:
    """Yields the calls whose outputs are arguments of a call."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if item.get("class_name") == "__keras_tensor__":
                name, index, _ = checked_reference(item["config"]["keras_history"])
                yield name, index
            elif "class_name" not in item:
                # Not in dicts with a class: the configuration of an object contains no tensors.
                pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)


def _result(operation: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Returns the results of a call: symbolic tensors, since nothing is computed while a graph is read."""
    if any_symbolic(args, kwargs):
        return operation(*args, **kwargs)
    if args or kwargs or not isinstance(operation, Layer):
        raise ValueError(
            f"A configuration of a functional model calls {quoted(operation)} without a tensor of the model "
            f"among its arguments. Received: args={quoted(args)}, kwargs={quoted(kwargs)}"
        )
    return operation.output


def _output(outputs: dict[tuple[str, int], list[KerasTensor]], reference: Any) -> KerasTensor:
    """Returns the tensor that a reference names."""
    name, index, position = checked_reference(reference)
    found = outputs[name, index]
    if position >= len(found):
        raise ValueError(
            f"A configuration of a functional model uses output {position} of layer {quoted(name)}, which "
            f"has {len(found)}. Received: {quoted(reference)}"
        )
    return found[position]


def _restore(value: Any, outputs: dict[tuple[str, int], list[KerasTensor]]) -> Any:
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            return _output(outputs, value["config"]["keras_history"])
        if "class_name" in value:
            return serialization.deserialize_keras_object(value)
        return {key: _restore(item, outputs) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_restore(item, outputs) for item in value)
    return value
