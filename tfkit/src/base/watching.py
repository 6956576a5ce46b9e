"""Objects whose attributes programs have in them, and the notice that is taken when one is set.

A trace reads attributes once, when it is made. Each object counts its changes; whoever traces notes the
objects that take part, with their counts, and traces anew when a count has moved.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Any

_latest_change = 0
_change_lock = threading.Lock()
# Not to be held by a thread that a forked process has not.
os.register_at_fork(
    before=_change_lock.acquire,
    after_in_parent=_change_lock.release,
    after_in_child=_change_lock.release,
)


class _Thread(threading.local):
    """The watches of the traces under way in one thread, the innermost last."""

    watches: tuple[StateWatch, ...] = ()


thread = _Thread()


def latest_change() -> int:
    """The number of the latest change of any object."""
    return _latest_change


class Changes:
    """How often the attributes of one object were set.

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
        """What the object is, for messages."""
        raise NotImplementedError

    def note(self) -> None:
        """The object takes part in what is traced, if anything is."""
        if thread.watches:
            thread.watches[-1].note(self)

    def changed(self, attribute: str) -> None:
        """Notes that an attribute was set: traces that the object took part in are stale."""
        global _latest_change
        with _change_lock:
            self.version = _latest_change + 1  # First: who sees the number finds the change.
            _latest_change = self.version
        self.latest_change = attribute
        for watch in thread.watches:
            watch.note_change(self)


class Called(Changes):
    """The changes of an object in whose calls operations are made: of a layer."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """How the object is reached, for messages."""
        raise NotImplementedError

    def note_parts(self) -> None:
        """Notes in the trace under way what a call has read and does not note itself."""
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
    """A class whose objects count their changes; what is called by compiled programs and is no layer.

    Setting an attribute to the plain value that it has is no change.
    """

    @property
    def _changes(self) -> Changes:
        # Made when it is asked for: a subclass may set attributes before it calls `super().__init__()`.
        changes: Changes | None = vars(self).get("_own_changes")
        # Two threads that ask at once get the same.
        return changes or vars(self).setdefault("_own_changes", _OwnChanges(type(self)))

    def _is_change(self, name: str, value: Any) -> bool:
        old = vars(self).get(name, _MISSING)
        plain = isinstance(value, (str, int, float, bool, type(None)))
        return not (value is old or (plain and type(value) is type(old) and value == old))

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; programs that have the old one in them are made anew."""
        is_change = self._is_change(name, value)
        super().__setattr__(name, value)
        if is_change:
            self._changes.changed(name)


_MISSING = object()


def note(value: Any) -> None:
    """Notes in the trace under way that `value` takes part, where it is one that counts its changes."""
    if thread.watches and isinstance(value, Watched):
        value._changes.note()


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
        self.noted: list[Changes] = []
        self.versions: dict[int, int] = {}
        self.own_changes: dict[Changes, int] = {}
        self._began = 0
        self._checked = 0
        self._scopes: dict[str, weakref.ref[Called]] = {}

    def __enter__(self) -> StateWatch:
        self._began = latest_change()
        thread.watches = (*thread.watches, self)
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
        thread.watches = thread.watches[:-1]
        for state in self.noted:
            self.versions[id(state)] = self.own_changes.get(state, self.versions[id(state)])
        self.own_changes = {}
        self._checked = 0

    def note_change(self, state: Changes) -> None:
        """An attribute was set inside the `with` block, by this thread."""
        self.own_changes[state] = state.version
        if self.frozen and self is current_watch() and id(state) in self.versions:
            raise AttributeSetWhileTracing(f"it sets the attribute `{state.latest_change}`")

    def note(self, state: Changes) -> None:
        """A layer is called, or a loss, or a metric."""
        if id(state) not in self.versions:
            version = state.version
            by_another = version > self._began and state not in self.own_changes
            self.noted.append(state)
            self.versions[id(state)] = -1 if by_another else version

    def note_scope(self, scope: str, called: Called) -> None:
        """Operations whose names begin with `scope` belong to a call of `called`."""
        self._scopes[scope] = weakref.ref(called)

    def path_of(self, operations: list[str]) -> str | None:
        """The path of the layer in whose call an operation was made, `None` where there is none.

        Args:
            operations: names in traces: that of the operation, then those of calls that it is in.
        """
        for operation in operations:
            scope = operation.removeprefix("gradient_tape/")
            while "/" in scope:
                scope = scope.rpartition("/")[0]
                called = self._scopes.get(scope + "/", lambda: None)()
                if called is not None:
                    return called.path
        return None

    def unchanged(self) -> bool:
        """Whether no attribute of what took part was set since."""
        # Read before the versions, which may change while they are compared.
        latest = latest_change()
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
    watches = thread.watches
    return watches[-1] if watches else None
