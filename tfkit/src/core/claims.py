"""Building a layer in one thread at a time: others wait until the call that builds it is over.

A call that fails undoes its build, so nothing that it has built may be used before it ends.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import tensorflow as tf

from tfkit.src.base.protocols import Tracked
from tfkit.src.core import tracking

if TYPE_CHECKING:
    from tfkit.src.core.state import LayerState

_lock = threading.Lock()


class Builder:
    """A call that builds a layer, and the thread in which it runs."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.is_over = threading.Event()


def is_needed(layer: Tracked) -> bool:
    """Whether a call of the layer must run inside `claimed`."""
    # Without the lock, because every call runs this. A layer that another thread is about to claim is not
    # built yet: then this is true anyway, and `claimed` waits.
    builder = layer._tfkit.builder
    if builder is None:
        return not layer._tfkit.built
    return bool(builder.thread != threading.get_ident())


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
