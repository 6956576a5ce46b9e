"""`SwapEMAWeights`: evaluates and saves the moving averages of weights, and trains on with the weights."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.training.callbacks.callback import Callback, Logs


class SwapEMAWeights(Callback):
    """Puts moving averages in the place of a model's weights, for evaluations and predictions.

    The averages are those of an optimizer with `use_ema=True`.

    Args:
        swap_on_epoch: whether the averages stand there at the end of each epoch, too, until the next begins,
            so that a callback after this one, such as `ModelCheckpoint`, saves them. Default: `False`.

    Raises:
        ValueError: when weights are to be swapped and the optimizer keeps no averages.

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
        ] = []  # With the values that were trained.

    def _put_averages(self) -> None:
        optimizer = getattr(self.model, "optimizer", None)
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # Of a `LossScaleOptimizer`.
        if optimizer is None or not optimizer.use_ema:
            found = "a model without an optimizer" if optimizer is None else "use_ema=False"
            raise ValueError(
                "SwapEMAWeights must be used when `use_ema=True` is set on the optimizer, which then keeps "
                f"averages of the weights. Received: {found}"
            )
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
        """Puts the weights back."""
        self._put_back()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Puts the averages in their place, for `swap_on_epoch=True`."""
        if self.swap_on_epoch:
            self._put_averages()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Forgets the weights: those of a trained model are the averages."""
        self._weights = []

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Puts the averages in the place of the weights."""
        self._put_averages()

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Puts the weights back."""
        self._put_back()

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Puts the averages in the place of the weights."""
        self._put_averages()

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Puts the weights back."""
        self._put_back()
