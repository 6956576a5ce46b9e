"""Makes one weight: the checks before, and the attributes of the weight."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.calls import current_frame
from tfkit.src.base.errors import forks
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.dtypes import is_float, standardize_dtype
from tfkit.src.base.registry.serialization import resolve
from tfkit.src.core import tracking
from tfkit.src.weights.variables.autocast import AutocastVariable, has_copies, read_in_calls_dtype
from tfkit.src.weights.variables.variables import make_variable

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer


def add(
    layer: Layer,
    name: str,
    shape: Any,
    initializer: Any,
    dtype: Any,
    autocast: bool,
    *,
    regularizer: Any,
    overwrite_with_gradient: bool,
    **options: Any,
) -> Any:
    """Makes a weight of `layer`, outside of any trace in progress.

    Args:
        layer: the layer.
        name: name of the weight.
        shape: sizes, all known.
        initializer: as `tfkit.initializers.get` accepts it; `None` is Glorot uniform for floats, else zeros.
        dtype: dtype of the weight.
        autocast: whether it is read in the caller's compute dtype if the layer has a mixed policy.
        regularizer: function of the weight whose value is added to the loss, or `None`.
        overwrite_with_gradient: whether an update replaces the weight by its gradient.
        **options: options of `make_variable`.

    Raises:
        ValueError: if the layer must not get a weight, for an invalid name, and for an unknown size.
    """
    _check_may_add(layer, name)
    path, dtype = layer.path, standardize_dtype(dtype)
    what = f"weight '{name}' of layer '{path}'"
    forks.check(f"Making {what}")
    if initializer is None:
        initializer = "glorot_uniform" if is_float(dtype) else "zeros"
    is_value = tf.is_tensor(initializer) or hasattr(initializer, "__array__")
    mixed = (
        autocast and layer.autocast and layer.dtype_policy.of(layer).is_mixed and is_float(dtype)
    )
    # Whether a file holds the weight unchanged, so that the file limits its size.
    stored = not layer._tfkit_overrides("save_own_variables")
    weight: Any = make_variable(
        what,
        shape,
        initializer if is_value else resolve(initializer, "initializers"),
        dtype,
        name,
        counted_as="stored" if stored else None,
        variable_class=AutocastVariable if mixed and not has_copies() else tf.Variable,
        may_be_deferred=stored and _is_ours(layer, initializer),
        **options,
    )
    if mixed and has_copies():
        read_in_calls_dtype(weight)
    weight.regularizer, weight.overwrite_with_gradient = regularizer, overwrite_with_gradient
    weight.label, weight.made = name, tracking.tick()
    weight.path = f"{path}/{name}"
    # From here on, a change of the weight's settings makes traces of its layer stale.
    weight.owner = weakref.ref(layer._tfkit)
    layer._tfkit.weights.append(weight)
    return weight


def _check_may_add(layer: Layer, name: str) -> None:
    """Raises an error for a weight with an invalid name, or if the layer is already complete.

    Raises:
        ValueError: inside `call`, where each call would make a new one, and after the layer is built.
    """
    if not isinstance(name, str) or "/" in name:
        raise ValueError(
            f"Argument `name` of a weight of layer '{layer.path}' must be a string and cannot contain "
            f"character `/`. Received: name={name!r}"
        )
    state, frame = layer._tfkit, current_frame()
    caller = state.made_in() if state.made_in else None
    if caller is not None:
        kind = type(layer).__name__
        raise ValueError(
            f"Layer '{layer.name}' (of type {kind}) was made inside the `call()` of layer "
            f"{caller._tfkit.title}: each call would create it again, with weights that are never trained. "
            f"Create it in `__init__()`, and call it in `call()`: `self.{kind.lower()} = {kind}(...)`."
        )
    calling = frame is not None and frame.layer is layer
    if not state.builds and (state.locked or calling):
        raise ValueError(
            f"You cannot add new elements of state to layer {state.title} "
            f"{'inside its `call()`' if calling else 'once it is built'}. Received: weight '{name}'. "
            "Create all weights in `__init__()` or `build()`."
        )


def _is_ours(layer: Layer, initializer: Any) -> bool:
    """Whether only files read a weight's initial values: all classes that made it are built in."""
    drawn = isinstance(initializer, (str, dict)) or registry.is_builtin(type(initializer))
    loads = not layer._tfkit_overrides("load_own_variables")
    return drawn and loads and registry.is_builtin(type(layer))


_BY_POSITION = ("shape", "initializer", "dtype")


def by_position(args: tuple[Any, ...], *named: Any) -> tuple[Any, ...]:
    """Returns `shape`, `initializer` and `dtype` of `add_weight` from positional and named arguments.

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
    for name, value, other in zip(_BY_POSITION, args, named, strict=False):
        if other is not None:
            raise ValueError(
                f"`{name}` was passed both positionally and as a keyword argument of add_weight(). Received: "
                f"{value!r} and {name}={other!r}"
            )
    return (*args, *named[len(args) :])
