"""Changes of the weights of a layer that is built already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from tfkit.src.base.calls import CallFrame
from tfkit.src.core import building
from tfkit.src.core.layer import Layer


@contextlib.contextmanager
def changing_weights(layer: Layer) -> Iterator[None]:
    """Context manager in which weights of a built layer are added and replaced, as in its `build`.

    Other threads wait, and an error undoes everything. The traces of the layer are stale afterwards, because
    attributes have been set.
    """
    state = layer._tfkit
    with (
        building.claimed(layer),
        building.undone_on_error([layer]),
        # Variables are made outside of a trace in progress, and outlive it.
        tf.init_scope(),
        CallFrame(layer),
    ):
        state.builds += 1
        try:
            yield
        finally:
            state.builds -= 1
