"""Random changes of bytes and of JSON, biased towards numbers and forms that have broken readers."""

import copy
import random
from typing import Any

NUMBERS = (
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def changed_bytes(data: bytes, draws: random.Random, first: int = 0) -> bytes:
    """Returns a copy with a few changes after the first bytes: flips, numbers, pieces moved, doubled, cut."""
    found = bytearray(data)
    for _ in range(draws.choice((1, 1, 1, 2, 3, 8))):
        if len(found) <= first + 16:
            break
        at = draws.randrange(first, len(found) - 8)
        kind = draws.randrange(8)
        if kind <= 1:
            found[at] ^= 1 << draws.randrange(8)
        elif kind == 2:
            found[at] = draws.choice((0, 1, 2, 3, 127, 128, 254, 255))
        elif kind <= 4:
            width = draws.choice((1, 2, 4, 8))
            number = draws.choice((*NUMBERS, draws.randrange(len(found)), len(found)))
            found[at : at + width] = (number % 256**width).to_bytes(width, "little")
        elif kind == 5:
            other, size = draws.randrange(first, len(found) - 8), draws.choice((4, 8, 16, 64, 512))
            found[at : at + size] = found[other : other + size]
        elif kind == 6:
            size = draws.choice((1, 8, 64, 1024))
            del found[at : at + size]
        else:
            other, size = draws.randrange(first, len(found) - 8), draws.choice((1, 8, 64, 1024))
            found[at:at] = found[other : other + size]
    return bytes(found)


def changed_json(document: Any, draws: random.Random) -> Any:
    """Returns a copy with a few changes: values replaced, removed, doubled, nested, exchanged."""
    document = copy.deepcopy(document)
    for _ in range(draws.choice((1, 1, 2, 4))):
        places = _places(document)
        if not places:
            return _value(draws)
        holder, key = draws.choice(places)
        kind = draws.randrange(7)
        if kind <= 2:
            holder[key] = _value(draws)
        elif kind == 3:
            del holder[key]
        elif kind == 4:
            other, place = draws.choice(places)
            if _is_there(other, place) and _is_there(holder, key):
                holder[key] = copy.deepcopy(other[place])
        elif kind == 5:
            for _ in range(draws.choice((1, 3, 50))):
                holder[key] = [holder[key]] if draws.random() < 0.5 else {"a": holder[key]}
        elif isinstance(holder, list):
            holder[key:key] = [holder[key]] * draws.choice((1, 2, 300))
        else:
            holder[f"{key}{draws.randrange(3) or ''}"] = holder[key]
    return document


def _is_there(holder: Any, key: Any) -> bool:
    return key < len(holder) if isinstance(holder, list) else key in holder


def _places(document: Any) -> list[tuple[Any, Any]]:
    found, pending = [], [document]
    while pending:
        item = pending.pop()
        if isinstance(item, (dict, list)):
            pairs = list(item.items()) if isinstance(item, dict) else list(enumerate(item))
            found += [(item, key) for key, _ in pairs]
            pending += [value for _, value in pairs]
    return found


def _value(draws: random.Random) -> Any:
    """Returns an unusual value."""
    return draws.choice(
        (
            None,
            True,
            -1,
            0,
            10**7,
            10**9,
            2**63,
            10**99,
            1e308,
            float("nan"),
            float("-inf"),
            "",
            "relu",
            "a" * 3_000,
            "a" * 60_000,
            "\x1b[2J\x07\u202e",
            "\ud800",
            "../../x",
            [],
            {},
            [[]] * 2_000,
            [None, 3],
            [10**6] * 8,
            [0] * 40,
            {"class_name": "Dense", "config": {"units": 10**6}},
            {"class_name": "__tuple__", "config": [1, [2]]},
            {"class_name": "__dict__", "config": [[[], 1]]},
            {"class_name": "__keras_tensor__", "config": {"keras_history": ["i", 0, 0]}},
            {"class_name": "__numpy__", "config": {"value": [[1], [2, 3]], "dtype": "float32"}},
            {"class_name": "function", "config": "split", "module": "keras.ops"},
        )
    )
