"""Finds layers and variables that a call uses and no `weights` contain, so that training ignores them.

A layer is a member if an attribute holds it. A layer in a global, a closure, a default argument, or an
attribute of a class or of a plain Python object can be called as well, but is neither trained nor saved. So
each outermost call notes the layers called in it (`CallFrame.called`), and compares them with its members
when it is traced, or runs eagerly for the first time. A compiled call does not run this code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base import execution
from tfkit.src.base.calls import noted_apart
from tfkit.src.core import tracking
from tfkit.src.symbolic.tensors import is_described

if TYPE_CHECKING:
    from tfkit.src.base.calls import CallFrame
    from tfkit.src.core.layer import Layer
    from tfkit.src.core.state import LayerState

HOLD = (
    "Assign it in `__init__()` to an attribute of the layer that uses it, directly or in a list, tuple or "
    "dict (a `Lambda` holds nothing: write a `Layer`)"
)


def begin_call(frame: CallFrame) -> None:
    """Registers a call, with the layers that are called in the outermost one."""
    state = frame.layer._tfkit
    state.begin_call(frame.number)
    if not is_described():  # Where only shapes are computed, the layer may be a temporary copy.
        frame.called[state.made] = state


def called_with_values(layer: Layer, *args: Any, **kwargs: Any) -> Any:
    """Calls `layer` with values from the caller for all its variables, and returns the outputs.

    No `weights` need contain these variables, since their own values are not used. The layers called in the
    call must be members of `layer`, like those called in an outermost call.
    """
    with noted_apart() as called:
        outputs = layer(*args, **kwargs)
        check_layers(layer, called)
    return outputs


def check_layers(root: Layer, called: dict[int, LayerState], caller: Any = None) -> None:
    """Raises an error if a layer called in an outermost call has weights that no caller's `weights` contain.

    A frozen layer may be hidden, because training would not change it anyway; `unlisted` remembers it.

    Args:
        root: the layer of the call.
        called: the layers that are called in it.
        caller: the frame around the call; with one, it is not an outermost call.

    Raises:
        ValueError: with the path of the hidden layer.
    """
    state = root._tfkit
    # A trace is always checked, since it is made once. Eager calls are checked again only if they call other
    # layers than before.
    if caller or (tf.executing_eagerly() and called.keys() <= state.verified):
        return
    members = {id(layer) for layer in tracking.all_layers(root)}
    unknown = [each.layer for each in called.values() if id(each.layer) not in members]
    listed = listed_in(root) if any(layer.weights for layer in unknown) else set()
    for layer in unknown:
        lost = [weight for weight in layer.weights if id(weight) not in listed]
        if lost and layer.trainable:
            raise ValueError(
                f"Layer {layer._tfkit.title} is called in the `call()` of layer {state.title}, but its "
                f"{len(layer.weights)} weights are in no caller's `weights`: they would be neither trained "
                f"nor saved. {HOLD}; or set its `trainable = False`, if its values are not to change."
            )
        if lost:
            state.unlisted.add(layer._tfkit)
            listed |= {id(variable) for variable in layer.variables}
    state.verified = frozenset(called)


def listed_in(root: Layer) -> set[int]:
    """Returns the ids of all variables that a training run of `root`, or of a model around it, can find."""
    # The `train_step` of the model that is trained may call its parts one by one.
    trained = execution.governing_model()
    holders = [*root._tfkit.callers(), *([] if trained is None else [trained])]
    return {id(variable) for holder in holders for variable in _variables(holder)}


def _variables(holder: Any) -> Iterator[tf.Variable]:
    # The properties are read, because a subclass may override them to list objects that no attribute holds.
    yield from holder.variables
    yield from holder.weights
    for _, metric in tracking.named_metrics(holder):
        for name, value in vars(metric).items():
            for _, member in tracking.walk(name, value):
                if hasattr(member, "_tfkit"):
                    yield from member.variables
    for below in tracking.all_layers(holder):
        for frozen in below._tfkit.unlisted:
            yield from frozen.layer.variables
