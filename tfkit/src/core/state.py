"""A layer's bookkeeping, in one object apart from the user's attributes, and the watch over changes."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any

import tensorflow as tf

from tfkit.src.base import watching
from tfkit.src.core import tracking
from tfkit.src.core.context import call_context
from tfkit.src.core.recording import ConstructorArguments


class Part:
    """What a layer does in an outermost call, in one thread: another thread may be in another call of it.

    Attributes:
        thread: what stands for the thread, `None` for none.
        record: the number of the call.
        losses: the values that `add_loss` got in it.
    """

    __slots__ = ("losses", "record", "thread")

    def __init__(self, thread: object) -> None:
        self.thread = thread
        self.record = 0
        self.losses: list[tf.Tensor] = []


class LayerState(watching.Changes):
    """What tfkit keeps about one layer.

    Attributes:
        made: when the layer was made, as a number that grows.
        made_in: reference to the layer in whose `call` it was made, `None` for the usual case.
        arguments: the arguments of its constructor.
        attached: when each attribute was set.
        weights: its own weights, in order of creation.
        part: what it did in the latest outermost call of any thread.
        nodes: the recorded calls on symbolic tensors.
        build_arguments: the shapes with which `build()` was called.
        specs: shapes and dtypes of the arguments of all calls so far.
        given: the same of outermost calls, with dtypes before casts and with masks that were passed.
        output_shapes: shapes of the outputs of the first call.
        caller: reference to the layer that called this one first.
        locked: whether the layer is complete, so that no weight may be added.
        builds: how many `build` methods of the layer are running, one within the other.
        builder: the call under way that builds the layer, and that other threads wait for.
    """

    __slots__ = (
        "arguments",
        "attached",
        "build_arguments",
        "builder",
        "builds",
        "built",
        "caller",
        "direct",
        "given",
        "initialized",
        "locked",
        "made",
        "made_in",
        "nodes",
        "output_shapes",
        "part",
        "signature",
        "specs",
        "weights",
    )

    def __init__(self, made: int, arguments: ConstructorArguments) -> None:
        super().__init__()
        self.made = made
        self.made_in: Any = None
        self.arguments = arguments
        self.attached: dict[str, int] = {}
        self.weights: list[tf.Variable] = []
        self.part = Part(None)
        self.initialized = False
        self.built = False
        self.locked = False
        self.builds = 0
        self.builder: Any = None
        self.nodes: list[Any] = []
        self.build_arguments: dict[str, Any] | None = None
        self.specs: dict[str, Any] | None = None
        self.given: dict[str, Any] | None = None
        self.caller: Any = None
        self.output_shapes: Any = None
        self.signature: Any = None
        self.direct: Any = None

    def called_by(self, frame: Any) -> None:
        """Notes who calls the layer: the first layer that does, `None` where none has."""
        if not self.built or self.caller is None or self.caller() is None:
            self.caller = frame and weakref.ref(frame.layer)

    def begin_record(self, record: int) -> None:
        """The layer takes part in outermost call `record`: losses of earlier ones are forgotten."""
        part = self.part_here()
        if part.record != record:
            part.record = record
            part.losses = []
        self.note()

    def part_here(self) -> Part:
        """The layer's part in the latest outermost call of this thread."""
        part = self.part
        thread = call_context.thread
        if part.thread is not thread:
            parts = call_context.parts
            part = parts[self] = parts.get(self) or Part(thread)
            self.part = part
        return part

    @property
    def losses(self) -> list[tf.Tensor]:
        """The values that `add_loss` got in the latest call of this thread."""
        return self.part_here().losses

    @losses.setter
    def losses(self, losses: list[tf.Tensor]) -> None:
        self.part_here().losses = losses

    def build_state(self) -> dict[str, Any]:
        """What building changes."""
        names = ("build_arguments", "built", "given", "locked", "output_shapes", "specs")
        return {"weights": list(self.weights), **{name: getattr(self, name) for name in names}}

    def set_build_state(self, before: dict[str, Any]) -> None:
        """Sets back what building has changed."""
        for name, value in before.items():
            setattr(self, name, value)

    @property
    def owner(self) -> str:
        """The class of the layer."""
        return self.arguments.cls.__name__


class AttributeSetWhileTracing(Exception):
    """A call sets an attribute, which a trace of it would do only once."""


class StateWatch:
    """What takes part in what is traced inside the `with` block, and whether it changes later.

    Layers note themselves when they are called, and losses and metrics when they are.

    Changes that the trace makes itself are part of it. What another thread changes meanwhile may have been
    read before or after: it makes the trace stale.

    Args:
        frozen: whether setting an attribute of what takes part is refused.
    """

    def __init__(self, frozen: bool = False) -> None:
        self.frozen = frozen
        self.noted: list[watching.Changes] = []
        self.versions: dict[int, int] = {}
        self.own_changes: dict[watching.Changes, int] = {}
        self._began = 0
        self._checked = 0
        self._scopes: dict[str, weakref.ref[Any]] = {}

    def __enter__(self) -> StateWatch:
        self._began = watching.latest_change()
        watching.thread.watches = (*watching.thread.watches, self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for layer in [scoped() for scoped in self._scopes.values()]:
            if layer is not None:
                tracking.note_parts(layer)
        watching.thread.watches = watching.thread.watches[:-1]
        for state in self.noted:
            self.versions[id(state)] = self.own_changes.get(state, self.versions[id(state)])
        self.own_changes = {}
        self._checked = 0

    @property
    def called(self) -> list[LayerState]:
        """The layers among what takes part."""
        return [state for state in self.noted if isinstance(state, LayerState)]

    def note_change(self, state: watching.Changes) -> None:
        """An attribute was set inside the `with` block, by this thread."""
        self.own_changes[state] = state.version
        if self.frozen and self is current_watch() and id(state) in self.versions:
            raise AttributeSetWhileTracing(f"it sets the attribute `{state.latest_change}`")

    def note(self, state: watching.Changes) -> None:
        """A layer is called, or a loss, or a metric."""
        if id(state) not in self.versions:
            version = state.version
            by_another = version > self._began and state not in self.own_changes
            self.noted.append(state)
            self.versions[id(state)] = -1 if by_another else version

    def note_scope(self, scope: str, layer: Any) -> None:
        """Operations whose names begin with `scope` belong to the call of `layer`."""
        self._scopes[scope] = weakref.ref(layer)

    def path_of(self, operations: list[str]) -> str | None:
        """The path of the layer in whose call an operation was made, `None` where there is none.

        Args:
            operations: names in traces: that of the operation, then those of calls that it is in.
        """
        for operation in operations:
            scope = operation.removeprefix("gradient_tape/")
            while "/" in scope:
                scope = scope.rpartition("/")[0]
                layer = self._scopes.get(scope + "/", lambda: None)()
                if layer is not None:
                    return layer.path
        return None

    def unchanged(self) -> bool:
        """Whether no attribute of what took part was set since."""
        # Read before the versions, which may change while they are compared.
        latest = watching.latest_change()
        if self._checked != latest:
            if any(state.version != self.versions[id(state)] for state in self.noted):
                return False
            self._checked = latest
        return True

    def change(self) -> str:
        """The first change since, in words."""
        for state in self.noted:
            if state.version != self.versions[id(state)]:
                return f"the attribute `{state.latest_change}` of a {state.owner} was set"
        return "nothing has changed"


def current_watch() -> StateWatch | None:
    """The watch of the innermost trace in this thread, or `None`."""
    watches = watching.thread.watches
    return watches[-1] if watches else None
