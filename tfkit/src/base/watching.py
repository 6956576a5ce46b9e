"""Objects whose attributes traces depend on, and the detection of changes.

A trace reads attributes once, when it is made. Each object counts its changes; the tracing code records the
objects that take part, with their counts, and traces again when a count has changed.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Any

from tfkit.src.base.calls import calls

_latest_change = 0
_change_lock = threading.Lock()


def _in_child() -> None:
    # The thread that could hold the lock is missing. Acquiring it before forks could keep them waiting for
    # a module that another thread is importing, and that changes objects.
    global _change_lock
    _change_lock = threading.Lock()


os.register_at_fork(after_in_child=_in_child)


def latest_change() -> int:
    """Returns the number of the latest change of any object."""
    return _latest_change


class Changes:
    """The changes of the attributes of one object.

    Attributes:
        version: the number of the latest change.
        latest_change: the attribute that it set.
    """

    __slots__ = ("__weakref__", "latest_change", "version")

    def __init__(self) -> None:
        self.version = 0
        self.latest_change = ""

    @property
    def owner(self) -> str:
        """The description of the object, for messages."""
        raise NotImplementedError

    def note(self) -> None:
        """Adds the object to the dependencies of the trace in progress, if there is one."""
        if calls.watches:
            calls.watches[-1].note(self)

    def changed(self, attribute: str) -> None:
        """Records that an attribute was set, which makes traces that depend on the object stale."""
        global _latest_change
        with _change_lock:
            # First, so that a thread that sees the number finds the change.
            self.version = _latest_change + 1
            _latest_change = self.version
        self.latest_change = attribute
        for watch in calls.watches:
            watch.note_change(self)


class Called(Changes):
    """The changes of an object whose calls make operations: of a layer."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """The path of the object, for messages."""
        raise NotImplementedError

    def note_parts(self) -> None:
        """Adds objects that a call has read to the dependencies of the trace in progress."""
        raise NotImplementedError


class _OwnChanges(Changes):
    """The changes of an object of a class."""

    __slots__ = ("_owner",)

    def __init__(self, cls: type) -> None:
        super().__init__()
        self._owner = cls.__name__

    @property
    def owner(self) -> str:
        return self._owner


class Watched:
    """A class whose objects count their changes, for objects other than layers that compiled programs call.

    Setting an attribute to the plain value that it already has does not count.
    """

    @property
    def _tfkit_changes(self) -> Changes:
        # Made on first use: a subclass may set attributes before it calls `super().__init__()`.
        changes: Changes | None = vars(self).get("_tfkit_own_changes")
        # Two threads at once get the same object.
        return changes or vars(self).setdefault("_tfkit_own_changes", _OwnChanges(type(self)))

    def _tfkit_is_change(self, name: str, value: Any) -> bool:
        old = vars(self).get(name, _MISSING)
        if value is old:
            # A list or an array may have other contents by now, as after `loss.factors *= 2`.
            return type(value).__hash__ is None
        # Other objects may compare as equal and still differ, or raise an error when they are
        # compared.
        plain = isinstance(value, (str, int, float, bool, type(None)))
        return not (plain and type(value) is type(old) and value == old)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; programs that contain the old one are traced again."""
        is_change = self._tfkit_is_change(name, value)
        super().__setattr__(name, value)
        if is_change:
            self._tfkit_changes.changed(name)


_MISSING = object()


def note(value: Any) -> None:
    """Adds `value` to the dependencies of the trace in progress, if it counts its changes."""
    if calls.watches and isinstance(value, Watched):
        value._tfkit_changes.note()


class AttributeSetWhileTracing(Exception):
    """A call sets an attribute, which a trace of it would do only once."""


class StateWatch:
    """The dependencies of a trace made inside the `with` block, and whether they change later.

    Layers, losses and metrics add themselves when they are called.

    Changes that the trace makes itself are part of it. A change by another thread in the meantime may have
    been read before or after: it makes the trace stale.

    Args:
        frozen: whether setting an attribute of a dependency raises an error.

    Attributes:
        depends_on_tapes: whether the trace would be different where a tape records it.
    """

    def __init__(self, frozen: bool = False) -> None:
        self.frozen = frozen
        self.depends_on_tapes = False
        self.noted: list[Changes] = []
        self.versions: dict[int, int] = {}
        self.own_changes: dict[Changes, int] = {}
        self._began = 0
        self._checked = 0
        self._scopes: dict[str, weakref.ref[Called]] = {}

    def __enter__(self) -> StateWatch:
        self._began = latest_change()
        calls.watches = (*calls.watches, self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for called in [reference() for reference in self._scopes.values()]:
            if called is not None:
                called.note_parts()
        calls.watches = calls.watches[:-1]
        for state in self.noted:
            self.versions[id(state)] = self.own_changes.get(state, self.versions[id(state)])
        self.own_changes = {}
        self._checked = 0

    def note_change(self, state: Changes) -> None:
        """Records that this thread has set an attribute inside the `with` block."""
        self.own_changes[state] = state.version
        if self.frozen and self is current_watch() and id(state) in self.versions:
            raise AttributeSetWhileTracing(f"it sets the attribute `{state.latest_change}`")

    def note(self, state: Changes) -> None:
        """Adds a layer, a loss or a metric that is called."""
        if id(state) not in self.versions:
            version = state.version
            # Another thread has changed it since the trace began: -1 is no version, and so the
            # trace is stale.
            by_another = version > self._began and state not in self.own_changes
            self.noted.append(state)
            self.versions[id(state)] = -1 if by_another else version

    def note_scope(self, scope: str, called: Called) -> None:
        """Records that operations whose names begin with `scope` belong to a call of `called`."""
        # Weakly: a trace must not keep a layer alive.
        self._scopes[scope] = weakref.ref(called)

    def path_of(self, operations: list[str]) -> str | None:
        """Returns the path of the layer whose call made an operation; `None` if there is none.

        Args:
            operations: names in traces: the operation's, then the names of the calls that it is in.
        """
        for operation in operations:
            scope = operation.removeprefix("gradient_tape/")
            # The innermost scope that belongs to a layer: the name of an operation contains the names
            # of all scopes around it.
            while "/" in scope:
                scope = scope.rpartition("/")[0]
                called = self._scopes.get(scope + "/", lambda: None)()
                if called is not None:
                    return called.path
        return None

    def unchanged(self) -> bool:
        """Whether no attribute of a dependency was set since."""
        # Read before the versions, which may change during the comparison.
        latest = _latest_change
        # Usually nothing has changed anywhere, and one comparison of integers is enough.
        if self._checked != latest:
            if any(state.version != self.versions[id(state)] for state in self.noted):
                return False
            self._checked = latest
        return True

    def change(self) -> str:
        """Returns a description of the first change since."""
        for state in self.noted:
            if state.version != self.versions[id(state)]:
                return f"the attribute `{state.latest_change}` of a {state.owner} was set"
        return "nothing has changed"


def current_watch() -> StateWatch | None:
    """Returns the watch of the innermost trace in this thread, or `None`."""
    watches = calls.watches
    return watches[-1] if watches else None
