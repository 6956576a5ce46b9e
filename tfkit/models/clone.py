"""A model of the same structure with weights of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfkit.core.input_layer import InputLayer
from tfkit.models.model import Functional
from tfkit.models.sequential import Sequential
from tfkit.tracebacks import shortened


@shortened
def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,
) -> Any:
    """A model of the same structure, with new layers and newly drawn weights.

    Args:
        model: a functional or Sequential model; any other is made again from its configuration.
        input_tensors: symbolic tensors to use as inputs instead of new ones.
        clone_function: function of a layer that gives the one to use in its place.
        call_function: makes each call of a functional model anew: `call_function(layer, *args, **kwargs)`
            gives the output.
        recursive: whether `clone_function` is applied to the layers of nested models too.

    Raises:
        ValueError: for arguments that do not apply to the kind of model.
    """
    if call_function is not None and (isinstance(model, Sequential) or model._graph is None):
        raise ValueError(
            f"`call_function` needs a functional model, whose calls it makes. Received: {model!r}"
        )

    def clone(layer: Any) -> Any:
        if recursive and isinstance(layer, (Functional, Sequential)):
            return clone_model(layer, clone_function=clone_function, recursive=True)
        if clone_function is not None and not isinstance(layer, InputLayer):
            return clone_function(layer)
        return type(layer).from_config(layer.get_config())

    if isinstance(model, Sequential):
        stack = [clone(layer) for layer in model._stack]
        if input_tensors is not None:
            stack = [
                input_tensors,
                *(layer for layer in stack if not isinstance(layer, InputLayer)),
            ]
        return Sequential(stack, name=model.name)
    if model._graph is None:
        if input_tensors is not None or clone_function is not None:
            raise ValueError(
                "`input_tensors` and `clone_function` need a Functional or Sequential model. "
                f"Received: {model!r}"
            )
        return type(model).from_config(model.get_config())
    copies: dict[int, Any] = {id(layer): clone(layer) for layer in model._graph.layers}
    values: dict[int, Any] = {}
    if input_tensors is not None:
        given = input_tensors if isinstance(input_tensors, (list, tuple)) else [input_tensors]
        values = {id(old): new for old, new in zip(model._graph.flat_inputs, given, strict=True)}
    calls = {} if call_function is None else {"call": call_function}
    inputs, outputs = model._graph.replay(copies, values, **calls)
    kind = Functional if type(model) is Functional else type(model)
    return kind(inputs, outputs, name=model.name)
