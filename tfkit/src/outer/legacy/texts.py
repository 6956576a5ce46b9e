"""`Tokenizer`, and functions that cut a text into words and number them: `tf.keras.preprocessing.text`."""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import attributes

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'
_MODES = ("binary", "count", "freq", "tfidf")


def text_to_word_sequence(
    input_text: str, filters: str = FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    r"""Returns the words of a text.

    Args:
        input_text: the text.
        filters: characters that separate words, as `split` does. Default: punctuation, tabs and line breaks.
        lower: whether the text is made lower case. Default: `True`.
        split: separator of words. Default: `" "`.

    Example:
        >>> text_to_word_sequence("Two words, or three?")
        ['two', 'words', 'or', 'three']
    """
    text = input_text.lower() if lower else input_text
    separators: dict[str, str | int | None] = dict.fromkeys(filters, split)
    text = text.translate(str.maketrans(separators))
    return [word for word in text.split(split) if word]


def hashing_trick(
    text: str,
    n: int,
    hash_function: str | Callable[[str], int] | None = None,
    filters: str = FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable[[str], list[str]] | None = None,
) -> list[int]:
    r"""Returns a number from 1 to `n - 1` for each word of a text, by a hash; two words may share one.

    Args:
        text: the text.
        n: one more than the largest number.
        hash_function: a function, or `"md5"`, which gives the same numbers in each process. `None`
            for Python's `hash`,
            which does not.
        filters: as in `text_to_word_sequence`. Default: punctuation, tabs and line breaks.
        lower: whether the text is made lower case. Default: `True`.
        split: separator of words. Default: `" "`.
        analyzer: a function that returns the words; `None` for `text_to_word_sequence`.

    Example:
        >>> hashing_trick("a b a", 10, hash_function="md5")
        [2, 5, 2]
    """
    if hash_function != "md5" and hash_function is not None and not callable(hash_function):
        raise ValueError(
            f'`hash_function` must be a function or "md5". Received: {hash_function!r}'
        )
    numbered = _md5 if isinstance(hash_function, str) else hash_function or hash
    words = analyzer(text) if analyzer else text_to_word_sequence(text, filters, lower, split)
    # 0 is left for padding.
    return [numbered(word) % (n - 1) + 1 for word in words]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


def one_hot(
    input_text: str,
    n: int,
    filters: str = FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable[[str], list[str]] | None = None,
) -> list[int]:
    r"""Returns a number from 1 to `n - 1` for each word, by Python's `hash`: others in each process.

    Args:
        input_text: the text.
        n: one more than the largest number.
        filters: as in `text_to_word_sequence`. Default: punctuation, tabs and line breaks.
        lower: whether the text is made lower case. Default: `True`.
        split: separator of words. Default: `" "`.
        analyzer: a function that returns the words; `None` for `text_to_word_sequence`.

    Example:
        >>> len(one_hot("a b a", 10))
        3
    """
    return hashing_trick(input_text, n, hash, filters, lower, split, analyzer)


class Tokenizer:
    r"""Numbers for words: 1 for the most frequent one, and so on; 0 is not a word.

    `keras.layers.TextVectorization` does this in a model, so that its file has the words.

    Args:
        num_words: the words numbered below it are used; `None` for all.
        filters: characters that separate words. Default: punctuation, tabs and line breaks.
        lower: whether texts are made lower case. Default: `True`.
        split: separator of words. Default: `" "`.
        char_level: whether each character is a word. Default: `False`.
        oov_token: the word with number 1, which replaces words that are not known, or not used;
            `None` to leave them out.
        analyzer: a function that returns the words of a text.

    Attributes:
        word_counts: how often each word was seen.
        word_docs: in how many texts each word was seen.
        document_count: number of texts that were seen.
        word_index: the number of each word, also of those that are not used.
        index_word: the word of each number.

    Example:
        >>> tokenizer = Tokenizer(oov_token="?")
        >>> tokenizer.fit_on_texts(["a cat", "a dog, a cat"])
        >>> tokenizer.texts_to_sequences(["a dog and a cat"])
        [[2, 4, 1, 2, 3]]
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        analyzer: Callable[[str], list[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        self.document_count = int(kwargs.pop("document_count", 0))
        kwargs.pop("nb_words", None)
        if kwargs:
            raise TypeError(f"Unknown arguments of `Tokenizer`: {sorted(kwargs)}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.word_counts: dict[str, int] = collections.OrderedDict()
        self.word_docs: dict[str, int] = collections.defaultdict(int)
        self.index_docs: dict[int, int] = collections.defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if self.char_level or isinstance(text, list):
            if self.lower:
                return [each.lower() for each in text]
            return list(text)
        if self.analyzer is not None:
            return self.analyzer(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts, and assigns new numbers to all words.

        Args:
            texts: texts, or lists of words.
        """
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        # A stable sort: words of one count stay in the order in which they were found.
        by_count = sorted(self.word_counts, key=self.word_counts.__getitem__, reverse=True)
        vocabulary = [*([] if self.oov_token is None else [self.oov_token]), *by_count]
        self.word_index = {word: index for index, word in enumerate(vocabulary, 1)}
        self.index_word = {index: word for word, index in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Iterable[Iterable[int]]) -> None:
        """Counts in how many sequences each number occurs, for `"tfidf"`.

        Args:
            sequences: lists of word numbers.
        """
        for sequence in sequences:
            self.document_count += 1
            for index in set(sequence):
                self.index_docs[index] += 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Returns the numbers of the words of each text.

        Args:
            texts: texts, or lists of words.
        """
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """Yields what `texts_to_sequences` returns, text by text.

        Args:
            texts: texts, or lists of words.
        """
        unknown = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for text in texts:
            numbers = (self._used(self.word_index.get(word), unknown) for word in self._words(text))
            yield [number for number in numbers if number is not None]

    def _used(self, index: int | None, unknown: int | None) -> int | None:
        # `num_words` counts the 0 that is not a word, so that the largest number is one less.
        is_used = index is not None and (not self.num_words or index < self.num_words)
        return index if is_used else unknown

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """Returns a text for each sequence: its words, with spaces between them.

        Args:
            sequences: lists of word numbers.
        """
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields what `sequences_to_texts` returns, sequence by sequence.

        Args:
            sequences: lists of word numbers.
        """
        unknown = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for sequence in sequences:
            used = (
                self._used(number if number in self.index_word else None, unknown)
                for number in sequence
            )
            yield " ".join(self.index_word[number] for number in used if number is not None)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """Returns a row for each text, with a column for each number of a word.

        Args:
            texts: texts, or lists of words.
            mode: as in `sequences_to_matrix`. Default: `"binary"`.
        """
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    @shortened
    def sequences_to_matrix(
        self, sequences: Iterable[Iterable[int]], mode: str = "binary"
    ) -> np.ndarray:
        """Returns a row for each sequence, with a column for each number of a word.

        Args:
            sequences: lists of word numbers.
            mode: `"binary"` (1 for numbers that occur), `"count"`, `"freq"` (parts of the
                sequence) or `"tfidf"`
                (`(1 + log count) log(1 + texts / (1 + texts with the word))`). Default: `"binary"`.

        Returns:
            An array of shape `(sequences, num_words)`, or `(sequences, known words + 1)` without `num_words`.

        Raises:
            ValueError: for any other mode; where nothing is known about words yet.
        """
        if mode not in _MODES:
            raise ValueError(f"`mode` must be one of {', '.join(_MODES)}. Received: mode={mode!r}")
        if not self.num_words and not self.word_index:
            raise ValueError("Specify `num_words`, or call `fit_on_texts` first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError(
                '`mode="tfidf"` needs counts: call `fit_on_texts` or `fit_on_sequences` first.'
            )
        rows = list(sequences)
        width = self.num_words or len(self.word_index) + 1
        matrix = np.zeros((len(rows), width))
        for row, sequence in zip(matrix, rows, strict=True):
            numbers = list(sequence)
            for number, count in collections.Counter(numbers).items():
                if number < width:
                    row[number] = self._entry(mode, number, count, len(numbers))
        return matrix

    def _entry(self, mode: str, number: int, count: int, length: int) -> float:
        if mode == "tfidf":
            texts_with_it = self.index_docs.get(number, 0)
            # 1 in the denominator, for words that are in none of the counted texts.
            rarity = np.log(1 + self.document_count / (1 + texts_with_it))
            return float((1 + np.log(count)) * rarity)
        return {"binary": 1, "count": count, "freq": count / length}[mode]

    def get_config(self) -> dict[str, Any]:
        """Returns the settings, and all counts as JSON strings."""
        names = ("num_words", "filters", "lower", "split", "char_level", "oov_token")
        counts = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        in_json = {name: json.dumps(getattr(self, name)) for name in counts}
        return attributes(self, *names, "document_count") | in_json

    def to_json(self, **kwargs: Any) -> str:
        """Returns the tokenizer as JSON, for `tokenizer_from_json`.

        Args:
            **kwargs: arguments of `json.dumps`.
        """
        return json.dumps(
            {"class_name": type(self).__name__, "config": self.get_config()}, **kwargs
        )


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """Returns the tokenizer that `Tokenizer.to_json` has written, of Keras or tfkit.

    Args:
        json_string: the JSON.

    Example:
        >>> tokenizer = Tokenizer()
        >>> tokenizer.fit_on_texts(["a cat"])
        >>> tokenizer_from_json(tokenizer.to_json()).word_index
        {'a': 1, 'cat': 2}
    """
    config = json.loads(json_string)["config"]
    counts = {
        name: json.loads(config.pop(name))
        for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    tokenizer = Tokenizer(**config)
    tokenizer.word_counts.update(counts["word_counts"])
    tokenizer.word_docs.update(counts["word_docs"])
    # Keys of JSON are strings.
    tokenizer.index_docs.update({int(index): n for index, n in counts["index_docs"].items()})
    tokenizer.index_word = {int(index): word for index, word in counts["index_word"].items()}
    tokenizer.word_index = counts["word_index"]
    return tokenizer
