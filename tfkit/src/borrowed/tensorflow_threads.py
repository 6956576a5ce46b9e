"""Makes it safe to build graphs in several threads at once.

TensorFlow describes each kind of operation by one protobuf message, which all threads read when they add such
an operation to a graph. A part of a message becomes a Python object when it is read, and protobuf finds the
object of a part as long as one is alive. While it makes one, Python may collect garbage, whose finalizers let
another thread run; if that thread reads the same part, two objects are registered for it, and of the first to
end a dangling pointer is left: a later read crashes, or gives an object of a different kind (protobuf 7.36.2
with Python 3.11; from 3.12 on, Python collects no garbage at such a moment).

Here, for Python 3.11, all parts that TensorFlow reads become objects before another thread sees the message,
and stay alive. Remove this file when tfkit no longer supports Python 3.11.
"""

from __future__ import annotations

import sys
from typing import Any

from tfkit.src.borrowed.private import op_def_registry


class _Definitions(dict[str, Any]):
    """TensorFlow's messages by kind of operation, each with the objects of its parts."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        super().__init__()
        self._parts: dict[str, list[Any]] = {}
        for name, definition in definitions.items():
            self[name] = definition

    def __setitem__(self, name: str, definition: Any) -> None:
        """Adds a message; TensorFlow holds a lock meanwhile."""
        self._parts[name] = _parts(definition)
        super().__setitem__(name, definition)


def _parts(definition: Any) -> list[Any]:
    """Returns the objects of a message's parts."""
    parts = [definition.input_arg, definition.output_arg, definition.attr]
    for container in parts[:3]:
        parts += container
    for attribute in definition.attr:
        if attribute.HasField("default_value"):
            parts += [attribute.default_value]
        if attribute.HasField("allowed_values"):
            values = attribute.allowed_values.list
            parts += [attribute.allowed_values, values, values.type, values.s]
    if definition.HasField("deprecation"):
        parts += [definition.deprecation]
    return parts


# Conditional, because it replaces a private attribute.
if sys.version_info < (3, 12):
    op_def_registry._cache = _Definitions(op_def_registry._cache)
