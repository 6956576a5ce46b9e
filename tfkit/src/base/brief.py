"""Short forms of values for error messages: arrays by their shapes, long strings cut."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import nests

_MOST = 200


def brief(value: Any) -> str:
    """Returns a one-line description of a value.

    Arrays and tensors are shown by type, shape and dtype, also within a nest; everything else by its `repr`,
    of which 200 characters are shown at most.
    """
    shown = _shown(value).replace("\n", " ")
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}..."


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        sizes = "unknown" if getattr(shape, "rank", 0) is None else tuple(shape)
        dtype = getattr(value.dtype, "name", value.dtype)
        return f"<{type(value).__name__} of shape {sizes} and dtype {dtype}>"
    if isinstance(value, dict):
        items = [f"{key!r}: {_shown(item)}" for key, item in list(value.items())[:_MOST]]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)) and nests.is_nested(value):
        items = [_shown(item) for item in value[:_MOST]]
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)})"
    return repr(value)
