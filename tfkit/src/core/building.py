"""Building a layer once: the shapes that `build()` receives, and the config to build it again from a file."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.calls import current_frame, outside_calls
from tfkit.src.base.generators import drawing_aside
from tfkit.src.base.members import TRACKING
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.tables import is_builtin
from tfkit.src.core import claims, tracking
from tfkit.src.core.context import CallFrame
from tfkit.src.symbolic import specs
from tfkit.src.symbolic.arguments import CallArguments
from tfkit.src.symbolic.tensors import trace

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer


# --- A call that fails builds nothing -----------------------------------------------------------------


@contextlib.contextmanager
def undone_on_error(layers: list[Layer]) -> Iterator[None]:
    """Context manager that restores layers to their earlier state if an error occurs while they are built.

    Otherwise the layers that came before the refused one would keep the sizes of the refused input.
    """
    before = [(_attributes(each), each._tfkit.build_state()) for each in layers]
    try:
        yield
    except BaseException:
        for each, (attributes, state) in zip(layers, before, strict=True):
            each._tfkit.set_build_state(state)
            for name, value in _attributes(each).items():
                if name not in attributes:
                    delattr(each, name)
                # Not by `vars`: traces that have read the attribute become stale.
                elif attributes[name] is not value:
                    each._tfkit_set(name, attributes[name])
        raise


def around_call(layer: Layer) -> contextlib.AbstractContextManager[None]:
    """Returns a context for a call: other threads wait during a build, which an error undoes."""
    return _first_call(layer) if claims.is_needed(layer) else contextlib.nullcontext()


@contextlib.contextmanager
def _first_call(layer: Layer) -> Iterator[None]:
    # If another thread was first, this is an ordinary call.
    with claims.claimed(layer):
        outermost = current_frame() is None and not layer._tfkit.built
        with undone_on_error(tracking.all_layers(layer) if outermost else []):
            yield


def _attributes(layer: Layer) -> dict[str, Any]:
    """Returns a layer's attributes without the bookkeeping of TensorFlow and tfkit."""
    return {
        name: value
        for name, value in vars(layer).copy().items()
        if name != "_tfkit" and name not in TRACKING
    }


def build_once(build: Callable[..., None]) -> Callable[..., None]:
    """Marks a layer as built when its `build` method has run, whoever called it.

    This is the only user method that tfkit wraps: after a direct `layer.build(shape)` the next
    `layer(x)` would otherwise build again, and the first weights would be lost.
    A `build` that fails leaves no weights behind.
    """

    @functools.wraps(build)
    def wrapper(self: Layer, *args: Any, **kwargs: Any) -> None:
        state = self._tfkit
        waits = not state.built and claims.is_needed(self)
        with claims.claimed(self) if waits else contextlib.nullcontext():
            if waits and state.built:  # Another thread has built it already.
                return
            before, builds = state.build_state(), state.builds
            if not builds:
                state.called_by(current_frame())
            # A `build` may call the `build` of its base class, which is part of the same build. If a user
            # calls the `build` of a complete layer again, no weights are added.
            unfinished = builds > 0 or not state.locked
            state.builds += unfinished
            try:
                # Outside of any trace in progress, because a weight outlives it. The frame makes this layer
                # the caller of the layers that it builds, so that they have paths.
                with tf.init_scope(), CallFrame(self) if unfinished else contextlib.nullcontext():
                    build(self, *args, **kwargs)
            except BaseException:
                state.set_build_state(before)
                raise
            finally:
                state.builds = builds
            bound = inspect.signature(build).bind(self, *args, **kwargs).arguments
            bound.pop(next(iter(bound)))
            given = {n: value for n, value in bound.items() if n not in ("args", "kwargs")}
            state.build_arguments = given or None
            state.built = True
            state.locked = not state.builds

    return wrapper


# --- The shapes for `build` ---------------------------------------------------------------------------


def shape_arguments(
    layer: Layer, method: Callable[..., Any], arguments: CallArguments
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the shapes of a call's arguments, positional and by name, for a method of the layer.

    Args:
        layer: the layer, for messages.
        method: its `build` or `compute_output_shape`.
        arguments: the arguments of the call.

    Raises:
        ValueError: for a parameter that is not named after an argument of `call()`.
        TypeError: for a required shape if the call passed no tensor for it.
    """
    shapes = arguments.shapes()
    known = inspect.signature(method).parameters
    parameters = [name for name, it in known.items() if not it.kind.name.startswith("VAR_")]
    takes_any = any(it.kind is it.VAR_KEYWORD for it in known.values())
    if not parameters and takes_any and len(shapes) > 1:  # As in Keras: all shapes.
        return (), {f"{name}_shape": shape for name, shape in shapes.items()}
    # A single parameter gets the shape of the first argument, whatever it is called.
    if len(parameters) == 1 or (not parameters and known):
        return (next(iter(shapes.values()), None),), {}
    what = f"`{method.__name__}()` method"
    names = arguments.signature.names
    of = {name: name.removesuffix("_shape") for name in parameters}
    for name in parameters:
        if not name.endswith("_shape") or of[name] not in names:
            raise ValueError(
                f"Layer {layer._tfkit.title} has a {what} with the arguments {parameters}. With more than "
                "one, each must be the name of an argument of `call()` and `_shape`. Received: "
                f"`{name}`. Expected names from: {[f'{argument}_shape' for argument in names]}"
            )
    absent = (known[name] for name in parameters if of[name] not in shapes)
    required = [it.name for it in absent if it.default is it.empty]
    if required:
        raise TypeError(
            f"Layer {layer._tfkit.title} has a {what} that needs `{required[0]}`, but the call passed no "
            f"tensor for `{of[required[0]]}`. Received tensors for: {list(shapes)}. Pass it, or give "
            f"`{required[0]}` a default of None."
        )
    return (), {name: shapes[of[name]] for name in parameters if of[name] in shapes}


def traced(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Builds the layer by tracing a call, and returns the symbolic outputs."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        policy = layer.dtype_policy
        if layer.autocast and policy.is_mixed:
            # The caller would pass float32, which the layer casts to 16 bits.
            specs.mark_as_given((args, kwargs), policy.compute_dtype, policy.variable_dtype)
        return layer._tfkit_call_in_phases(*layer._tfkit_as_tensors(args, kwargs))

    return trace(forward, args, kwargs)


# --- Building again -----------------------------------------------------------------------------------


_SIZES = "vocabulary_sizes"


def build_config(layer: Layer) -> dict[str, Any] | None:
    """Returns the shapes with which a layer was built, or the specs of the call that built its sublayers.

    The sizes of vocabularies inside are added, because shapes depend on them, and vocabularies are read
    later.
    """
    config = _build_shapes(layer)
    below = tracking.named_layers(layer)[1:] if config and not is_builtin(type(layer)) else ()
    found = {path: each._tfkit_known_size for path, each in below}
    sizes = {path: size for path, size in found.items() if size is not None}
    return {**config, _SIZES: sizes} if config and sizes else config


def _build_shapes(layer: Layer) -> dict[str, Any] | None:
    state = layer._tfkit
    if not state.built or state.build_arguments is None:
        called = state.specs if state.built else None
        return None if called is None else {"call": specs.to_data(called)}
    shapes = dict(state.build_arguments)  # In Keras's format, which Keras reads too.
    return (
        {"shapes_dict": shapes} if len(shapes) > 1 else {"input_shape": next(iter(shapes.values()))}
    )


def build_from_config(layer: Layer, config: dict[str, Any]) -> None:
    """Builds a layer without data, from the config of the layer that was saved."""
    if layer._tfkit.built or not config:
        return
    if _SIZES in config:
        sizes = config[_SIZES] if isinstance(config[_SIZES], dict) else {}
        config = {name: value for name, value in config.items() if name != _SIZES}
        for path, each in tracking.named_layers(layer):
            if isinstance(sizes.get(path), int):
                each._tfkit_known_size = sizes[path]
    if "call" in config:
        traced(layer, *specs.symbolic_call(config["call"], layer._tfkit.signature.signature))
        return
    shapes = config.get("shapes_dict", config)
    named = {name: specs.shapes_from_data(shape) for name, shape in shapes.items()}
    if len(named) == 1:  # The key is `input_shape`, whatever the parameter of `build` is called.
        layer.build(*named.values())
    elif layer._tfkit_overrides("build"):
        layer.build(**named)
    elif not all(below.built for below in tracking.all_layers(layer)[1:]):
        dtype = layer.input_dtype
        inputs = {
            name.removesuffix("_shape"): specs.symbolic_from_shapes(shape, dtype)
            for name, shape in named.items()
        }
        traced(layer, (), inputs)


def unbuilt_copy(layer: Layer) -> Layer:
    """Returns a new layer with the same configuration; the default seeds that it draws do not count."""
    # If `call` needs the shape, the copy is used for nothing else: it may be made, and built, in a call.
    with drawing_aside(), outside_calls():
        copy: Layer = serialization.made_again(layer)
    return copy
