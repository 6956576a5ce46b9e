"""The tokens of a lookup layer, checked and immutable, as tables, arrays and text."""

from __future__ import annotations

import encodings
import encodings.aliases
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import limits
from tfkit.src.base.quoting import quoted
from tfkit.src.layers.preprocessing.tables import Table

Token = bytes | int
# The text encodings that Python knows by other names, too. It would look for any other as a module.
_NO_TEXTS = {
    *("base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec", "zlib_codec"),
    *("mbcs", "tactis"),  # The first is Windows's, the second is in no Python.
}
_ENCODINGS = {
    name for pair in encodings.aliases.aliases.items() if pair[1] not in _NO_TEXTS for name in pair
} | {"utf_8_sig"}
# Bytes that are not valid text in the encoding are kept, here and in `str`.
UNDECODABLE = "surrogateescape"
_INTEGER = re.compile(rb"\s*[-+]?[0-9]{1,19}\s*")


class Vocabulary:
    """Distinct tokens in order, and the tables that are made of them on demand.

    Args:
        tokens: integers, or strings as bytes.
        idf_weights: a float for each index, including special tokens; `None` for none.
        num_special: how many special tokens, which are not among `tokens`, it was given with.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        idf_weights: np.ndarray | None = None,
        num_special: int = 0,
    ) -> None:
        self.tokens = list(tokens)
        self.idf_weights = idf_weights
        self.num_special = num_special
        self._tables: dict[Any, Table] = {}
        self._lock = threading.Lock()

    def table(self, key: Any, make: Callable[[], Table]) -> Table:
        """Returns the table of this name, which is made on first use."""
        with self._lock, tf.init_scope():  # It outlives the trace that needs it first.
            if key not in self._tables:
                self._tables[key] = make()
            return self._tables[key]


# --- Python's strings and numbers -------------------------------------------------------------------------


def check_encoding(encoding: Any) -> None:
    """Refuses anything that is not the name of a text encoding; a file may contain anything.

    Raises:
        ValueError: for any other value but `None`, which means no encoding.
    """
    if encoding is None:
        return
    named = isinstance(encoding, str) and len(encoding) <= limits.SHOWN.most
    if named and encodings.normalize_encoding(encoding).lower() in _ENCODINGS:
        return
    raise ValueError(
        f'`encoding` must be the name of a text encoding, such as "utf-8". Received: {quoted(encoding)}'
    )


def tokens_of(values: Any, encoding: str | None) -> list[Token]:
    """Returns tokens in their internal form: strings as bytes, numbers as integers.

    Args:
        values: list, array or tensor of one axis.
        encoding: encoding of strings; `None` for a vocabulary of integers.

    Raises:
        ValueError: for tokens of a different kind.
    """
    if isinstance(values, tf.Tensor):
        values = values.numpy()
    values = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if encoding is None:
        return [_integer(value) for value in values]
    others = [value for value in values if not isinstance(value, (str, bytes))]
    if (others and len(others) == len(values)) or any(_is_no_token(value) for value in others):
        found = next((value for value in others if _is_no_token(value)), others[0])
        raise ValueError(
            f"A vocabulary of strings must be a flat list of strings. Received: {quoted(found)} of type "
            f"{type(found).__name__} in it. Remove missing values, turn numbers into strings with `str`, "
            "or use `IntegerLookup`."
        )
    return [
        value if isinstance(value, bytes) else str(value).encode(encoding, UNDECODABLE)
        for value in values
    ]


def _is_no_token(value: Any) -> bool:
    return value is None or np.ndim(value) > 0


def _integer(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"A vocabulary of integers must be a flat list of integers. Received: {quoted(value)} of type "
            f"{type(value).__name__} in it. Remove missing values, or use `StringLookup` for strings."
        ) from None


def repeated(tokens: Sequence[Token]) -> list[Token]:
    """Returns some of the repeated tokens."""
    if len(set(tokens)) == len(tokens):
        return []
    seen: set[Token] = set()
    found: dict[Token, None] = {}
    for token in tokens:
        if token in seen and len(found) < limits.LINES.most:
            found[token] = None
        seen.add(token)
    return list(found)


# --- Arrays in a model's file -----------------------------------------------------------------------------


def to_arrays(tokens: Sequence[Token], is_text: bool) -> dict[str, np.ndarray]:
    """Returns tokens as arrays of numbers: integers unchanged, strings as their bytes and lengths."""
    if not is_text:
        return {"vocabulary": np.array(tokens, np.int64)}
    lengths = np.array([len(token) for token in tokens], np.int64)  # type: ignore[arg-type]
    # Bytes and lengths instead of an array of strings, which would lose zero bytes at their ends.
    joined = b"".join(tokens)  # type: ignore[arg-type]
    return {"vocabulary": np.frombuffer(joined, np.uint8), "lengths": lengths}


def from_arrays(arrays: dict[str, np.ndarray], is_text: bool) -> list[Token]:
    """Returns the inverse of `to_arrays`.

    Raises:
        ValueError: for arrays that it does not return, and more tokens than are read.
    """
    values, lengths = arrays["vocabulary"], arrays.get("lengths")
    kinds = ("uint8", 1) if is_text else ("int64", 1)
    if (values.dtype.name, values.ndim) != kinds or (lengths is None) is is_text:
        raise ValueError(
            f"The vocabulary is stored as {values.dtype.name} of shape {values.shape}, "
            f"{'without' if lengths is None else 'with'} lengths. Expected "
            f"{'bytes and lengths of strings' if is_text else 'a vector of int64 alone'}."
        )
    check_number(len(values) if lengths is None else len(np.atleast_1d(lengths)))
    if lengths is None:
        return values.tolist()
    whole = lengths.dtype.kind == "i" and lengths.ndim == 1 and bool((lengths >= 0).all())
    # As floats: integers of a forged file could overflow to the right sum.
    ends = np.cumsum(lengths.astype(np.float64)) if whole else np.array([-1.0])
    if (ends[-1] if len(ends) else 0) != len(values):
        raise ValueError(
            f"The lengths of the vocabulary's strings do not add up to its {len(values)} bytes."
        )
    data, stops = values.tobytes(), np.cumsum(lengths)
    return [
        data[stop - size : stop]
        for stop, size in zip(stops.tolist(), lengths.tolist(), strict=True)
    ]


def check_number(count: int) -> None:
    """Raises an error if a file has too many tokens."""
    if excess := limits.TOKENS.excess(count):
        raise ValueError(f"The vocabulary has {excess}.")


# --- Text, one token a line -------------------------------------------------------------------------------


def to_lines(tokens: Sequence[Any], encoding: str | None) -> bytes:
    """Returns tokens as lines of text, as Keras writes them.

    Raises:
        ValueError: for a token with a line break, which would be read as two.
    """
    if encoding is None:
        return "\n".join(map(str, tokens)).encode()
    texts = [
        token if isinstance(token, bytes) else str(token).encode(encoding, UNDECODABLE)
        for token in tokens
    ]
    broken = next((text for text in texts if b"\n" in text or b"\r" in text), None)
    if broken is not None:
        raise ValueError(
            f"The token {quoted(broken.decode(encoding, 'replace'))} has a line break: a text file with a "
            "token on each line cannot hold it. Save to `.h5`, or split strings at line breaks."
        )
    return b"\n".join(texts)


def from_lines(data: bytes, encoding: str | None) -> list[Token]:
    """Returns the tokens on the lines of a text.

    Raises:
        ValueError: for more than are read, and for a line that is not an integer where integers are expected.
    """
    check_number(data.count(b"\n") + 1)
    # Not `splitlines`, which would also split at a carriage return alone.
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if encoding is not None:
        return list(lines)
    wrong = next((line for line in lines if not _INTEGER.fullmatch(line)), None)
    if wrong is not None:
        raise ValueError(f"A line of the vocabulary is not an integer of 64 bits: {quoted(wrong)}.")
    return [int(line) for line in lines]


def read_file(path: str, encoding: str | None) -> list[Token]:
    """Returns the tokens in a file that the program, not a model's file, has named.

    Raises:
        ValueError: if there is none.
    """
    if not Path(path).is_file():
        raise ValueError(f"Vocabulary file {path} does not exist.")
    return from_lines(Path(path).read_bytes(), encoding)
