"""Default names: `Dense`, `MaxPooling2D` -> `dense`, `max_pooling2d`, counted from the second on."""

from __future__ import annotations

import collections
import re

_counts: collections.Counter[str] = collections.Counter()


def to_snake_case(name: str) -> str:
    """`MaxPooling2D` -> `max_pooling2d`."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def auto_name(class_name: str) -> str:
    """The next free default name of a class: `dense`, `dense_1`, `dense_2`, ...

    Names are labels for people. Files, checkpoints and error messages go by attribute path, so the
    count never decides what is loaded where.
    """
    prefix = to_snake_case(class_name)
    count = _counts[prefix]
    _counts[prefix] += 1
    return f"{prefix}_{count}" if count else prefix


def get_uid(prefix: str = "") -> int:
    """How many default names with this prefix there are now, counting one more at each call."""
    _counts[prefix] += 1
    return _counts[prefix]


def scope_name(name: str) -> str:
    """A name as TensorFlow takes it for a scope of operations."""
    return re.sub(r"^[^A-Za-z0-9.]", ".", re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name))


def reset_names() -> None:
    """Starts the counts of default names again."""
    _counts.clear()
