"""The device of operations and variables."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def device(device_name: str) -> Any:
    """Returns a context in which operations run, and variables are made, on this device.

    Args:
        device_name: kind and index, such as `"cpu:0"` or `"gpu:1"`.

    Example:
        >>> with device("cpu:0"):
        ...     x = tf.zeros((2, 2))
        >>> x.device[-5:]
        'CPU:0'
    """
    return tf.device(device_name)
