"""JSON that keeps what JSON has no form for: tuples, and dicts whose keys are no strings."""

from __future__ import annotations

import json
from typing import Any


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


def from_json(value: Any) -> Any:
    """The inverse of `to_json`; text is parsed first."""
    if isinstance(value, str):
        value = json.loads(value)
    return _restore(value)


def _restore(value: Any) -> Any:
    if isinstance(value, list):
        return [_restore(item) for item in value]
    if isinstance(value, dict):
        if value.get("class_name") == "__tuple__":
            return tuple(_restore(item) for item in value["config"])
        if value.get("class_name") == "__dict__":
            return {_restore(key): _restore(item) for key, item in value["config"]}
        return {key: _restore(item) for key, item in value.items()}
    return value
