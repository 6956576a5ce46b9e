"""Windows of a series of values as a `tf.data.Dataset`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.datasets.shuffling import in_new_orders, seed_or_drawn, shuffle_in_place


@shortened
def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: str = "tf",
) -> tf.data.Dataset:
    """Returns a `tf.data.Dataset` of windows that slide over a series.

    Window number `i` has the rows `i * sequence_stride + k * sampling_rate` of `data`, for `k` from 0 to
    `sequence_length - 1`; its target is row `i * sequence_stride` of `targets`.

    Args:
        data: array or tensor of shape `(time, ...)`.
        targets: array or tensor of one target for each window's first row; `None` for windows alone.
        sequence_length: rows of a window.
        sequence_stride: rows from the start of one window to the start of the next. Default: `1`.
        sampling_rate: rows from one row of a window to the next. Default: `1`.
        batch_size: windows of a batch; `None` for single windows. Default: `128`.
        shuffle: whether to shuffle the windows, in a new order in each pass. Default: `False`.
        seed: of their order. Default: a new one each time.
        start_index: first row of `data` to use. Default: the first.
        end_index: the row of `data` to end before. Default: the end.
        format: `"tf"`, the only one. Default: `"tf"`.

    Returns:
        A dataset of windows of shape `(batch, sequence_length, ...)`, or of pairs of windows and targets.

    Raises:
        ValueError: for arguments that are out of range.

    Example:
        >>> windows = timeseries_dataset_from_array(np.arange(5), None, sequence_length=3)
        >>> next(iter(windows)).numpy().tolist()
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    size = len(data)
    if format != "tf":
        raise ValueError(f'`format` must be "tf". Received: format={format!r}')
    for name, value, least, most in (
        ("start_index", start_index, 0, size - 1),
        ("end_index", end_index, 1, size),
        ("sequence_length", sequence_length, 1, None),
        ("sampling_rate", sampling_rate, 1, size - 1),
        ("sequence_stride", sequence_stride, 1, size - 1),
        ("batch_size", batch_size, 1, None),
    ):
        _check(name, value, least, most)
    start = start_index or 0
    end = size if end_index is None else end_index
    if end <= start:
        raise ValueError(
            "`end_index` must be higher than `start_index`. "
            f"Received: start_index={start_index}, end_index={end_index}"
        )

    # The last row of a window is `reach - 1` rows after its first one.
    reach = (sequence_length - 1) * sampling_rate + 1
    num_windows = max(end - start - reach + 1, 0)
    if targets is not None:
        targets = tf.convert_to_tensor(targets)[start:end]
        num_windows = min(num_windows, len(targets))
    dtype = "int32" if size < 2**31 else "int64"
    starts = np.arange(0, num_windows, sequence_stride, dtype=dtype)
    if shuffle:
        drawn = seed_or_drawn(seed)
        shuffle_in_place(starts, drawn)

    rows = tf.range(0, reach, sampling_rate, dtype=dtype)
    data = tf.convert_to_tensor(data)[start:end]

    def window(first: tf.Tensor) -> Any:
        values = tf.gather(data, first + rows)
        return values if targets is None else (values, targets[first])

    dataset = tf.data.Dataset.from_tensor_slices(starts)
    dataset = dataset.map(window, num_parallel_calls=tf.data.AUTOTUNE)
    if shuffle:
        dataset = in_new_orders(dataset, batch_size, drawn)
    if batch_size is not None:
        dataset = dataset.batch(batch_size)
    return dataset.prefetch(tf.data.AUTOTUNE)


def _check(name: str, value: Any, least: int, most: int | None) -> None:
    if value is None:
        return
    if (
        not isinstance(value, (int, np.integer))
        or value < least
        or (most is not None and value > most)
    ):
        upper = "" if most is None else f" and at most {most}, as `data` is that long"
        raise ValueError(
            f"`{name}` must be a whole number of at least {least}{upper}. Received: {name}={value!r}"
        )
