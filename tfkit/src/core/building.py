"""Building a layer once: the shapes that `build()` receives, and the config to build it again from a file."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.calls import CallFrame, current_frame, outside_calls
from tfkit.src.base.generators import drawing_aside
from tfkit.src.base.members import TRACKING
from tfkit.src.base.protocols import Tracked
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.tables import is_builtin
from tfkit.src.borrowed.private import init_scope
from tfkit.src.core import tracking
from tfkit.src.symbolic import specs
from tfkit.src.symbolic.arguments import CallArguments
from tfkit.src.symbolic.tensors import trace

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer
    from tfkit.src.core.state import LayerState


# --- One thread builds, others wait -------------------------------------------------------------------

_lock = threading.Lock()


class Builder:
    """A call that builds a layer, and the thread in which it runs."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.is_over = threading.Event()


def _must_claim(layer: Tracked) -> bool:
    """Whether a call of the layer must run inside `claimed`."""
    # Without the lock, because every call runs this. A layer that another thread is about to claim is not
    # built yet: then this is true anyway, and `claimed` waits.
    builder: Builder | None = layer._tfkit.builder
    return builder.thread != threading.get_ident() if builder else not layer._tfkit.built


@contextlib.contextmanager
def claimed(layer: Tracked) -> Iterator[None]:
    """Context manager: no other thread builds or calls `layer` and its unbuilt sublayers.

    Waits while another thread builds one of them. All are claimed at once, so that two threads never wait
    for each other.
    """
    if tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context():
        # A thread of a strategy's replica. These run one at a time, and wait for each other themselves.
        yield
        return
    builder = Builder()
    states = _claim(layer, builder)
    try:
        yield
    finally:
        for state in states:
            state.builder = None
        builder.is_over.set()


def _claim(layer: Tracked, builder: Builder) -> list[LayerState]:
    while True:
        states = [below._tfkit for below in tracking.all_layers(layer)]
        with _lock:
            builders = [state.builder for state in states]
            other = next((it for it in builders if it and it.thread != builder.thread), None)
            if other is None:
                # Layers that an outer call in this thread has claimed are left to it: it releases them.
                mine = [state for state in states if state.builder is None]
                for state in mine:
                    state.builder = builder
                return mine
        # Waits without the lock: the building thread may need it for layers that it finds later. Afterwards
        # everything is checked again: there may be new layers, and a third thread may have been faster.
        other.is_over.wait()


# --- A call that fails builds nothing -----------------------------------------------------------------


@contextlib.contextmanager
def undone_on_error(layers: list[Layer], always: bool = False) -> Iterator[None]:
    """Context manager that restores layers to their earlier state if an error occurs while they are built.

    Otherwise the layers that came before the refused one would keep the sizes of the refused input.

    Args:
        layers: the layers.
        always: whether they are restored without an error, too.
    """
    before = [(_attributes(each), each._tfkit.build_state()) for each in layers]
    undoes = True
    try:
        yield
        undoes = always
    finally:
        for each, (attributes, state) in zip(layers, before, strict=True) if undoes else ():
            each._tfkit.set_build_state(state)
            for name, value in _attributes(each).items():
                if name not in attributes:
                    delattr(each, name)
                # Not by `vars`: traces that have read the attribute become stale.
                elif attributes[name] is not value:
                    each._tfkit_set(name, attributes[name])


@contextlib.contextmanager
def unchanged(layer: Layer) -> Iterator[None]:
    """Context manager of a trace for shapes alone: what it builds does not stay built."""
    with undone_on_error(tracking.all_layers(layer), always=True), drawing_aside():
        # Its `build` may be what asks for the shapes, and is not called again.
        layer._tfkit.built |= layer._tfkit.builds > 0
        yield


def around_call(layer: Layer) -> contextlib.AbstractContextManager[None]:
    """Returns a context for a call: other threads wait during a build, which an error undoes."""
    return _first_call(layer) if _must_claim(layer) else contextlib.nullcontext()


@contextlib.contextmanager
def _first_call(layer: Layer) -> Iterator[None]:
    # If another thread was first, this is an ordinary call.
    with claimed(layer):
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
        waits = not state.built and _must_claim(self)
        with claimed(self) if waits else contextlib.nullcontext():
            if waits and state.built:  # Another thread has built it already.
                return
            builds = state.builds
            if not builds:
                state.called_by(current_frame())
            # A `build` may call the `build` of its base class, which is part of the same build. If a user
            # calls the `build` of a complete layer again, no weights are added.
            unfinished = builds > 0 or not state.locked
            state.builds += unfinished
            # An outermost call undoes what it has built inside.
            undone = tracking.all_layers(self) if current_frame() is None else [self]
            try:
                # Outside of any trace in progress, because a weight outlives it. The frame makes this layer
                # the caller of the layers that it builds, so that they have paths.
                frame = CallFrame(self) if unfinished else contextlib.nullcontext()
                with undone_on_error(undone), init_scope(), frame:
                    build(self, *args, **kwargs)
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
    # As in Keras: the shapes of all arguments.
    if not parameters and takes_any and len(shapes) > 1:
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
        policy = layer.dtype_policy.of(layer)
        if layer.autocast and policy.is_mixed:
            # The caller would pass float32, which the layer casts to 16 bits.
            specs.mark_as_given((args, kwargs), policy.compute_dtype, policy.variable_dtype)
        return layer._tfkit_call_in_phases(*layer._tfkit_as_tensors(args, kwargs))

    return trace(forward, args, kwargs)


# --- Building again -----------------------------------------------------------------------------------


_SIZES = "vocabulary_sizes"
# Parts of a layer may no longer be what its configuration makes of them: quantized, or with LoRA. A layer
# that consists of other layers describes itself, not its parts. Its build config therefore has an entry for
# each part that was changed later, by path, and the part looks it up when it is built again.
ADAPTED = "adapted_parts"


def build_config(layer: Layer) -> dict[str, Any] | None:
    """Returns the shapes with which a layer was built, or the specs of the call that built its sublayers.

    The sizes of vocabularies inside are added, because shapes depend on them, and vocabularies are read
    later; and the entries of parts that were adapted.
    """
    # The path, which chooses among several policies, is known only within the model.
    if isinstance(layer.dtype_policy, Mapping):
        return None
    config = _build_shapes(layer)
    if config is None:
        return None
    below = tracking.named_layers(layer)[1:]
    known = {} if is_builtin(type(layer)) else {path: it._tfkit_known_size for path, it in below}
    sizes = {path: size for path, size in known.items() if size is not None}
    parts = {path: it._tfkit_adaptation() for path, it in below if hasattr(it, "_tfkit_adaptation")}
    adapted = {path: entry for path, entry in parts.items() if entry}
    added = {_SIZES: sizes, ADAPTED: adapted} if config else {ADAPTED: adapted}
    return {**config, **{name: entries for name, entries in added.items() if entries}}


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
    parts = config.get(ADAPTED)
    if not isinstance(parts, dict):
        _build_from_shapes(layer, config)
        return
    with context.within(adapted_parts=(layer, parts)):
        _build_from_shapes(layer, {name: it for name, it in config.items() if name != ADAPTED})


def _build_from_shapes(layer: Layer, config: dict[str, Any]) -> None:
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
    own = layer._tfkit_overrides("build")
    if len(named) == 1:  # The key is `input_shape`, whatever the parameter of `build` is called.
        layer.build(*named.values())
    elif own:
        layer.build(**named)
    unbuilt = [below for below in tracking.all_layers(layer)[1:] if not below.built]
    # A `build` of its own may leave layers to the first call.
    if any(below._tfkit_overrides("build") or not own for below in unbuilt):
        inputs = {
            name.removesuffix("_shape"): specs.symbolic_from_shapes(shape, layer.input_dtype)
            for name, shape in named.items()
        }
        args, kwargs = ((*inputs.values(),), {}) if len(inputs) == 1 else ((), inputs)
        # The call may need other arguments, which are not known here, and not be what builds them.
        refused = contextlib.suppress(Exception) if own else contextlib.nullcontext()
        with refused, undone_on_error(tracking.all_layers(layer)):
            traced(layer, args, kwargs)


def unbuilt_copy(layer: Layer) -> Layer:
    """Returns a new layer with the same configuration; the default seeds that it draws do not count."""
    # If `call` needs the shape, the copy is used for nothing else: it may be made, and built, in a call.
    with drawing_aside(), outside_calls():
        copy: Layer = serialization.made_again(layer)
    return copy
