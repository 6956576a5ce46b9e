"""Warns in one sentence that the machine has NVIDIA GPUs which TensorFlow does not use.

TensorFlow then works without them, and reports the reason in lines about libraries, if at all.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.borrowed.log_lines import has_cuda_driver


@functools.cache
def warn_once() -> None:
    """Warns if the driver finds GPUs and TensorFlow has none, unless `CUDA_VISIBLE_DEVICES` hides them."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") or not has_cuda_driver():
        return
    count = 0 if tf.config.list_physical_devices("GPU") else _num_gpus()
    if count:
        warn(
            f"This machine has {count} NVIDIA GPU{'s' if count > 1 else ''}, and TensorFlow uses none, "
            f"because {_reason()}"
        )


def _num_gpus() -> int:
    """Returns the number of GPUs that the driver finds; 0 if it cannot be asked."""
    driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return 0 if failed else count.value


def _reason() -> str:
    if not tf.test.is_built_with_cuda():
        return (
            "it was built without CUDA: `pip install 'tensorflow[and-cuda]'` installs one with it."
        )
    if importlib.util.find_spec("nvidia") is None:
        return "CUDA's libraries are not installed: `pip install 'tensorflow[and-cuda]'` installs them."
    return "it cannot load CUDA's libraries; with `TF_CPP_MIN_LOG_LEVEL=0` it prints which."
