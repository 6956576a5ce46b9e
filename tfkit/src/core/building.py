"""Building a layer once: which shapes `build()` gets, and what is kept to build it again from a file."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.generators import drawing_aside
from tfkit.src.core import claims, tracking
from tfkit.src.core.arguments import CallArguments, given_dtype
from tfkit.src.core.context import CallFrame, current_frame
from tfkit.src.core.state import LayerState, current_watch
from tfkit.src.registry import serialization
from tfkit.src.registry.tables import is_builtin
from tfkit.src.symbolic.tensors import KerasTensor, trace


def check_initialized(layer: Any) -> None:
    """Refuses a layer whose class forgot the constructor of `Layer`.

    Raises:
        RuntimeError: that says what to add.
    """
    if not layer._tfkit.initialized:
        raise RuntimeError(
            f"In layer '{type(layer).__name__}', you forgot to call `super().__init__()` as the "
            "first statement in the `__init__()` method. Go add it!"
        )


@contextlib.contextmanager
def undone_on_error(layer: Any) -> Iterator[None]:
    """Inside, layers are built; after an error, `layer` and those below are as they were before.

    Otherwise the layers that came before the refused one would keep the sizes of the refused input.
    """
    below = tracking.all_layers(layer)
    before = [(_attributes(each), each._tfkit.build_state()) for each in below]
    try:
        yield
    except BaseException:
        for each, (attributes, state) in zip(below, before, strict=True):
            each._tfkit.set_build_state(state)
            for name, value in _attributes(each).items():
                if name not in attributes:
                    delattr(each, name)
                elif attributes[name] is not value:
                    setattr(each, name, attributes[name])
        raise


@contextlib.contextmanager
def first_call(layer: Any) -> Iterator[None]:
    """Around a call of a layer that is not built: if an outermost one fails, nothing is built.

    Other threads wait. Where another one was first, this is a call like any other.
    """
    with claims.claimed(layer):
        outermost = current_frame() is None and not layer._tfkit.built
        with undone_on_error(layer) if outermost else contextlib.nullcontext():
            yield


def _attributes(layer: Any) -> dict[str, Any]:
    """A layer's attributes, without TensorFlow's bookkeeping and ours."""
    return {
        name: value
        for name, value in vars(layer).copy().items()
        if name != "_tfkit" and not name.startswith("_self_")
    }


def build_once(build: Callable[..., None]) -> Callable[..., None]:
    """Marks a layer as built when its `build` method has run, whoever called it.

    The one method of a user's that tfkit wraps: after a direct `layer.build(shape)` the next
    `layer(x)` would otherwise build again, and the weights of the first time would be lost.
    A `build` that fails leaves no weights behind.
    """

    @functools.wraps(build)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        if self._tfkit.built or not claims.is_needed(self):
            build_and_note(self, *args, **kwargs)
            return
        with claims.claimed(self):
            if not self._tfkit.built:  # Otherwise another thread has built it meanwhile.
                build_and_note(self, *args, **kwargs)

    def build_and_note(self: Any, *args: Any, **kwargs: Any) -> None:
        state = self._tfkit
        before, builds = state.build_state(), state.builds
        if not builds:
            state.called_by(current_frame())
        unfinished = builds > 0 or not state.locked  # A complete layer gets no more weights.
        state.builds += unfinished
        try:
            with tf.init_scope(), CallFrame(self) if unfinished else contextlib.nullcontext():
                build(self, *args, **kwargs)
        except BaseException:
            state.set_build_state(before)
            raise
        finally:
            state.builds = builds
        bound = inspect.signature(build).bind(self, *args, **kwargs).arguments
        bound.pop(next(iter(bound)))
        state.build_arguments = {
            name: value for name, value in bound.items() if name not in ("args", "kwargs")
        } or None
        state.built = True
        state.locked = not state.builds

    return wrapper


def build_from_arguments(layer: Any, arguments: CallArguments) -> None:
    """Calls the layer's own `build` with the shapes of a call's arguments."""
    positional, named = shape_arguments(layer, layer.build, arguments)
    layer.build(*positional, **named)


def shape_arguments(
    layer: Any, method: Callable[..., Any], arguments: CallArguments
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The shapes of a call's arguments, positional and by name, as a method of the layer takes them.

    Args:
        layer: the layer, for messages.
        method: its `build` or `compute_output_shape`.
        arguments: the arguments of the call.

    Raises:
        ValueError: for a parameter that is not named after an argument of `call()`.
        TypeError: for a shape that is needed and of which the call passed no tensor.
    """
    shapes = arguments.shapes()
    known = inspect.signature(method).parameters
    parameters = [
        name
        for name, parameter in known.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if len(parameters) == 1 or (not parameters and known):
        return (next(iter(shapes.values()), None),), {}
    what = f"{method.__name__}()"
    for name in parameters:
        if not name.endswith("_shape") or name[: -len("_shape")] not in arguments.signature.names:
            raise ValueError(
                f"Layer '{layer.path}' (of type {type(layer).__name__}) has a `{what}` method with the "
                f"arguments {parameters}. With more than one, each must be the name of an argument of "
                f"`call()` and `_shape`. Received: `{name}`. Expected names from: "
                f"{[f'{argument}_shape' for argument in arguments.signature.names]}"
            )
    missing = [name for name in parameters if name[: -len("_shape")] not in shapes]
    required = [name for name in missing if known[name].default is inspect.Parameter.empty]
    if required:
        raise TypeError(
            f"Layer '{layer.path}' (of type {type(layer).__name__}) has a `{what}` method that needs "
            f"`{required[0]}`, but the call passed no tensor for `{required[0][: -len('_shape')]}`. "
            f"Received tensors for: {list(shapes)}. Pass it, or give `{required[0]}` a default of None."
        )
    named = {name: shapes[name[: -len("_shape")]] for name in parameters if name not in missing}
    return (), named


# --- What the layer was called with, to build it again and to export it -------------------------------

_specs_lock = threading.Lock()


def note_specs(state: LayerState, arguments: CallArguments) -> None:
    """Adds the arguments of an outermost call to what the layer was called with.

    The trace of a direct call takes tensors that are cast already: it says nothing of what callers give.
    """
    watch = current_watch()
    with _specs_lock:
        state.specs = merge_specs(state.specs, arguments)
        if watch is None or not watch.frozen:
            state.given = merge_given(state.given, arguments)


def merge_specs(old: dict[str, Any] | None, arguments: CallArguments) -> dict[str, Any]:
    """The specs of all calls so far: an axis whose size has differed, and the batch, are `None`."""
    new = {
        name: tf.nest.map_structure(_spec, value)
        for name, value in arguments.tensors().items()
        if name in arguments.signature.names and name != "mask" and not name.endswith("_mask")
    }
    return _merge(old, new)


def merge_given(old: dict[str, Any] | None, arguments: CallArguments) -> dict[str, Any]:
    """The same of calls as their callers made them: dtypes before casts, and masks that were passed."""
    new = {
        name: tf.nest.map_structure(_given_spec, value)
        for name, value in arguments.tensors().items()
        if name in arguments.signature.names
    }
    return _merge(old, new)


def mark_as_cast(layer: Any, inputs: Any) -> None:
    """Symbolic inputs of mixed precision that are 16-bit floats stand for what a caller would pass.

    That is floats in the dtype of the weights, which the layer casts.
    """
    policy = layer.dtype_policy
    if layer.autocast and policy.is_mixed:
        for tensor in tf.nest.flatten(inputs):
            if isinstance(tensor, tf.Tensor) and tensor.dtype == policy.compute_dtype:
                tensor._tfkit_given = tf.as_dtype(policy.variable_dtype)


def traced(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The symbolic outputs that a trace of a call gives, which builds the layer."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        mark_as_cast(layer, (args, kwargs))
        return layer._forward(*layer._as_tensors(args, kwargs))

    return trace(forward, args, kwargs)


def _merge(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    if old is None or not _alike(old, new):
        return new
    return {name: tf.nest.map_structure(_merged, old[name], spec) for name, spec in new.items()}


def _given_spec(tensor: Any) -> Any:
    spec = _spec(tensor)
    if isinstance(spec, tf.TensorSpec):
        return tf.TensorSpec(spec.shape, given_dtype(tensor))
    return spec


def _spec(tensor: Any) -> Any:
    if tensor is None:
        return None
    if not isinstance(tensor, (tf.Tensor, tf.Variable, KerasTensor)):
        return tf.type_spec_from_value(tensor)
    shape = list(tensor.shape) if tensor.shape is not None else None
    return tf.TensorSpec([None, *shape[1:]] if shape else shape, tensor.dtype)


def _alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    try:
        tf.nest.assert_same_structure(old, new)
    except (ValueError, TypeError):
        return False
    pairs = zip(tf.nest.flatten(old), tf.nest.flatten(new), strict=True)
    return all(_comparable(a, b) for a, b in pairs)


def _comparable(a: Any, b: Any) -> bool:
    if isinstance(a, tf.TensorSpec) and isinstance(b, tf.TensorSpec):
        return a.dtype == b.dtype and a.shape.rank == b.shape.rank
    return type(a) is type(b)


def _merged(a: Any, b: Any) -> Any:
    if not isinstance(a, tf.TensorSpec):
        return b
    return tf.TensorSpec(a.shape.most_specific_compatible_shape(b.shape), a.dtype)


def specs_to_config(specs: dict[str, Any]) -> dict[str, Any]:
    """Specs as data: `{"inputs": {"shape": (None, 3), "dtype": "float32"}}`."""
    return {name: tf.nest.map_structure(_spec_config, spec) for name, spec in specs.items()}


def _spec_config(spec: Any) -> Any:
    if not isinstance(spec, tf.TensorSpec):
        return None
    shape = None if spec.shape.rank is None else tuple(spec.shape)
    return {"shape": shape, "dtype": spec.dtype.name}


def specs_from_config(config: dict[str, Any]) -> dict[str, Any]:
    """The symbolic tensors that a configuration of specs describes."""
    return {name: _symbolic(value) for name, value in config.items()}


def _symbolic(config: Any) -> Any:
    if isinstance(config, dict):
        if set(config) == {"shape", "dtype"}:
            return KerasTensor(config["shape"], config["dtype"])
        return {key: _symbolic(value) for key, value in config.items()}
    if isinstance(config, (list, tuple)):
        return type(config)(_symbolic(item) for item in config)
    return config


def symbolic_from_shapes(shapes: Any, dtype: str) -> Any:
    """Symbolic tensors in the form of a nest of shapes."""
    if shapes is None:  # An optional argument that is not passed.
        return None
    if is_shape(shapes):
        return KerasTensor(shapes, dtype)
    if nests.is_nested(shapes):
        return nests.mapped(lambda shape: symbolic_from_shapes(shape, dtype), shapes)
    raise ValueError(
        f"Expected a shape, a tuple of integers and `None`, or a nest of shapes. Received: {shapes!r}"
    )


def is_shape(value: Any) -> bool:
    """Whether `value` is one shape, and not a nest of shapes."""
    return isinstance(value, (list, tuple, tf.TensorShape)) and all(
        size is None or isinstance(size, (int, np.integer)) for size in value
    )


def free_batch(outputs: Any) -> Any:
    """The shapes of a call's outputs, with any batch."""
    return tf.nest.map_structure(
        lambda output: (
            (None, *output.shape[1:]) if tf.is_tensor(output) and output.shape.rank else None
        ),
        outputs,
    )


def build_config(layer: Any) -> dict[str, Any] | None:
    """The shapes with which a layer was built, or the specs of the call that built what is inside.

    With them go the sizes of vocabularies inside, which decide about shapes and are read later.
    """
    config = _build_shapes(layer)
    below = tracking.named_layers(layer)[1:] if config and not is_builtin(type(layer)) else ()
    sizes = {path: each._known_size for path, each in below if each._known_size is not None}
    return {**config, _SIZES: sizes} if config and sizes else config


_SIZES = "vocabulary_sizes"


def _build_shapes(layer: Any) -> dict[str, Any] | None:
    state = layer._tfkit
    if not state.built:
        return None
    if state.build_arguments is not None:  # In the form of Keras, which reads it too.
        shapes = dict(state.build_arguments)
        return (
            {"shapes_dict": shapes}
            if len(shapes) > 1
            else {"input_shape": next(iter(shapes.values()))}
        )
    return None if state.specs is None else {"call": specs_to_config(state.specs)}


def build_from_config(layer: Any, config: dict[str, Any]) -> None:
    """Builds a layer as another one was built, without data."""
    if layer._tfkit.built or not config:
        return
    if _SIZES in config:
        sizes = config[_SIZES] if isinstance(config[_SIZES], dict) else {}
        config = {name: value for name, value in config.items() if name != _SIZES}
        for path, each in tracking.named_layers(layer):
            if isinstance(sizes.get(path), int):
                each._known_size = sizes[path]
    if "call" in config:
        traced(layer, (), specs_from_config(config["call"]))
        return
    shapes = config.get("shapes_dict", config)
    named = {name: _as_shape(shape) for name, shape in shapes.items()}
    if len(named) == 1:  # It is called `input_shape`, whatever `build` calls it.
        layer.build(*named.values())
    else:
        layer.build(**named)


def _as_shape(value: Any) -> Any:
    if is_shape(value):
        return tuple(value)
    if isinstance(value, dict):
        return {key: _as_shape(item) for key, item in value.items()}
    return value if value is None else type(value)(_as_shape(item) for item in value)


def unbuilt_copy(layer: Any) -> Any:
    """A new layer with the same configuration; draws of default seeds are not counted."""
    with drawing_aside():
        copy = serialization.made_again(layer)
    for below in tracking.all_layers(copy):
        below._tfkit.made_in = (
            None  # Where a `call` asks for the shape, the copy is of no other use.
        )
    return copy
