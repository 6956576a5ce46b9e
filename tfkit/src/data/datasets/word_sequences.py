"""Texts as lists of word numbers, as in the published data sets: by frequency, 1 for the first."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base.quoting import quoted, shown
from tfkit.src.data.datasets.splits import Pair


@dataclasses.dataclass(frozen=True)
class Numbering:
    """The numbers of words that a user requests.

    Attributes:
        num_words: words from this number on are out of the vocabulary; `None` for none.
        skip_top: words below this number are, too.
        maxlen: sequences of this length or longer are left out; `None` for none.
        start_char: prepended to each sequence; `None` for nothing.
        oov_char: replaces words out of the vocabulary; `None` leaves them out.
        index_from: added to each number; `None` for 0.
    """

    num_words: int | None
    skip_top: int
    maxlen: int | None
    start_char: int | None
    oov_char: int | None
    index_from: int | None

    def apply(self, sequences: Iterable[Sequence[int]], labels: Sequence[Any] | np.ndarray) -> Pair:
        """Returns lists of word numbers with these numbers, and the labels of those that are kept.

        Raises:
            ValueError: if no sequence is shorter than `maxlen`.
        """
        start = [] if self.start_char is None else [self.start_char]
        offset, maxlen = self.index_from or 0, self.maxlen
        texts = [[*start, *(word + offset for word in text)] for text in sequences]
        kept = [number for number, text in enumerate(texts) if maxlen is None or len(text) < maxlen]
        if not kept:
            raise ValueError(
                f"No sequence is shorter than `maxlen`. Received: maxlen={maxlen}. The shortest one has "
                f"{min(map(len, texts), default=0)} words."
            )
        most = np.inf if self.num_words is None else self.num_words
        result = np.empty(len(kept), object)
        for place, number in enumerate(kept):
            known = [w if self.skip_top <= w < most else self.oov_char for w in texts[number]]
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
