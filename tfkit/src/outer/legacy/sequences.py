"""`TimeseriesGenerator`, and pairs of words for word vectors: `tf.keras.preprocessing.sequence`."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfkit.src.base.registry.constructors import attributes
from tfkit.src.training.py_dataset import PyDataset


class TimeseriesGenerator(PyDataset):
    """Batches of windows of a series, each with the target at its end.

    `keras.utils.timeseries_dataset_from_array` gives a `tf.data.Dataset` instead.

    Args:
        data: the series, of shape `(steps, ...)`.
        targets: the targets, one for each step.
        length: number of steps that a window covers.
        sampling_rate: distance between the steps that are taken from a window. Default: `1`.
        stride: distance between the starts of windows. Default: `1`.
        start_index: the first step that is used. Default: `0`.
        end_index: the last step that is used; `None` for the last of the series.
        shuffle: whether windows are drawn at random, with repetitions. Default: `False`.
        reverse: whether the steps of a window are in reverse order. Default: `False`.
        batch_size: number of windows in a batch. Default: `128`.
        **kwargs: arguments of `PyDataset`.

    Raises:
        ValueError: for as many targets as there are not steps; for a range without a window.

    Example:
        >>> windows = TimeseriesGenerator(np.arange(5.0), np.arange(5), length=2, batch_size=2)
        >>> x, y = windows[0]
        >>> x.tolist(), y.tolist(), len(windows)
        ([[0.0, 1.0], [1.0, 2.0]], [2, 3], 2)
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(data) != len(targets):
            raise ValueError(
                f"`data` and `targets` must have the same length. Received: {len(data)} and "
                f"{len(targets)} steps"
            )
        self.data, self.targets = data, targets
        self.length, self.sampling_rate, self.stride = length, sampling_rate, stride
        # The index of the first target, which has a whole window in front of it.
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"The range must have a window of length={length} and its target. Received: "
                f"start_index={start_index}, end_index={self.end_index}"
            )

    def __len__(self) -> int:
        """Returns the number of batches."""
        # Rounded up: the last batch may be smaller.
        return -(-(self.end_index - self.start_index + 1) // (self.batch_size * self.stride))

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns a batch: windows of shape `(batch, length / sampling_rate, ...)`, and their targets."""
        if self.shuffle:
            # With replacement: a pass is a sample of the windows, not each of them once.
            ends = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            last = min(first + self.batch_size * self.stride, self.end_index + 1)
            ends = np.arange(first, last, self.stride)
        # A window ends before its target.
        windows = [self.data[end - self.length : end : self.sampling_rate] for end in ends]
        samples, targets = np.array(windows), np.array([self.targets[end] for end in ends])
        return (samples[:, ::-1, ...] if self.reverse else samples), targets

    def get_config(self) -> dict[str, Any]:
        """Returns the settings, and the series and targets as JSON."""
        series = {name: _as_json(getattr(self, name), name) for name in ("data", "targets")}
        windows = attributes(self, "length", "sampling_rate", "stride", "start_index", "end_index")
        return series | windows | attributes(self, "shuffle", "reverse", "batch_size")

    def to_json(self, **kwargs: Any) -> str:
        """Returns the configuration as JSON.

        Args:
            **kwargs: arguments of `json.dumps`.
        """
        content = {"class_name": type(self).__name__, "config": self.get_config()}
        return json.dumps(content, **kwargs)


def _as_json(values: Any, name: str) -> str:
    try:
        return json.dumps(values.tolist() if isinstance(values, np.ndarray) else values)
    except TypeError as error:
        raise TypeError(f"`{name}` cannot be written as JSON: {error}") from None


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """Returns for each rank of a word the probability that `skipgrams` keeps it: less for frequent words.

    Frequencies `f` are estimated by Zipf's law; the probability is `min(1, sqrt(sampling_factor / f))`.

    Args:
        size: number of words.
        sampling_factor: the larger, the more words are kept. Default: `1e-5`.

    Reference: Mikolov et al., Distributed Representations of Words and Phrases, 2013.

    Example:
        >>> make_sampling_table(4).round(5).tolist()
        [0.00315, 0.00315, 0.00548, 0.00742]
    """
    rank = np.arange(size)
    # Rank 0 is no word; as rank 1 its logarithm is finite.
    rank[:1] = 1
    # The inverse of the frequency of a rank: the harmonic number, expanded, times the rank.
    inverse = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)
    ratio = sampling_factor * inverse
    return np.minimum(1.0, ratio / np.sqrt(ratio))


def skipgrams(
    sequence: Sequence[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Returns pairs of words that are near each other with label 1, and random pairs with label 0.

    Args:
        sequence: indices of words; 0 is not a word.
        vocabulary_size: the largest number, plus one.
        window_size: largest distance of the words of a pair. Default: `4`.
        negative_samples: number of random pairs for each pair. Default: `1.0`.
        shuffle: whether the order is random. Default: `True`.
        categorical: whether labels are `[0, 1]` and `[1, 0]`. Default: `False`.
        sampling_table: probability that a word is used, by its number; `None` for 1.
        seed: a seed for the order; `None` for a random one.

    Example:
        >>> skipgrams([1, 2, 3], 4, window_size=1, negative_samples=0, shuffle=False)
        ([[1, 2], [2, 1], [2, 3], [3, 2]], [1, 1, 1, 1])
    """
    couples, labels = [], []
    for place, word in enumerate(sequence):
        # Number 0 is padding. A frequent word is kept with the probability of the table.
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        first = max(0, place - window_size)
        for other, near in enumerate(sequence[first : place + window_size + 1], first):
            if near and other != place:
                couples.append([word, near])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        # A word with a random one, which is rarely a true neighbour.
        words = [word for word, _ in couples]
        count = int(len(labels) * negative_samples)
        random.shuffle(words)
        couples += [
            [words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)
        ]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10_000_000) if seed is None else seed
        # The same seed gives couples and labels the same order.
        for listed in (couples, labels):
            random.seed(seed)
            random.shuffle(listed)
    return couples, labels
