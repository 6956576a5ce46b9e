"""The device of operations and variables."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened


@shortened
def device(device_name: str) -> Any:
    """Returns a context in which operations run, and variables are made, on this device.

    Args:
        device_name: kind and index, such as `"cpu:0"` or `"gpu:1"`.

    Raises:
        ValueError: for a name that does not name a kind of device.

    Example:
        >>> with device("cpu:0"):
        ...     x = tf.zeros((2, 2))
        >>> x.device[-5:]
        'CPU:0'
    """
    try:
        tf.DeviceSpec.from_string(device_name)
    except ValueError:
        known = sorted({device.device_type for device in tf.config.list_logical_devices()})
        raise ValueError(
            "A device is named by its kind and index, such as 'cpu:0' or 'gpu:1'. Here there are the kinds "
            f"{known}. Received: device_name={device_name!r}"
        ) from None
    return tf.device(device_name)
