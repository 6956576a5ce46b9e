"""The loss that logs show."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.metrics.reduction import Mean
from tfkit.src.training.data import batch_size_of


class LossTracker(Mean):
    """The mean of the loss over an epoch, in which each row has the same weight."""

    def add(self, loss: tf.Tensor, *batch: Any) -> None:
        """Adds the loss of a batch, with the number of rows of the first tensor in `batch`."""
        self.update_state(loss, sample_weight=batch_size_of(batch))
