"""`SwapEMAWeights`: evaluates and saves the moving averages of weights, and trains the weights themselves."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.training.callbacks.callback import Callback, Logs


class SwapEMAWeights(Callback):
    """Replaces a model's weights with their moving averages for evaluations and predictions.

    The averages come from an optimizer with `use_ema=True`.

    Args:
        swap_on_epoch: whether the averages also replace the weights between epochs, from the end of each,
            so that a callback after this one, such as `ModelCheckpoint`, saves them. Default: `False`.

    Raises:
        ValueError: if averages are required and the optimizer has none.

    Example:
        ```python
        model.compile(tfkit.optimizers.Adam(use_ema=True), "mse")
        model.fit(x, y, validation_data=(x_val, y_val), callbacks=[SwapEMAWeights()])
        ```
    """

    @with_checked_values
    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        # Weights with their trained values.
        self._weights: list[tuple[tf.Variable, tf.Tensor]] = []

    def _optimizers(self) -> list[Optimizer]:
        """Returns the optimizers of the model, at least one of which keeps averages."""
        outer = getattr(self.model, "optimizer", None)
        optimizer = getattr(outer, "inner_optimizer", outer)  # Of a `LossScaleOptimizer`.
        parts = getattr(optimizer, "optimizers", [optimizer])  # Of a `MultiOptimizer`.
        if optimizer is None or not any(part.use_ema for part in parts):
            raise ValueError(
                "`SwapEMAWeights` must be used with an optimizer that keeps averages of the weights: pass "
                f"`use_ema=True` to it. Received: {type(optimizer).__name__ if optimizer else 'no optimizer'}"
            )
        return parts

    def _put_averages(self) -> None:
        optimizers = self._optimizers()
        if self._weights:
            return
        for weight, average in (pair for each in optimizers for pair in each._tfkit_averaged()):
            self._weights.append((weight, tf.identity(weight)))
            weight.assign(tf.cast(average, weight.dtype))

    def _put_back(self) -> None:
        for weight, value in self._weights:
            weight.assign(value)
        self._weights = []

    def _abandon(self) -> None:
        self._put_back()

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Checks for averages before an epoch is trained in vain, for `swap_on_epoch=True`."""
        if self.swap_on_epoch:
            self._optimizers()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Restores the weights."""
        self._put_back()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Replaces the weights with the averages if `swap_on_epoch=True`."""
        if self.swap_on_epoch:
            self._put_averages()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Keeps the averages as the weights of the trained model."""
        self._weights = []

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Replaces the weights with the averages."""
        self._put_averages()

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Restores the weights."""
        self._put_back()

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Replaces the weights with the averages."""
        self._put_averages()

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Restores the weights."""
        self._put_back()
