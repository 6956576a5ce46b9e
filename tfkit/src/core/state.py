"""A layer's bookkeeping, kept in one object apart from the user's attributes."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base import watching
from tfkit.src.base.calls import CallFrame, Part, calls
from tfkit.src.base.members import MetricBase
from tfkit.src.base.quoting import shown
from tfkit.src.base.registry.constructors import ConstructorArguments
from tfkit.src.core import tracking
from tfkit.src.engine.autograph import convert_if_needed
from tfkit.src.symbolic import specs
from tfkit.src.symbolic.arguments import CallArguments, CallSignature
from tfkit.src.symbolic.rematerialization import RematScope, current_scope
from tfkit.src.symbolic.tensors import Node, is_described

if TYPE_CHECKING:
    from tfkit.src.core.building import Builder
    from tfkit.src.core.compiled import DirectCalls
    from tfkit.src.core.layer import Layer

_specs_lock = threading.Lock()
_CHANGED_BY_BUILDING = ("build_arguments", "built", "given", "locked", "output_shapes", "specs")


@dataclasses.dataclass(eq=False, repr=False)
class LayerState(watching.Called):
    """The bookkeeping of one layer."""

    layer: Layer
    arguments: ConstructorArguments  # The arguments of its constructor.
    made: int  # The time of its creation, as a growing number.
    # The layer in whose `call` it was made, which is a mistake.
    made_in: weakref.ref[Layer] | None = None
    attached: dict[str, int] = field(default_factory=dict)  # When each attribute was set.
    listed: int = 0  # When its members were last listed, and when each of them first, by id.
    first_listed: dict[int, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # Of the containers in its attributes then.
    weights: list[Any] = field(default_factory=list)  # Its own weights, in order of creation.
    # Losses of the latest call of any thread.
    part: Part = field(default_factory=lambda: Part(None))
    remat: RematScope | None = field(default_factory=current_scope)  # The scope it was made in.
    placing: Any = None  # In a trace for JAX: gives a layout to what `call` returns.
    nodes: list[Node] = field(default_factory=list)  # The recorded calls on symbolic tensors.
    caller: weakref.ref[Layer] | None = None  # The layer that called this one first.
    # The layers called in its latest outermost eager call that was checked for hidden layers.
    verified: frozenset[int] = frozenset()
    # Frozen layers that its calls use, and that no attribute holds.
    unlisted: weakref.WeakSet[LayerState] = field(default_factory=weakref.WeakSet)
    # Whether it was made trainable, though the layers around it may be frozen.
    thawed: bool = False
    loses_masks: bool = False  # Whether it has warned that layers after it do not see a mask.

    # Set by the constructor of `Layer`, which a subclass may call late, or not at all.
    initialized: bool = False
    signature: CallSignature = field(init=False)
    direct: DirectCalls = field(init=False)

    # The state that building changes.
    built: bool = False
    locked: bool = False  # Whether the layer is complete, so that no weight may be added.
    build_arguments: dict[str, Any] | None = None  # The shapes with which `build()` was called.
    specs: dict[str, Any] | None = None  # Shapes and dtypes of the arguments of all calls so far.
    # The same for outermost calls, with dtypes before casts, and with masks.
    given: dict[str, Any] | None = None
    output_shapes: Any = None  # The shapes of the first call's outputs.

    # Builds in progress.
    # The number of `build` methods of the layer that are running, one inside the other.
    builds: int = 0
    builder: Builder | None = None  # The call that builds the layer; other threads wait for it.

    def __post_init__(self) -> None:
        super().__init__()

    @property
    def owner(self) -> str:
        """The class of the layer."""
        return self.arguments.cls.__name__

    @property
    def title(self) -> str:
        """The path and the class of the layer, for messages: `'encoder/dense' (of type Dense)`."""
        return f"'{shown(self.path)}' (of type {type(self.layer).__name__})"

    def check_initialized(self) -> None:
        """Raises an error if the layer's class has not called the constructor of `Layer`.

        Raises:
            RuntimeError: with the line to add.
        """
        if not self.initialized:
            raise RuntimeError(
                f"In layer '{self.owner}', you forgot to call `super().__init__()` as the first statement in "
                "the `__init__()` method. Go add it!"
            )

    # --- Who calls the layer --------------------------------------------------------------------------

    def called_by(self, frame: CallFrame | None) -> None:
        """Records the first layer that calls this one; `None` for a call outside of any layer."""
        # A built layer keeps its path, which weights and messages contain. The reference is weak, so that a
        # layer taken from a model does not keep the model alive.
        if not self.built or self.caller is None or self.caller() is None:
            self.caller = weakref.ref(frame.layer) if frame else None

    def callers(self) -> Iterator[Layer]:
        """Yields the layer itself, the layer that called it, that layer's caller, and so on, each once."""
        seen: set[int] = set()
        layer: Layer | None = self.layer
        while layer is not None and id(layer) not in seen:
            seen.add(id(layer))
            yield layer
            caller = layer._tfkit.caller
            layer = caller() if caller else None

    @property
    def path(self) -> str:
        """The path from the outermost layer that called this one; the layer's name if there is none."""
        layers = list(self.callers())
        steps = [tracking.step_to(*pair) for pair in itertools.pairwise(layers)]
        return "/".join([layers[-1].name, *reversed(steps)])

    def settings(self) -> list[Any]:
        """Returns the settings passed to `compile` for the layer and its callers, where they are models."""
        found = (layer._tfkit_settings for layer in self.callers())
        return [settings for settings in found if settings is not None]

    @property
    def first_node(self) -> Node:
        """The first recorded call on symbolic tensors."""
        if not self.nodes:
            raise AttributeError(
                f"Layer '{self.layer.name}' has never been called on symbolic tensors and thus has no "
                "defined input and output. Call it on `Input(shape=...)`."
            )
        return self.nodes[0]

    def computation(self, args: Any, kwargs: Any) -> Callable[..., Any]:
        """Returns `call` converted by AutoGraph, and with `remat` if a `RematScope` requires it."""
        converted = convert_if_needed(self.layer.call, is_described)
        call = converted if self.placing is None else self.placing(converted)
        layers = () if self.remat is None else tracking.all_layers(self.layer)
        if self.remat is None or is_described() or not all(below.built for below in layers):
            return call
        return self.remat.applied(
            call, self.layer, lambda: self.layer.compute_output_spec(*args, **kwargs)
        )

    # --- Losses that calls have added -----------------------------------------------------------------

    def begin_call(self, number: int) -> None:
        """Registers the layer in outermost call `number`, and discards losses of earlier calls."""
        part = self.part_here()
        if part.call != number:
            part.call = number
            part.losses = []
        self.note()

    def part_here(self) -> Part:
        """Returns the layer's part in the latest outermost call of this thread."""
        # Usually one thread calls a layer, and its part is stored here. If several do, each finds its own
        # part in thread-local storage.
        part = self.part
        thread = calls.thread
        if part.thread is not thread:
            parts = calls.parts
            part = parts[self] = parts.get(self) or Part(thread)
            self.part = part
        return part

    @property
    def losses(self) -> list[tf.Tensor]:
        """The values passed to `add_loss` in the latest call of this thread."""
        return self.part_here().losses

    @losses.setter
    def losses(self, losses: list[tf.Tensor]) -> None:
        self.part_here().losses = losses

    def all_losses(self) -> list[tf.Tensor]:
        """Returns the losses of the latest call, sublayers included, and the penalties of trainable weights.

        It is the latest call of this thread, if this thread has called the layer, or else of any thread.
        """
        states = [below._tfkit for below in tracking.all_layers(self.layer)]
        if self in calls.parts:
            parts = [calls.parts[state] for state in states if state in calls.parts]
        else:
            parts = [state.part for state in states]
        losses = [
            loss
            for part in parts
            if part.call >= parts[0].call
            for loss in part.losses
            # A tensor that a trace left behind has no value once the trace is over.
            if hasattr(loss, "numpy") or not tf.executing_eagerly()
        ]
        for weight, trained in tracking.variables_of(self.layer, seeds=False):
            regularizer = getattr(weight, "regularizer", None)
            if trained and regularizer is not None:
                watching.note(regularizer)
                losses.append(regularizer(weight))
        return losses

    def note_parts(self) -> None:
        """Adds objects that a call has read to the dependencies of the trace in progress."""
        watching.note(getattr(self.layer, "activity_regularizer", None))
        for _, member in self.layer._tfkit_members():
            if isinstance(member, MetricBase):
                member.take_part()

    # --- Specs of calls and builds --------------------------------------------------------------------

    def note_specs(self, arguments: CallArguments) -> None:
        """Adds the arguments of an outermost call to the specs of earlier calls.

        The trace of a direct call gets tensors that are cast already: it does not show what the caller
        passed.
        """
        watch = watching.current_watch()
        with _specs_lock:
            self.specs = specs.merged(self.specs, arguments.specs())
            if watch is None or not watch.frozen:
                self.given = specs.merged(self.given, arguments.specs(as_given=True))

    def build_state(self) -> dict[str, Any]:
        """Returns the state that building changes."""
        state = {name: getattr(self, name) for name in _CHANGED_BY_BUILDING}
        return {"weights": list(self.weights), "nodes": list(self.nodes), **state}

    def set_build_state(self, before: dict[str, Any]) -> None:
        """Restores a state that `build_state` returned."""
        for name, value in before.items():
            setattr(self, name, value)
