"""Withholds the log lines that TensorFlow's libraries print about themselves when they are loaded.

The libraries write them to the process's standard error stream before any setting of theirs is read: that
oneDNN is on, that no CUDA driver was found, and, in red letters in many terminals, that the driver that was
not found could not be started. Here the stream leads to a file for that time, and all other lines are
written to it afterwards. `TF_CPP_MIN_LOG_LEVEL=0` shows everything.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_lock = threading.RLock()
_SHOWS_ALL = os.environ.get(_LEVEL) == "0"

# Information in the form of absl (`I0000 00:00:17 1 port.cc:153] text`) and in TensorFlow's (`2026-01-01
# 00:00:00.0: I path.cc:1] text`, with a second line); errors that report no fault.
_WITHHELD = re.compile(
    rb"(I\d{4} |[\d-]{10} [\d:.]+: I |To enable the following instructions: )"
    rb"|WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR"
    rb"|.*(failed call to cuInit"
    rb"|Unable to register cu\w+ factory"
    rb"|computation placer already registered"
    rb"|\] Ignored (output_format|drop_control_dependency)\.)"  # Of the conversion to LiteRT.
)


@contextlib.contextmanager
def without_log_lines() -> Iterator[None]:
    """Context manager that keeps TensorFlow's lines about itself from the standard error stream.

    Other lines are written when it ends. Information of TensorFlow's log is off afterwards, if TensorFlow is
    loaded in the context and the environment has no `TF_CPP_MIN_LOG_LEVEL`.
    """
    if _SHOWS_ALL or not _may_be_redirected():
        yield
        return
    with _lock, open(os.dup(2), "wb", buffering=0) as shown, tempfile.TemporaryFile() as lines:
        had_level = _LEVEL in os.environ
        os.environ.setdefault(_LEVEL, "1")
        _flush()
        os.dup2(lines.fileno(), 2)
        try:
            yield
        finally:
            _flush()
            os.dup2(shown.fileno(), 2)
            if not had_level:
                del os.environ[_LEVEL]
            lines.seek(0)
            for line in lines:
                if not _WITHHELD.match(line):
                    shown.write(line)


def find_devices_quietly(config: Any) -> None:
    """Lets TensorFlow look for devices now, and withholds its error where no CUDA device can exist.

    With a driver, nothing is done: TensorFlow's own messages are about this machine then, and a program may
    still choose devices by `CUDA_VISIBLE_DEVICES`, or start processes, before it looks.

    Args:
        config: the module `tf.config`.
    """
    if not has_cuda_driver() or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        with without_log_lines():
            config.list_physical_devices()


def has_cuda_driver() -> bool:
    """Whether the library of NVIDIA's driver can be loaded, as TensorFlow tries it."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _may_be_redirected() -> bool:
    """Whether the process has the stream, and a CPU that the libraries run on.

    They end a process whose CPU lacks AVX, and say so on the stream: that must be read.
    """
    if sys.platform != "linux":
        return False
    try:
        os.fstat(2)
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), " avx ")
    except OSError:
        return False
    return " avx " in flags


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # Closed, or None.
        sys.stderr.flush()
