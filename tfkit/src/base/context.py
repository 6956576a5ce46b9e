"""The one context: what is in progress around the code that runs, in its thread or `asyncio` task.

Its values would have to be passed through code of users and of TensorFlow, which passes nothing on. Each is a
field with a name; `core/README.md` says who sets and who reads it. All are in one `ContextVar`, so that a
thread or a task that is started with a copy of the context gets all of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any


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
