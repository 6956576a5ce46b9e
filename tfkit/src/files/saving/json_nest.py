"""Writes as JSON what JSON cannot express: tuples, and dicts with keys that are not strings."""

from __future__ import annotations

import json
from typing import Any

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted


def to_json(value: Any) -> Any:
    """Returns a nest in a form for JSON: a tuple as `{"class_name": "__tuple__", "config": [...]}`."""
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
    """Returns the parsed document of a JSON text.

    Raises:
        ValueError: for a string that is not JSON; for more bytes, objects, lists or values, or longer numbers
            and names, than `base/limits.py` allows; for a text that is nested too deeply; and for an object
            that has a key twice, for which two readers could use different values.
    """
    if excess := too_large(text):
        raise ValueError(f"the text has {excess}")
    try:
        return json.loads(text, object_pairs_hook=_checked, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def too_large(text: str | bytes) -> str | None:
    """Returns why a text is too large to be read; `None` if it is not."""
    if excess := limits.TEXT.excess(len(text)):
        return excess
    # Checked before any object is made, because each takes many times the memory of its text.
    for sign, limit in _COUNTED:
        number = text.count(sign) if isinstance(text, str) else text.count(sign.encode())
        if excess := limit.excess(number):
            return excess
    return None


_COUNTED = (("{", limits.OBJECTS), ("[", limits.LISTS), (",", limits.VALUES))
_NAMES = ("class_name", "module", "name", "registered_name")


def _checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object, after a check for duplicate keys and overlong names."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {quoted(twice)} appears twice")
    for key in found:
        if excess := limits.NAME.excess(len(key)):
            raise ValueError(f"key {quoted(key)} has {excess}")
    for key in _NAMES:
        value = found.get(key)
        if isinstance(value, str) and (excess := limits.NAME.excess(len(value))):
            raise ValueError(f"the {key} {quoted(value)} has {excess}")
    return found


def _integer(digits: str) -> int:
    if excess := limits.DIGITS.excess(len(digits)):
        raise ValueError(f"a number has {excess}")
    return int(digits)


def from_json(value: Any) -> Any:
    """Returns the inverse of `to_json`; text is parsed first.

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
