"""Refuses work that would hang in a process forked after TensorFlow has started to run.

`fork` copies the memory, but only the thread that forks. TensorFlow's threads are missing in the child, so
their work is never done: `predict` waits forever, and so does a large product or draw. The first operation or
variable starts the threads; importing TensorFlow, and listing its devices, starts none. Reading and writing
files of weights needs none either.
"""

from __future__ import annotations

import os

from tfkit.src.borrowed.private import has_begun

# Read before each outermost call of a layer: 30 ns.
threads_are_lost = False


def check(what: str) -> None:
    """Raises an error if TensorFlow's threads are lost.

    Args:
        what: a description of the work, for the message.

    Raises:
        RuntimeError: with advice on alternatives.
    """
    if threads_are_lost:
        raise RuntimeError(
            f"{what} could wait forever: this process (pid {os.getpid()}) was forked after TensorFlow had "
            "begun to run, and TensorFlow's threads are not in it. Start new processes, with "
            "`multiprocessing.get_context('spawn')` or `'forkserver'`; or fork before the first tensor, "
            "layer or model is made, and make them in the child."
        )


def _in_child() -> None:
    global threads_are_lost
    threads_are_lost = threads_are_lost or has_begun()


os.register_at_fork(after_in_child=_in_child)
