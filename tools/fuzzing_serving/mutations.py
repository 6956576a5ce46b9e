"""Random requests: JSON made up or changed, bytes changed, and messages with fields of any kind."""

import json
import random

NUMBERS = (
    0,
    -1,
    1,
    2,
    127,
    128,
    255,
    256,
    2**24 + 1,
    2**31 - 1,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    10**400,
)
FLOATS = (0.5, -0.0, 1e39, 1e-320, 1e308, float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "",
    "a",
    "x",
    "b64",
    "é",
    "\ud800",
    "\x00",
    "\x1b[31m",
    "serving_default",
    "spell",
    "labels",
    "a" * 300,
    '"',
    "\u2028",
)
KEYS = (
    "instances",
    "inputs",
    "signature_name",
    "examples",
    "context",
    "x",
    "words",
    "numbers",
    "b64",
)


def value(draws: random.Random, depth: int = 0):
    """Returns any JSON value."""
    kind = draws.randrange(10 if depth < 5 else 6)
    if kind == 0:
        return draws.choice(NUMBERS)
    if kind == 1:
        return draws.choice(FLOATS)
    if kind == 2:
        return draws.choice((None, True, False))
    if kind == 3:
        return {"b64": draws.choice(("", "YQ==", "YQ", "?", "é", "====", "/w=="))}
    if kind <= 5:
        return draws.choice(TEXTS)
    if kind <= 7:
        return [value(draws, depth + 1) for _ in range(draws.choice((0, 1, 2, 3, 5)))]
    if kind == 8:
        return [value(draws, 5)] * draws.choice((1, 3, 200))
    return {
        draws.choice((*KEYS, *TEXTS)): value(draws, depth + 1) for _ in range(draws.randrange(4))
    }


def _places(document):
    found = []
    pending = [document]
    while pending and len(found) < 10_000:
        holder = pending.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in items:
            found.append((holder, key))
            if isinstance(item, (dict, list)):
                pending.append(item)
    return found


def changed_json(body: bytes, draws: random.Random) -> bytes:
    """Returns a request with some values replaced by others, doubled, nested or removed."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return changed_bytes(body, draws)
    for _ in range(draws.choice((1, 1, 2, 4))):
        places = _places(document) if isinstance(document, (dict, list)) else []
        if not places:
            document = value(draws)
            continue
        holder, key = draws.choice(places)
        kind = draws.randrange(6)
        if kind <= 2:
            holder[key] = value(draws)
        elif kind == 3:
            del holder[key]
        elif kind == 4:
            for _ in range(draws.choice((1, 3, 120))):
                holder[key] = [holder[key]] if draws.random() < 0.5 else {"x": holder[key]}
        elif isinstance(holder, dict):
            holder[draws.choice((*KEYS, *TEXTS))] = value(draws)
        else:
            holder.insert(key, value(draws))
    return json.dumps(document).encode()


def changed_bytes(data: bytes, draws: random.Random) -> bytes:
    """Returns bytes with some flipped, replaced, moved, doubled or cut."""
    found = bytearray(data)
    for _ in range(draws.choice((1, 1, 2, 4, 8))):
        at = draws.randrange(len(found) + 1)
        other = draws.randrange(len(found) + 1)
        size = draws.choice((1, 1, 2, 4, 16, 64))
        kind = draws.randrange(6)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << draws.randrange(8)
        elif kind == 1 and at < len(found):
            found[at] = draws.choice((0, 1, 8, 10, 18, 34, 44, 58, 91, 93, 123, 125, 127, 128, 255))
        elif kind == 2:
            found[at:at] = found[other : other + size]
        elif kind == 3:
            del found[at : at + size]
        elif kind == 4:
            found[at:at] = draws.choice(
                (b"\xff", b"[" * 50, b"{", b'"', b"1e999", b"-", b"\\ud800", b"NaN", b"\x80" * 9)
            )
        else:
            found[at : at + size] = draws.randbytes(size)
    return bytes(found)


# --- Messages -----------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    """Returns a number in the encoding of protocol buffers."""
    number %= 2**64
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def field(number: int, content: bytes) -> bytes:
    """Returns a field with a message, a string, or packed numbers."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(draws: random.Random) -> bytes:
    """Returns a `TensorProto` with any type, shape and values."""
    dtype = draws.choice((*range(0, 33), 101, 107, 999, 2**31, 2**63))
    dims = [
        draws.choice((0, 1, 2, 3, 3, 5, -1, 2**31, 2**62))
        for _ in range(draws.choice((0, 1, 2, 2, 3, 40)))
    ]
    shape = b"".join(field(2, b"\x08" + varint(size)) for size in dims)
    if draws.random() < 0.1:
        shape += b"\x18\x01"  # of unknown rank
    found = b"\x08" + varint(dtype) + field(2, shape)
    for _ in range(draws.choice((0, 1, 1, 2))):
        number = draws.choice((4, *range(5, 18)))
        content = draws.randbytes(draws.choice((0, 1, 4, 8, 24, 36)))
        if number in (4, 8) or draws.random() < 0.6:
            found += field(number, content)
        else:
            found += varint(number << 3) + varint(draws.choice(NUMBERS[:-1]))
    return found


def predict_message(draws: random.Random) -> bytes:
    """Returns a `PredictRequest`."""
    spec = field(1, draws.choice((*[b"small"] * 3, *[b"texts"] * 2, b"none", b"\xff")))
    if draws.random() < 0.6:
        spec += field(3, draws.choice((b"spell", b"total", b"positive", b"labels", b"no", b"\xff")))
    if draws.random() < 0.2:
        spec += field(2, b"\x08" + varint(draws.choice(NUMBERS[:-1])))
    if draws.random() < 0.1:
        spec += field(4, b"stable")
    found = field(1, spec)
    for _ in range(draws.choice((0, 1, 1, 1, 2))):
        name = draws.choice((b"x", b"x", b"numbers", b"words", b"inputs", b"", b"\xff"))
        found += field(2, field(1, name) + field(2, tensor(draws)))
    if draws.random() < 0.1:
        found += field(3, draws.choice((b"", b"upper", b"\xff")))
    return found
