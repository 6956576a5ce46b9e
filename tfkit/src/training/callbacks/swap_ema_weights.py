"""`SwapEMAWeights`: evaluates and saves the moving averages of weights, and trains the weights themselves."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.errors.frames import warn
from tfkit.src.training.callbacks.callback import Callback, Logs


class SwapEMAWeights(Callback):
    """Replaces a model's weights by their moving averages for evaluations and predictions.

    The averages are those of an optimizer with `use_ema=True`. Without them the callback does nothing, and
    warns.

    Args:
        swap_on_epoch: whether the averages also replace the weights between epochs, from the end of each,
            so that a callback after this one, such as `ModelCheckpoint`, saves them. Default: `False`.

    Example:
        ```python
        model.compile(tfkit.optimizers.Adam(use_ema=True), "mse")
        model.fit(x, y, validation_data=(x_val, y_val), callbacks=[SwapEMAWeights()])
        ```
    """

    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        self._weights: list[
            tuple[tf.Variable, tf.Tensor]
        ] = []  # Weights with their trained values.

    def _put_averages(self) -> None:
        optimizer = getattr(self.model, "optimizer", None)
        # The optimizer inside a `LossScaleOptimizer`.
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        if optimizer is None or not optimizer.use_ema:
            warn(
                "`SwapEMAWeights` needs an optimizer with averages of the weights: pass `use_ema=True` to "
                "it. Nothing is swapped."
            )
            return
        if self._weights:
            return
        for weight, average in optimizer._averaged():
            self._weights.append((weight, tf.identity(weight)))
            weight.assign(tf.cast(average, weight.dtype))

    def _put_back(self) -> None:
        for weight, value in self._weights:
            weight.assign(value)
        self._weights = []

    def _abandon(self) -> None:
        self._put_back()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Restores the weights."""
        self._put_back()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Replaces the weights by the averages if `swap_on_epoch=True`."""
        if self.swap_on_epoch:
            self._put_averages()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Keeps the averages as the weights of the trained model."""
        self._weights = []

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Replaces the weights by the averages."""
        self._put_averages()

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Restores the weights."""
        self._put_back()

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Replaces the weights by the averages."""
        self._put_averages()

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Restores the weights."""
        self._put_back()
