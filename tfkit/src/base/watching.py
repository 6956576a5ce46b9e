"""Objects whose attributes programs have in them, and the notice that is taken when one is set.

A trace reads attributes once, when it is made. Each object counts its changes; whoever traces notes the
objects that take part, with their counts, and traces anew when a count has moved.
"""

from __future__ import annotations

import os
import threading
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

    watches: tuple[Any, ...] = ()


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
