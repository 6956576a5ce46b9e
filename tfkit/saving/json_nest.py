"""JSON that keeps what JSON has no form for: tuples, and dicts whose keys are no strings."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 1 << 26  # bytes; a model of 5,000 layers has about 3 MB
_MOST_OBJECTS = 500_000  # it has about 75,000


def to_json(value: Any) -> Any:
    """A nest as JSON can hold it: a tuple as `{"class_name": "__tuple__", "config": [...]}`."""
    if isinstance(value, tuple):
        return {"class_name": "__tuple__", "config": [to_json(item) for item in value]}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: to_json(item) for key, item in value.items()}
        pairs = [[to_json(key), to_json(item)] for key, item in value.items()]
        return {"class_name": "__dict__", "config": pairs}
    return value


def parse(text: str | bytes) -> Any:
    """The document that a JSON text is.

    Raises:
        ValueError: for a text that is no JSON, longer than 64 MiB, with more than 500,000 objects, or nested
            too deeply, and for an object that has a key twice, of which two readers could take different
            ones.
    """
    if len(text) > LONGEST:
        raise ValueError(f"the text has {len(text):,} bytes, more than {LONGEST:,}")
    # Before any object is made, for each takes ten times the memory of its text.
    objects = text.count("{") if isinstance(text, str) else text.count(b"{")
    if objects > _MOST_OBJECTS:
        raise ValueError(f"the text has {objects:,} objects, more than {_MOST_OBJECTS:,}")
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return found


def from_json(value: Any) -> Any:
    """The inverse of `to_json`; text is parsed first.

    Raises:
        ValueError: for a text that `parse` refuses, and for a form that `to_json` does not return.
    """
    try:
        return _restore(parse(value) if isinstance(value, (str, bytes)) else value)
    except RecursionError:
        raise ValueError("A configuration is nested too deeply.") from None


def _restore(value: Any) -> Any:
    if isinstance(value, list):
        return [_restore(item) for item in value]
    if not isinstance(value, dict):
        return value
    restored = {key: _restore(item) for key, item in value.items()}
    try:
        if value.get("class_name") == "__tuple__":
            return tuple(restored["config"])
        if value.get("class_name") == "__dict__":
            return dict(restored["config"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"A configuration holds a {value['class_name']} without its items."
        ) from None
    return restored
