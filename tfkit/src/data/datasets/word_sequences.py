"""Texts as lists of word numbers, as in the published data sets: by frequency, 1 for the first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.quoting import quoted, shown
from tfkit.src.data.datasets.splits import Pair


def numbered(
    sequences: Iterable[Sequence[int]],
    labels: Sequence[Any] | np.ndarray,
    *,
    num_words: int | None,
    skip_top: int,
    maxlen: int | None,
    start_char: int | None,
    oov_char: int | None,
    index_from: int | None,
) -> Pair:
    """Returns the sequences with the numbers that a user requests, and their labels.

    Args:
        sequences: lists of word numbers.
        labels: one for each.
        num_words: words from this number on are out of the vocabulary; `None` for none.
        skip_top: words below this number are, too.
        maxlen: sequences of this length or longer are left out; `None` for none.
        start_char: prepended to each sequence; `None` for nothing.
        oov_char: replaces words out of the vocabulary; `None` leaves them out.
        index_from: added to each number; `None` for 0.

    Raises:
        ValueError: if no sequence is shorter than `maxlen`.
    """
    start = [] if start_char is None else [start_char]
    offset = index_from or 0
    texts = [[*start, *(word + offset for word in text)] for text in sequences]
    kept = [number for number, text in enumerate(texts) if maxlen is None or len(text) < maxlen]
    if not kept:
        raise ValueError(
            f"No sequence is shorter than `maxlen`. Received: maxlen={maxlen}. The shortest one has "
            f"{min(map(len, texts), default=0)} words."
        )
    most = np.inf if num_words is None else num_words
    result = np.empty(len(kept), object)
    for place, number in enumerate(kept):
        known = [word if skip_top <= word < most else oov_char for word in texts[number]]
        result[place] = [word for word in known if word is not None]
    return result, np.asarray(labels)[kept]


def read_words(path: Path) -> dict[str, int]:
    """Returns the number of each word from a JSON file.

    Raises:
        ValueError: if the file has other contents.
    """
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file: {shown(str(error))}") from error
    if not isinstance(words, dict) or set(map(type, words.values())) - {int}:
        raise ValueError(f"{path} does not have a number for each word. It has: {quoted(words)}")
    return words
