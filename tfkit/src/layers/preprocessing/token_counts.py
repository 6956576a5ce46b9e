"""Counts tokens batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

Counts = tuple[list[Any], list[int], list[int] | None, int]


class TokenCounts:
    """The tokens of all batches so far.

    The memory grows with the number of different tokens, not with the data.

    Attributes:
        tokens: number of times that each token was there.
        documents: number of samples that contain each token; empty unless requested.
        num_documents: number of samples.
    """

    def __init__(self) -> None:
        self.tokens: dict[Any, int] = {}
        self.documents: dict[Any, int] = {}
        self.num_documents = 0

    def add(self, counts: Counts) -> None:
        """Adds the counts of a batch."""
        tokens, numbers, documents, num_documents = counts
        _add(self.tokens, tokens, numbers)
        if documents is not None:
            _add(self.documents, tokens, documents)
            self.num_documents += num_documents

    def most_frequent(self, most: int | None, without: set[Any]) -> list[Any]:
        """Returns tokens by count, with equal counts by token, the greatest first in both cases, as in Keras.

        Args:
            most: how many; `None` for all.
            without: tokens to leave out.
        """
        found = {token: number for token, number in self.tokens.items() if token not in without}
        if most is not None and len(found) > most:
            if most <= 0:
                return []
            numbers = np.fromiter(found.values(), np.int64, len(found))
            # Only tokens that can be among the most frequent are sorted.
            least = np.partition(numbers, len(numbers) - most)[len(numbers) - most]
            found = {token: number for token, number in found.items() if number >= least}
        by_token = sorted(found, reverse=True)
        # Python's sort is stable, in reverse as well: ties keep the order by token.
        return sorted(by_token, key=found.__getitem__, reverse=True)[:most]


def _add(totals: dict[Any, int], tokens: list[Any], numbers: list[int]) -> None:
    before = totals.get
    for token, number in zip(tokens, numbers, strict=True):
        totals[token] = before(token, 0) + number


def counts_of(batch: Any, by_document: bool) -> Counts:
    """Returns a batch's tokens, their counts, the number of samples with each, and the number of samples.

    Args:
        batch: dense, ragged or sparse tensor of tokens; the entries of a vector are samples of one token.
        by_document: whether tokens are counted per sample.
    """
    if isinstance(batch, tf.SparseTensor):
        flat, rows, num_rows = batch.values, batch.indices[:, 0], batch.dense_shape[0]
    elif isinstance(batch, tf.RaggedTensor):
        flat, num_rows = batch.flat_values, batch.nrows()
        rows = _rows_of(batch) if by_document else None
    else:
        flat = tf.reshape(batch, [-1])
        num_rows = tf.shape(batch, tf.int64)[0] if batch.shape.rank else tf.constant(1, tf.int64)
        size = tf.size(flat, tf.int64) // tf.maximum(num_rows, 1)
        rows = tf.repeat(tf.range(num_rows), size) if by_document else None
    tokens, places, numbers = tf.unique_with_counts(flat)
    documents = None
    if by_document:
        each, count = places.numpy().astype(np.int64), int(tf.size(tokens))
        # A pair of sample and token as one integer: each pair counts once, however often the token
        # occurs.
        pairs = np.unique(np.asarray(rows, np.int64) * max(count, 1) + each)
        documents = np.bincount(pairs % max(count, 1), minlength=count).tolist()
    return tokens.numpy().tolist(), numbers.numpy().tolist(), documents, int(num_rows)


def _rows_of(batch: tf.RaggedTensor) -> tf.Tensor:
    """Returns the sample of each value, through all ragged axes."""
    rows = batch.value_rowids()
    values = batch.values
    while isinstance(values, tf.RaggedTensor):
        rows = tf.gather(rows, values.value_rowids())
        values = values.values
    return rows
