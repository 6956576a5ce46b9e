"""Values from files in messages: shortened, and without control sequences for terminals."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tfkit.src.base.limits import SHOWN


def printable(text: str) -> str:
    """Returns `text` with nonprintable characters escaped: names in a file may be anything."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shown(text: Any, most: int = SHOWN.most) -> str:
    """Returns at most 200 characters of a string for a message, with control characters escaped.

    Args:
        text: the text, or anything that `str()` accepts.
        most: how many characters are shown.
    """
    text = text if isinstance(text, str) else _plain(text)
    cut = printable(text[: most + 1])
    return cut if len(text) <= most and len(cut) <= most else f"{cut[:most]}..."


def quoted(value: Any) -> str:
    """Returns at most 200 characters of a value, as Python writes it, for a message.

    Only the part of a nest or a string that is shown is turned into characters.
    """
    return shown(_written(value, [SHOWN.most]))


def cut_lines(text: str) -> str:
    """Returns a message with values of a file, each line cut at 1,000 characters, at most 100 lines.

    It is for messages of other libraries, such as TensorFlow's, which quote their arguments.
    """
    if len(text) <= SHOWN.most and text.isprintable():
        return text
    lines = text[: 1 << 20].split("\n")
    kept = [shown(line, 1_000) for line in lines[:_MOST_LINES]]
    return "\n".join(
        kept + [f"... and {len(lines) - _MOST_LINES:,} more lines"] * (len(lines) > _MOST_LINES)
    )


@contextlib.contextmanager
def with_short_messages() -> Iterator[None]:
    """Context manager that applies `cut_lines` to the messages of errors and of their causes."""
    try:
        yield
    except Exception as error:
        pending: list[BaseException | None] = [error]
        seen: set[int] = set()
        while pending:
            one = pending.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            if any(isinstance(arg, str) for arg in one.args):
                one.args = tuple(
                    cut_lines(arg) if isinstance(arg, str) else arg for arg in one.args
                )
            if hasattr(one, "__notes__"):
                one.__notes__ = [cut_lines(note) for note in one.__notes__]
            pending += [one.__cause__, one.__context__]
        raise


_MOST_LINES = 110


def _plain(value: Any) -> str:
    """Returns `str(value)`, unless that could take long."""
    if isinstance(value, (list, tuple, dict, set, frozenset, int)):
        return _written(value, [SHOWN.most])
    return str(value)


def _written(value: Any, left: list[int]) -> str:
    """Returns the first `left` characters of `repr(value)`."""
    if isinstance(value, (str, bytes)):
        text = repr(value[: left[0] + 1])
    elif isinstance(value, bool) or not isinstance(value, (int, list, tuple, dict, set, frozenset)):
        text = repr(value)
    elif isinstance(value, int):
        text = (
            repr(value)
            if abs(value) < 10**SHOWN.most
            else f"<a number of {value.bit_length():,} bits>"
        )
    else:
        return _nest(value, left)
    left[0] -= len(text)
    return text


def _nest(value: Any, left: list[int]) -> str:
    begin, end = "[]" if isinstance(value, list) else "()" if isinstance(value, tuple) else "{}"
    parts: list[str] = []
    pairs = value.items() if isinstance(value, dict) else value
    for item in pairs:
        if left[0] <= 0:
            parts.append("...")
            break
        left[0] -= 2
        if isinstance(value, dict):
            parts.append(f"{_written(item[0], left)}: {_written(item[1], left)}")
        else:
            parts.append(_written(item, left))
    comma = "," if isinstance(value, tuple) and len(parts) == 1 else ""
    return f"{begin}{', '.join(parts)}{comma}{end}"
