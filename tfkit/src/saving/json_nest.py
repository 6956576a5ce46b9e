"""JSON that keeps what JSON has no form for: tuples, and dicts whose keys are no strings."""

from __future__ import annotations

import json
from typing import Any

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted


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
        ValueError: for a text that is no JSON, for more bytes, objects, lists or values, longer numbers and
            names than `base/limits.py` has, for one that is nested too deeply, and for an object that has a
            key twice, of which two readers could take different ones.
    """
    if excess := too_large(text):
        raise ValueError(f"the text has {excess}")
    try:
        return json.loads(text, object_pairs_hook=_checked, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def too_large(text: str | bytes) -> str | None:
    """What to say of a text that is never read for its size, `None` of any other."""
    if excess := limits.TEXT.excess(len(text)):
        return excess
    # Before any of them is made, for each takes many times the memory of its text.
    for sign, limit in _COUNTED:
        number = text.count(sign) if isinstance(text, str) else text.count(sign.encode())
        if excess := limit.excess(number):
            return excess
    return None


_COUNTED = (("{", limits.OBJECTS), ("[", limits.LISTS), (",", limits.VALUES))
_NAMES = ("class_name", "module", "name", "registered_name")


def _checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object that has no key twice, and no name without end."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {quoted(twice)} stands twice")
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
