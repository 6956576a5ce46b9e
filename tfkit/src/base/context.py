"""The one context: what is in progress around the code that runs, in its thread or `asyncio` task.

Its values would have to be passed through code of users and of TensorFlow, which passes nothing on. Each is a
field with a name; `core/README.md` says who sets and who reads it. All are in one `ContextVar`, so that a
thread or a task that is started with a copy of the context gets all of them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Generic, TypeVar


class Context:
    """The values in progress. An object is never changed: the next one replaces it.

    Values whose types belong to other rooms are `Any`, because this is the lowest room.

    Attributes:
        execution: the settings of the model whose step runs.
        recomputation: the computation that is made twice for a gradient.
        without_results: the model whose steps only update metrics.
        validation: the validation that an overridden `evaluate` belongs to.
        replica_rows: the rows of the replica whose step is traced.
        servers: the strategy on whose parameter servers a traced step has its variables.
        known_rows: the tensors of a trace that are known to have rows.
        onednn: whether a trace is made for oneDNN's kernels; `None` if this machine's kernels decide.
        for_litert: whether a trace is made for LiteRT.
        direct: whether a trace is one of a direct call of a layer.
        only_predicts: the graph of a trace for TensorFlow's kernels that is not differentiated.
        unconverted: methods that a trace ran without AutoGraph, and that need it; `None` if it converts all.
        update_values: what the variables of one update compute once.
        name_scopes: the scopes of names, the innermost last.
        remat_scopes: the scopes of layers that recompute, the innermost last.
        budget: what a configuration may still spend; `None` without a limit.
        deferred_weights: weights whose first values are not drawn, as a file has others.
        not_stored: whether variables are counted as not stored.
        adapted_parts: the layer that is built again, and the entries for its parts.
        custom_objects: what configurations may name in addition.
        compiles: whether models made from configurations are compiled.
        objects_written: the objects that a configuration has described.
        for_file: whether a configuration is written to a file that holds the layers' arrays too.
        objects_read: the objects made from a configuration.
        references: the objects that configurations refer to by a number.
        discards_files: whether files that are written are not kept.
        name_counts: the counts of default names in this thread, see `ThreadSetting`; likewise:
        generators: the random generators.
        dtype_policy: the policy of new layers.
        distribution: the distribution of new models.
    """

    execution: Any = None
    recomputation: Any = None
    without_results: Any = None
    validation: Any = None
    replica_rows: Any = None
    servers: Any = None
    known_rows: Any = None
    onednn: bool | None = None
    for_litert: bool = False
    direct: bool = False
    only_predicts: Any = None
    unconverted: list[Any] | None = None
    update_values: dict[Any, Any] | None = None
    name_scopes: tuple[Any, ...] = ()
    remat_scopes: tuple[Any, ...] = ()
    budget: dict[str, int] | None = None
    deferred_weights: list[Any] | None = None
    not_stored: bool = False
    adapted_parts: tuple[Any, dict[str, Any]] | None = None
    custom_objects: Mapping[str, Any] = MappingProxyType({})
    compiles: bool = True
    objects_written: dict[int, Any] | None = None
    for_file: bool = False
    objects_read: dict[int, Any] | None = None
    references: Any = None
    discards_files: bool = False
    name_counts: Any
    generators: Any
    dtype_policy: Any
    distribution: Any


_NOTHING = Context()
_current: ContextVar[Context] = ContextVar("tfkit", default=_NOTHING)

current = _current.get


# A new object each time: tasks and threads that were started with the old one keep seeing it.
def put(**fields: Any) -> None:
    """Sets fields from now on, in this thread or task."""
    _replace({**vars(current()), **fields})


@contextlib.contextmanager
def within(**fields: Any) -> Iterator[None]:
    """Context manager in which fields have values. Other fields keep what is set in the meantime."""
    before = vars(current())
    put(**fields)
    try:
        yield
    finally:
        # A field without a value stays without one: the process's setting applies to the thread again.
        kept = {name: value for name, value in vars(current()).items() if name not in fields}
        _replace({**kept, **{name: before[name] for name in fields if name in before}})


def _replace(values: dict[str, Any]) -> None:
    new = Context()
    vars(new).update(values)
    _current.set(new)


# --- Settings that the main thread makes for the process, and any other thread for itself; a lock -----

T = TypeVar("T")


def is_main() -> bool:
    """Whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


class Lock:
    """A reentrant lock. A copy of its owner gets a new one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __deepcopy__(self, memo: object) -> Lock:
        return Lock()


class ThreadSetting(Generic[T]):
    """A value of the process, and separate values of single threads, in a field of the context.

    Args:
        field: the field of `Context`.
        value: the value of the process.
        make: returns the first value of a thread other than the main one. Without it, such a
            thread has the value of the process until it sets its own.
    """

    def __init__(self, field: str, value: T, make: Callable[[], T] | None = None) -> None:
        self._field = field
        self._of_process = value
        self._make = make

    def get(self) -> T:
        """Returns the value in this thread."""
        own = vars(current())
        if self._field in own:
            value: T = own[self._field]
            return value
        if self._make is not None and not is_main():
            self.set(self._make())
            return self.get()
        return self._of_process

    def set(self, value: T) -> None:
        """Sets it for the process in the main thread, in any other for that thread."""
        if is_main():
            self._of_process = value
        else:
            put(**{self._field: value})

    def being(self, value: T) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager in which this thread has this value."""
        return within(**{self._field: value})
