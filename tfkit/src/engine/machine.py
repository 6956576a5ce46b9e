"""The machine that programs run on: its type of device, its CPU, and the kernels that a trace is for."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.watching import current_watch
from tfkit.src.borrowed.private import build_flags, could_possibly_record

# The dtypes for which TensorFlow uses oneDNN's kernels.
ONEDNN_DTYPES = (tf.float32, tf.bfloat16, tf.float16)


@functools.cache
def device() -> str:
    """Returns the type of device that programs run on: `"TPU"`, `"GPU"` or `"CPU"`."""
    for kind in ("TPU", "GPU"):
        if tf.config.list_logical_devices(kind):
            return kind
    return "CPU"


@functools.cache
def onednn_is_on() -> bool:
    """Whether TensorFlow uses oneDNN's kernels on this machine's CPU, and programs run on the CPU.

    TensorFlow decides when it is imported, by `TF_ENABLE_ONEDNN_OPTS` or else by the CPU.
    """
    return device() == "CPU" and build_flags.IsMklEnabled()


@contextlib.contextmanager
def assume_onednn(on: bool) -> Iterator[None]:
    """Context manager that traces for oneDNN's kernels, or for other ones; the outermost one decides.

    A SavedModel may run on any CPU; StableHLO, LiteRT and ONNX have their own kernels.
    """
    outermost = context.current().onednn
    with context.within(onednn=on if outermost is None else outermost):
        yield


def onednn_is_assumed() -> bool:
    """Whether the trace in progress is for oneDNN's kernels."""
    assumed = context.current().onednn
    return onednn_is_on() if assumed is None else assumed


def predicts_only() -> bool:
    """Whether the trace in progress is for TensorFlow's kernels, and nothing in it is differentiated.

    A direct call that asks is traced a second time for calls that a tape follows.
    """
    if watch := current_watch():
        watch.depends_on_tapes = True
    is_predicted = context.current().only_predicts is tf.compat.v1.get_default_graph()
    return is_predicted and not could_possibly_record()


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Returns the CPU's instruction sets as Linux names them; empty if they are not known."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    return frozenset()
