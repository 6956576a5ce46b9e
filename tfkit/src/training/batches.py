"""The batches of one pass over a dataset, as programs read them."""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf


class Batches:
    """An iterator over the batches of a dataset.

    Args:
        dataset: the batches.
        skipped: number of batches that are left out at the beginning.

    Attributes:
        iterator: the iterator of `tf.data`.
        left_out: number of batches that were read but not run, as they have no rows.
    """

    def __init__(self, dataset: tf.data.Dataset, skipped: int = 0) -> None:
        self.iterator: Any = iter(dataset.skip(skipped) if skipped else dataset)
        self.left_out = 0

    def release(self) -> None:
        """Releases the iterator in a different thread, as its own threads may need time to end."""
        # The list has the only reference, which the thread drops.
        released, self.iterator = [self.iterator], None
        threading.Thread(target=released.clear).start()
