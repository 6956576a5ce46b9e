"""Reuters: 11,228 short news items as sequences of word numbers, in 46 topics.

Reference: Lewis (1997), "Reuters-21578 text categorization test collection".
"""

from __future__ import annotations

import os

import numpy as np

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.datasets.folders import PUBLISHED, find
from tfkit.src.data.datasets.npz import read_npz
from tfkit.src.data.datasets.splits import Pair, shuffled, split
from tfkit.src.data.datasets.word_sequences import Numbering, read_words

URL = f"{PUBLISHED}/reuters.npz"
SHA256 = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
WORDS_URL = f"{PUBLISHED}/reuters_word_index.json"
WORDS_MD5 = "4d44cc38712099c9e383dc6e5f11a921"
_TOPICS = (
    "cocoa grain veg-oil earn acq wheat copper housing money-supply coffee sugar trade reserves ship cotton "
    "carcass crude nat-gas cpi money-fx interest gnp meal-feed alum oilseed gold tin strategic-metal "
    "livestock retail ipi iron-steel rubber heat jobs lei bop zinc orange pet-chem dlr gas silver wpi hog "
    "lead"
)


def load_data(
    path: str | os.PathLike[str] = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> tuple[Pair, Pair]:
    """Loads the news.

    Words are numbered by how often they occur; `get_word_index` has the words. The number of a word in a
    text is its number there plus `index_from`. The file is searched for as described in
    `tfkit.datasets.mnist.load_data`.

    Args:
        path: an `.npz` file with the arrays `x` and `y`, or the name of one in the folders of data.
        num_words: words whose number in a text is this or larger become `oov_char`. Default: none do.
        skip_top: words whose number in a text is smaller become `oov_char`, too. Default: `0`.
        maxlen: texts of this many words or more are left out. Default: none are.
        test_split: share of the texts that are for tests. Default: `0.2`.
        seed: of the order of the texts. Default: `113`.
        start_char: number before each text; `None` for none. Default: `1`.
        oov_char: number that replaces words that are left out; `None` to drop them. Default: `2`.
        index_from: is added to the number of each word. Default: `3`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: arrays of lists of integers, and topics of shape `(texts,)`,
        int64, from 0 to 45; 8,982 and 2,246 texts by default. `get_label_names` has the topics.

    Raises:
        FileNotFoundError: if the file is not found and cannot be downloaded.
        ValueError: when the file has unexpected contents, `test_split` is not in [0, 1), or no text is
            shorter than `maxlen`.
    """
    x, y = read_npz(find(path, URL, SHA256), ("x", "y"), objects=True)
    x, y = shuffled(x, y, np.random.RandomState(seed))
    x, y = made_of(Numbering, locals()).apply(x, y)
    return split(x, y, test_split)


def get_word_index(path: str | os.PathLike[str] = "reuters_word_index.json") -> dict[str, int]:
    """Returns the number of each word, from 1 for the most frequent one.

    Args:
        path: a JSON file, or the name of one in the folders of data.

    Returns:
        A dictionary of 30,979 words.

    Raises:
        FileNotFoundError: if the file is not found and cannot be downloaded.
    """
    return read_words(find(path, WORDS_URL, WORDS_MD5))


def get_label_names() -> tuple[str, ...]:
    """Returns the names of the 46 topics, in the order of their indices."""
    return tuple(_TOPICS.split())
