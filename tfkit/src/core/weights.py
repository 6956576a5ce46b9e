"""Making one weight: checked shape, initial value; and assigning values to the weights of a layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.core.attributes import check_made_outside_calls
from tfkit.src.core.autocast import AutocastVariable
from tfkit.src.core.context import current_frame
from tfkit.src.core.tracking import own_weights
from tfkit.src.errors import forks
from tfkit.src.initializers import lookup as initializers
from tfkit.src.registry import tables as registry
from tfkit.src.registry.dtypes import is_float, standardize_dtype
from tfkit.src.variables.variables import make_variable


def by_position(args: tuple[Any, ...], *named: Any) -> tuple[Any, ...]:
    """`shape`, `initializer` and `dtype` of `add_weight`, from positional and from named arguments.

    Raises:
        TypeError: for more positional arguments.
        ValueError: for an argument that is passed twice, and for a name instead of a shape, as in Keras 2.
    """
    if args and isinstance(args[0], str):
        raise ValueError(
            f"`name` must be passed as a keyword argument. Received: add_weight({args[0]!r}, ...). "
            f"Use: add_weight(shape=..., name={args[0]!r})."
        )
    if len(args) > len(named):
        raise TypeError(
            f"add_weight() takes at most {len(named)} positional arguments: `shape`, `initializer`, `dtype`. "
            f"Received: {len(args)}, of which {args[len(named)]!r} is too many. Pass it by name."
        )
    merged = list(named)
    for index, value in enumerate(args):
        if named[index] is not None:
            name = ("shape", "initializer", "dtype")[index]
            raise ValueError(
                f"`{name}` was passed both positionally and as a keyword argument of add_weight(). Received: "
                f"{value!r} and {name}={named[index]!r}"
            )
        merged[index] = value
    return tuple(merged)


def check_may_add(layer: Any, name: str) -> None:
    """Refuses a weight that is badly named, or that comes when the layer is complete.

    Raises:
        ValueError: inside `call`, where each call would make another one, and after the layer is built.
    """
    if not isinstance(name, str) or "/" in name:
        raise ValueError(
            f"Argument `name` of a weight of layer '{layer.path}' must be a string and cannot contain "
            f"character `/`. Received: name={name!r}"
        )
    check_made_outside_calls(layer)
    state, frame = layer._tfkit, current_frame()
    calling = frame is not None and frame.layer is layer
    if not state.builds and (state.locked or calling):
        raise ValueError(
            f"You cannot add new elements of state to layer '{layer.path}' (of type "
            f"{type(layer).__name__}) {'inside its `call()`' if calling else 'once it is built'}. Received: "
            f"weight '{name}'. Make all weights in `__init__()` or `build()`."
        )


def make_weight(
    owner: Any,
    name: str,
    shape: Any,
    initializer: Any,
    dtype: Any,
    trainable: bool,
    mixed: bool,
    constraint: Any,
    aggregation: str | None,
    stored: bool,
) -> tf.Variable:
    """A new variable, made outside of any trace that may be under way.

    Args:
        owner: the layer, for messages.
        name: name of the variable.
        shape: sizes, all known.
        initializer: as `initializers.get` takes it; `None` is Glorot uniform for floats, else zeros.
        dtype: dtype of the variable.
        trainable: whether gradients train it.
        mixed: whether it is to be read in the caller's compute dtype.
        constraint: function that projects the variable after each update, or `None`.
        aggregation: how a distribution strategy combines the values of replicas.
        stored: whether a file holds it as it is, so that the file bounds its size.
    """
    forks.check(f"Making weight '{name}' of layer '{owner.path}'")
    dtype = standardize_dtype(dtype)
    if initializer is None:
        initializer = "glorot_uniform" if is_float(dtype) else "zeros"
    is_value = isinstance(initializer, (tf.Tensor, tf.Variable)) or hasattr(
        initializer, "__array__"
    )
    return make_variable(
        f"weight '{name}' of layer '{owner.path}'",
        shape,
        initializer if is_value else initializers.get(initializer),
        dtype,
        name,
        trainable=trainable,
        aggregation=aggregation,
        counted_as="stored" if stored else None,
        variable_class=AutocastVariable if mixed and is_float(dtype) else tf.Variable,
        constraint=constraint,
        may_be_deferred=stored and _is_ours(owner, initializer),
    )


def _is_ours(owner: Any, initializer: Any) -> bool:
    """Whether nobody but a file looks at the first values of a weight: no class of a user's has made it."""
    drawn = isinstance(initializer, (str, dict)) or registry.is_builtin(type(initializer))
    loads = type(owner).load_own_variables.__module__ == "tfkit.src.core.stateful"
    return drawn and loads and registry.is_builtin(type(owner))


def assign_all(layer: Any, values: list[Any]) -> None:
    """Assigns values to the weights of a layer, all of them or, where something is wrong, none."""
    weights = layer.weights
    if len(values) != len(weights):
        raise ValueError(
            f"You called `set_weights(weights)` on layer '{layer.path}' with a weight list of length "
            f"{len(values)}, but the layer was expecting {len(weights)} weights."
        )
    arrays = [np.asarray(value) for value in values]
    for weight, array in zip(weights, arrays, strict=True):
        if tuple(weight.shape) != array.shape:
            raise ValueError(
                f"Layer '{layer.path}' weight '{weight.path}' has shape {tuple(weight.shape)}, which is "
                f"not compatible with the provided weight shape {array.shape}."
            )
        if array.dtype.kind in "OSUM":
            raise ValueError(
                f"Layer '{layer.path}' weight '{weight.path}' holds numbers of dtype "
                f"{weight.dtype.name}. Received an array of dtype {array.dtype}."
            )
    for weight, array in zip(weights, arrays, strict=True):
        weight.assign(tf.cast(array, weight.dtype))


def load_own(layer: Any, store: Any) -> None:
    """Assigns what `Layer.save_own_variables` stored."""
    weights = own_weights(layer)
    if sorted(store, key=str) != sorted(map(str, range(len(weights)))):
        raise ValueError(
            f"Layer '{layer.path}' (of type {type(layer).__name__}) has {len(weights)} variables of its own, "
            f'stored under "0", "1", ... Received the keys {list(store)}. Where `save_own_variables()` '
            "stores something else, `load_own_variables()` must be overridden to read it."
        )
    for index, weight in enumerate(weights):
        weight.assign(store[str(index)])
