"""Clones a model: the same structure with new weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.core.layer import Layer
from tfkit.src.layers.input_layer import InputLayer
from tfkit.src.symbolic.operations import FunctionCall
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.graph import Graph, operations_of
from tfkit.src.training.models.model import Functional
from tfkit.src.training.models.sequential import Sequential


@shortened
def clone_model(
    model: Layer,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,
) -> Any:
    """Returns a model of the same structure, with new layers and new initial weights.

    It is compiled with the settings of the model. A functional model whose class has its own constructor
    becomes a plain `Functional` model.

    Args:
        model: a functional or Sequential model; any other model, or a layer, is made again from its
            configuration.
        input_tensors: symbolic tensors to use as inputs; `None` for new ones.
        clone_function: function of a layer that returns the layer to use instead; `None` for
            one with the same configuration.
        call_function: function `(layer, *args, **kwargs)` that makes each call of a functional
            model and returns the output; `None` for a call of the layer.
        recursive: whether `clone_function` and `call_function` are applied to the layers of nested
            models, too. Default: `False`.

    Returns:
        A model of the kind of `model`.

    Raises:
        ValueError: for anything that is not a model or a layer, and if an argument does not apply to the
            kind of model.

    Example:
        >>> model = tfkit.Sequential([tfkit.Input(shape=(3,)), tfkit.layers.Dense(2)])
        >>> clone = clone_model(model)
        >>> clone.layers[0].kernel is model.layers[0].kernel
        False
        >>> clone.count_params() == model.count_params()
        True
    """
    if not isinstance(model, Layer):
        raise ValueError(f"`model` must be a model or a layer. Received: {model!r}")
    graph: Graph | None = getattr(model, "_tfkit_graph", None)  # A layer has none.
    if call_function is not None and (isinstance(model, Sequential) or graph is None):
        raise ValueError(
            f"`call_function` needs a functional model, whose calls it makes. Received: {model!r}"
        )

    def clone(layer: Layer) -> Any:
        if recursive and isinstance(layer, (Functional, Sequential)):
            calls = None if isinstance(layer, Sequential) else call_function
            return clone_model(
                layer, clone_function=clone_function, call_function=calls, recursive=True
            )
        if clone_function is not None and not isinstance(layer, InputLayer):
            return clone_function(layer)
        copy = serialization.made_again(layer)
        # A drawn name is counted: paths in files number such names within the model.
        copy._tfkit_auto_named = layer._tfkit_auto_named
        return copy

    if isinstance(model, Sequential):
        if input_tensors is not None and len(tf.nest.flatten(input_tensors)) == 1:
            input_tensors = tf.nest.flatten(input_tensors)[0]
        if input_tensors is not None and not isinstance(input_tensors, KerasTensor):
            raise ValueError(
                "`input_tensors` of a Sequential model must be one symbolic tensor. "
                f"Received: input_tensors={input_tensors!r}"
            )
        made = {id(layer): clone(layer) for layer in model._tfkit_graph_layers()}
        # A layer that occurs twice in the stack occurs twice in the copy.
        stack = [made[id(layer)] for layer in model._tfkit_stack]
        if input_tensors is not None:
            stack = [
                input_tensors,
                *(layer for layer in stack if not isinstance(layer, InputLayer)),
            ]
        copy = Sequential(stack, name=model.name, trainable=model.trainable)
        return _compiled_like(model, copy)
    if graph is None:
        if input_tensors is not None or clone_function is not None:
            raise ValueError(
                "`input_tensors` and `clone_function` need a Functional or Sequential model. "
                f"Received: {model!r}"
            )
        copy = serialization.made_again(model)
        if model.built:
            copy.build_from_config(model.get_build_config())
        return _compiled_like(model, copy)
    copies: dict[int, Any] = {id(layer): clone(layer) for layer in graph.layers}
    values: dict[int, Any] = {}
    if input_tensors is not None:
        values = _replaced(graph, input_tensors)
    calls = {} if call_function is None else {"call": call_function}
    functions = [it for it in operations_of(graph) if isinstance(it, FunctionCall)] if calls else []
    copies |= {id(function._inbound_nodes[0]): function for function in functions}
    inputs, outputs = graph.replay(copies, values, **calls)
    kind: type[Any] = type(model) if _takes_graph(type(model)) else Functional
    return _compiled_like(model, kind(inputs, outputs, name=model.name))


def _replaced(graph: Graph, input_tensors: Any) -> dict[int, Any]:
    """Returns the symbolic tensors that replace the inputs, by id of the input."""
    expected = graph.inputs
    given = tf.nest.flatten(input_tensors)
    alike = len(given) == len(graph.flat_inputs)
    if isinstance(expected, Mapping):
        alike = (
            isinstance(input_tensors, Mapping) and input_tensors.keys() == expected.keys() and alike
        )
    if not alike or not all(isinstance(tensor, KerasTensor) for tensor in given):
        raise ValueError(
            "`input_tensors` must have the same structure as model.input, with a symbolic tensor for each. "
            f"Expected the form of: {expected}. Received: input_tensors={input_tensors}"
        )
    return {id(old): new for old, new in zip(graph.flat_inputs, given, strict=True)}


def _takes_graph(cls: type[Any]) -> bool:
    """Whether a class is constructed from symbolic inputs and outputs, and not from other arguments."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    names = [parameter.name for parameter in parameters]
    # Arguments in `*args` are passed on to `Model`, which makes a functional model of them.
    return names[:2] == ["inputs", "outputs"] or (
        bool(parameters) and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
    )


def _compiled_like(model: Layer, copy: Any) -> Any:
    """Returns a copy compiled like the model, with its own optimizer, losses and metrics."""

    def remade(value: Any) -> Any:
        if hasattr(value, "get_config") and hasattr(type(value), "from_config"):
            return type(value).from_config(value.get_config())
        return value

    if getattr(model, "compiled", False) and not copy.compiled:  # A layer is never compiled.
        arguments = model._tfkit_settings.arguments()
        copy._tfkit_compile_as(
            {name: tf.nest.map_structure(remade, value) for name, value in arguments.items()}
        )
    return copy
