"""Whether a trace only predicts: TensorFlow's kernels run it, and nothing in it is differentiated."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.watching import current_watch
from tfkit.src.borrowed.private import could_possibly_record


def predicts_only() -> bool:
    """Whether the trace in progress is for TensorFlow's kernels, and nothing in it is differentiated.

    A direct call that asks is traced a second time for calls that a tape follows.
    """
    if watch := current_watch():
        watch.depends_on_tapes = True
    is_predicted = context.current().only_predicts is tf.compat.v1.get_default_graph()
    return is_predicted and not could_possibly_record()
