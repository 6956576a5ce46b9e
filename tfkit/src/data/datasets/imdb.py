"""IMDB: 50,000 film reviews as sequences of word numbers, and whether they are positive.

Reference: Maas, Daly, Pham, Huang, Ng, Potts (2011), "Learning word vectors for sentiment analysis".
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.datasets.folders import PUBLISHED, find
from tfkit.src.data.datasets.npz import read_npz
from tfkit.src.data.datasets.splits import Pair, shuffled
from tfkit.src.data.datasets.word_sequences import Numbering, read_words

URL = f"{PUBLISHED}/imdb.npz"
SHA256 = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"
WORDS_URL = f"{PUBLISHED}/imdb_word_index.json"
WORDS_MD5 = "bfafd718b763782e994055a2d397834f"


def load_data(
    path: str | os.PathLike[str] = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
    **kwargs: Any,
) -> tuple[Pair, Pair]:
    """Loads the reviews.

    Words are numbered by how often they occur; `get_word_index` has the words. The number of a word in a
    review is its number there plus `index_from`. The file is searched for as described in
    `tfkit.datasets.mnist.load_data`.

    Args:
        path: an `.npz` file with the arrays `x_train`, `y_train`, `x_test` and `y_test`, or the name of one
            in the folders of data.
        num_words: words whose number in a review is this or larger become `oov_char`. Default: none do.
        skip_top: words whose number in a review is smaller become `oov_char`, too. Default: `0`.
        maxlen: reviews of this many words or more are left out. Default: none are.
        seed: of the order of the reviews. Default: `113`.
        start_char: number before each review; `None` for none. Default: `1`.
        oov_char: number that replaces words that are left out; `None` to drop them. Default: `2`.
        index_from: is added to the number of each word. Default: `3`.
        **kwargs: `nb_words`, the older name of `num_words`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`, 25,000 reviews each: arrays of lists of integers, and labels
        of shape `(reviews,)`, int64: 1 for a positive review, 0 for a negative one.

    Raises:
        FileNotFoundError: if the file is not found and cannot be downloaded.
        TypeError: for an unknown argument.
        ValueError: when the file has unexpected contents, or no review is shorter than `maxlen`.
    """
    if "nb_words" in kwargs:
        warn("`nb_words` is called `num_words` now.", UserWarning)
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"load_data() got unexpected arguments: {', '.join(kwargs)}")
    names = ("x_train", "y_train", "x_test", "y_test")
    x_train, y_train, x_test, y_test = read_npz(find(path, URL, SHA256), names, objects=True)
    generator = np.random.RandomState(seed)
    x_train, y_train = shuffled(x_train, y_train, generator)
    x_test, y_test = shuffled(x_test, y_test, generator)
    encode = made_of(Numbering, locals()).apply
    return encode(x_train, y_train), encode(x_test, y_test)


def get_word_index(path: str | os.PathLike[str] = "imdb_word_index.json") -> dict[str, int]:
    """Returns the number of each word, from 1 for the most frequent one.

    Args:
        path: a JSON file, or the name of one in the folders of data.

    Returns:
        A dictionary of 88,584 words.

    Raises:
        FileNotFoundError: if the file is not found and cannot be downloaded.
    """
    return read_words(find(path, WORDS_URL, WORDS_MD5))
