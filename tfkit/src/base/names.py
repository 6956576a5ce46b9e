"""Names: default ones, TensorFlow's, suggestions for misspelt ones, and steps of paths."""

from __future__ import annotations

import collections
import difflib
import itertools
import re
import urllib.parse
from collections.abc import Container, Iterable
from typing import Any

from tfkit.src.base import limits
from tfkit.src.base.per_thread import ThreadSetting

# Each thread has its own counts, so that names do not depend on other threads.
_counts: ThreadSetting[collections.Counter[str]] = ThreadSetting(
    "name_counts", collections.Counter(), collections.Counter
)


def to_snake_case(name: str) -> str:
    """Returns a name in snake case: `MaxPooling2D` -> `max_pooling2d`."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def auto_name(class_name: str) -> str:
    """Returns the next free default name of a class: `dense`, `dense_1`, `dense_2`, ...

    Names are for readers. Files, checkpoints and error messages use attribute paths, so the count
    never determines which value is loaded where.
    """
    prefix = to_snake_case(class_name)
    counts = _counts.get()
    count = counts[prefix]
    counts[prefix] += 1
    return f"{prefix}_{count}" if count else prefix


def get_uid(prefix: str = "") -> int:
    """Returns the number of default names with this prefix, which each call increases by one.

    Args:
        prefix: the beginning of the names. Default: `""`.

    Returns:
        1 at the first call with a prefix, then 2, and so on; `clear_session` starts again.

    Example:
        >>> get_uid("block"), get_uid("block"), get_uid("head")
        (1, 2, 1)
    """
    counts = _counts.get()
    counts[prefix] += 1
    return counts[prefix]


def operation_name(name: str, default: str) -> str:
    """Returns `name` without characters that TensorFlow does not allow in names."""
    return re.sub(r"[^A-Za-z0-9_./-]", "_", name).lstrip("_./-") or default


def check_name(name: Any) -> str | None:
    """Returns a name of a layer unchanged, if it is valid.

    Raises:
        ValueError: for an object other than a string, and for a string with `/`; `None` is for a default
            name.
    """
    if name is not None and (not isinstance(name, str) or "/" in name):
        raise ValueError(
            "Argument `name` must be a string and cannot contain character `/`. "
            f"Received: name={name} (of type {type(name).__name__})"
        )
    return name


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """Returns the end of an error message: the most similar known name, if one is similar enough."""
    close = nearest(str(name), (each for each in known if each != name), 0.5)
    return f" Did you mean {close!r}?" if close else ""


def nearest(name: str, known: Iterable[str], cutoff: float) -> str | None:
    """Returns the known name that is most similar; `None` if none is, or if the names are too long.

    Args:
        name: the name.
        known: the others.
        cutoff: how alike they must be, from 0 to 1.
    """
    if limits.COMPARED.excess(len(name)):
        return None
    others = [other for other in known if not limits.COMPARED.excess(len(other))]
    close = difflib.get_close_matches(name, others, n=1, cutoff=cutoff)
    return close[0] if close else None


def reset_names() -> None:
    """Starts the counts of default names again."""
    _counts.get().clear()


def escaped(key: Any) -> str:
    """Returns a dict's key as one step of a path, which must not look like several, or like "." or ".."."""
    text = str(key).replace("%", "%25").replace("/", "%2F").replace("\0", "%00")
    return {"": "%", ".": "%2E", "..": "%2E%2E"}.get(text, text)


def unescaped(step: str) -> str:
    """Returns the key that `escaped` made into one step of a path."""
    return "" if step == "%" else urllib.parse.unquote(step)


def free(name: str, taken: Container[str]) -> str:
    """Returns `name`, numbered if it is taken."""
    candidates = itertools.chain((name,), (f"{name}_{count}" for count in itertools.count(1)))
    return next(candidate for candidate in candidates if candidate not in taken)
