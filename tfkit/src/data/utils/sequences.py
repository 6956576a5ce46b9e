"""Combines sequences of different lengths into one array."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from tfkit.src.base.errors.tracebacks import shortened


@shortened
def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Returns sequences of different lengths as one array: shorter ones padded, longer ones cut.

    Args:
        sequences: a list of sequences; their items may be arrays of one shape.
        maxlen: length of the result; `None` for the length of the longest sequence.
        dtype: dtype of the result; `object` for strings. Default: `"int32"`.
        padding: `"pre"` (before the items) or `"post"` (after them): where the padding is.
            Default: `"pre"`.
        truncating: `"pre"` (at the start) or `"post"` (at the end): the side at which items are
            cut off. Default: `"pre"`.
        value: padding value. Default: `0.0`.

    Returns:
        An array of shape `(len(sequences), maxlen, ...)`.

    Raises:
        ValueError: when `sequences` holds something that is not a sequence, items differ in shape,
            there is neither a sequence nor `maxlen`, or an option is not one of the above.

    Example:
        >>> pad_sequences([[1], [2, 3, 4]], maxlen=2).tolist()
        [[0, 1], [3, 4]]
        >>> pad_sequences([[1], [2, 3, 4]], padding="post").tolist()
        [[1, 0, 0], [2, 3, 4]]
    """
    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f'`{name}` must be "pre" or "post". Received: {name}={side!r}')
    if not hasattr(sequences, "__len__"):
        raise ValueError(f"`sequences` must be a list of sequences. Received: {sequences!r}")
    lengths = []
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(f"`sequences` must hold sequences only. It holds: {sequence!r}")
        lengths.append(len(sequence))
    if isinstance(value, str) and np.dtype(dtype).kind not in "OSU":
        raise ValueError(
            "A string cannot pad numbers; for sequences of strings set `dtype=object`. "
            f"Received: value={value!r}, dtype={dtype}"
        )
    maxlen = _checked_length(max(lengths, default=None) if maxlen is None else maxlen)
    item_shape = next((np.shape(sequence)[1:] for sequence in sequences if len(sequence)), ())
    result = np.full((len(sequences), maxlen, *item_shape), value, dtype)
    for row, sequence in zip(result, sequences, strict=True):
        if not len(sequence):
            continue
        first = max(len(sequence) - maxlen, 0) if truncating == "pre" else 0
        kept = np.asarray(sequence[first : first + maxlen], dtype)
        if kept.shape[1:] != item_shape:
            raise ValueError(
                "Items of all sequences must have the same shape. The first has items of shape "
                f"{item_shape}. "
                f"Received one with items of shape {kept.shape[1:]}"
            )
        start = maxlen - len(kept) if padding == "pre" else 0
        row[start : start + len(kept)] = kept
    return result


def _checked_length(maxlen: Any) -> int:
    if maxlen is None:
        raise ValueError(
            "`sequences` is empty: without a longest sequence the length of the result is unknown. "
            "Pass `maxlen`."
        )
    if not isinstance(maxlen, numbers.Integral) or isinstance(maxlen, bool) or maxlen < 0:
        raise ValueError(f"`maxlen` must be an integer from 0 up. Received: maxlen={maxlen!r}")
    return int(maxlen)
