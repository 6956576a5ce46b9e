"""`Callback`: the base class, with hooks into training, evaluation and prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.base.registry import constructors

if TYPE_CHECKING:
    from tfkit.src.training.models.model import Model

Logs = dict[str, Any]


class Callback(Overridable):
    """The base of callbacks: a subclass overrides the hooks that it needs.

    `fit`, `evaluate` and `predict` run many steps in one compiled program. A hook that is called
    for each batch makes them return to Python after every step, which is slower for small models;
    `SparseCallback` has hooks that are called between programs. With `compile(steps_per_execution=n)`
    the hooks for batches are called once for each program of `n` steps: before it with the index of its
    first batch, after it with the index of its last. The last program of an epoch, which may be shorter, is
    counted as if it were full.

    The attribute `model` is the model that is trained, evaluated or used for predictions; `params`
    is a dict with `"verbose"`, `"epochs"` and `"steps"`, the number of steps of an epoch, or `None`
    where it is unknown.

    Example:
        ```python
        class PrintLoss(Callback):
            def on_epoch_end(self, epoch, logs=None):
                print(epoch, logs["loss"])


        model.fit(x, y, callbacks=[PrintLoss()])
        ```
    """

    # The attributes that `get_state()` returns, by their names without an underscore.
    _tfkit_state: tuple[str, ...] = ()

    @constructors.named_after_class
    def __init__(self) -> None:
        self.params: dict[str, Any] | None = None
        self._model: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Receives `params` before the first hook is called.

        Example:
            >>> callback = tfkit.callbacks.Callback()
            >>> callback.set_params({"epochs": 3, "steps": 10, "verbose": 0})
            >>> callback.params["epochs"]
            3
        """
        self.params = params

    def set_model(self, model: Model) -> None:
        """Receives the model before the first hook is called.

        Example:
            >>> callback = tfkit.callbacks.Callback()
            >>> callback.set_model(tfkit.Sequential(name="small"))
            >>> callback.model.name
            'small'
        """
        self._model = model

    @property
    def model(self) -> Any:
        """The model in use."""
        return self._model

    def get_state(self) -> dict[str, Any]:
        """Returns the callback's state, for training that is saved and continued; empty unless overridden.

        Returns:
            A dict with strings as keys, of numbers, strings, arrays, `None`, and nests of these.

        Example:
            >>> class CountEpochs(tfkit.callbacks.Callback):
            ...     count = 0
            ...
            ...     def on_epoch_end(self, epoch, logs=None):
            ...         self.count += 1
            ...
            ...     def get_state(self):
            ...         return {"count": self.count}
            ...
            ...     def set_state(self, state):
            ...         self.count = state["count"]
            >>> CountEpochs().get_state()
            {'count': 0}
        """
        return {name.lstrip("_"): getattr(self, name) for name in self._tfkit_state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores the state that `get_state()` of another callback of its class returned.

        It is called after `on_train_begin`; if training continues inside an epoch, after its
        `on_epoch_begin` too.

        Args:
            state: the result of `get_state()`.

        Raises:
            TypeError: if only `get_state()` is overridden.

        Example:
            >>> class Counter(tfkit.callbacks.Callback):
            ...     num_epochs = 0
            ...
            ...     def get_state(self):
            ...         return {"num_epochs": self.num_epochs}
            ...
            ...     def set_state(self, state):
            ...         self.num_epochs = state["num_epochs"]
            >>> counter = Counter()
            >>> counter.set_state({"num_epochs": 7})
            >>> counter.num_epochs
            7
        """
        if state and not self._tfkit_state:
            raise TypeError(
                f"{type(self).__name__} has its own `get_state()` and needs a `set_state(state)` too."
            )
        for name in self._tfkit_state:
            # A state that an older version has saved may have fewer entries.
            if name.lstrip("_") in state:
                setattr(self, name, state[name.lstrip("_")])

    def on_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Runs at the beginning of a training batch; the older name of `on_train_batch_begin`.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_batch_begin(self, batch, logs=None):
            ...         print("batch", batch)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            batch 0
            batch 1
        """

    def on_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Runs at the end of a training batch; the older name of `on_train_batch_end`.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_batch_end(self, batch, logs=None):
            ...         print(batch, logs)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            0 {'loss': 0.0}
            1 {'loss': 0.0}
        """

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Called by `fit` before an epoch.

        Args:
            epoch: index of the epoch.
            logs: empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_epoch_begin(self, epoch, logs=None):
            ...         print(f"epoch {epoch + 1} of {self.params['epochs']}")
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, epochs=2, verbose=0, callbacks=[Watch()])
            epoch 1 of 2
            epoch 2 of 2
        """

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Called by `fit` after an epoch and its validation.

        Args:
            epoch: index of the epoch.
            logs: results of the epoch; results of the validation have the prefix `val_`.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_epoch_end(self, epoch, logs=None):
            ...         print(epoch, logs)
            ...         self.model.stop_training = logs["loss"] < 0.1
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, epochs=2, verbose=0, callbacks=[Watch()])
            0 {'loss': 0.0}
        """

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called by `fit` before a training step.

        Args:
            batch: index of the batch in its epoch.
            logs: empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_train_batch_begin(self, batch, logs=None):
            ...         print("batch", batch)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            batch 0
            batch 1
        """
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called by `fit` after a training step.

        Args:
            batch: index of the batch in its epoch.
            logs: results of the epoch up to this batch.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_train_batch_end(self, batch, logs=None):
            ...         print(batch, logs)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            0 {'loss': 0.0}
            1 {'loss': 0.0}
        """
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called by `evaluate`, and by the validation of `fit`, before a batch.

        Args:
            batch: index of the batch.
            logs: empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_test_batch_begin(self, batch, logs=None):
            ...         print("batch", batch)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.evaluate(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            batch 0
            batch 1
        """

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called by `evaluate`, and by the validation of `fit`, after a batch.

        Args:
            batch: index of the batch.
            logs: results up to this batch.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_test_batch_end(self, batch, logs=None):
            ...         print(batch, logs)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.evaluate(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            0 {'loss': 0.0}
            1 {'loss': 0.0}
        """

    def on_predict_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called by `predict` before a batch.

        Args:
            batch: index of the batch.
            logs: empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_predict_batch_begin(self, batch, logs=None):
            ...         print("batch", batch)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.predict(x, batch_size=2, verbose=0, callbacks=[Watch()])
            batch 0
            batch 1
        """

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called by `predict` after a batch.

        Args:
            batch: index of the batch.
            logs: the outputs of the batch, as `"outputs"`.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_predict_batch_end(self, batch, logs=None):
            ...         print(batch, logs["outputs"].shape)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.predict(x, batch_size=2, verbose=0, callbacks=[Watch()])
            0 (2, 1)
            1 (2, 1)
        """

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Called at the start of `fit`; `logs` is empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_train_begin(self, logs=None):
            ...         print(self.params["steps"], "steps in an epoch")
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            2 steps in an epoch
        """

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Called at the end of `fit`; `logs` has the results of the last epoch.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_train_end(self, logs=None):
            ...         print("steps:", int(self.model.optimizer.iterations))
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.fit(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            steps: 2
        """

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Called at the start of `evaluate` or of a validation; `logs` is empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_test_begin(self, logs=None):
            ...         print(self.params["steps"], "batches")
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.evaluate(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            2 batches
        """

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Called at the end of `evaluate` or of a validation; `logs` has the results.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_test_end(self, logs=None):
            ...         print(logs)
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.evaluate(x, x, batch_size=2, verbose=0, callbacks=[Watch()])
            {'loss': 0.0}
        """

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Called at the start of `predict`; `logs` is empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_predict_begin(self, logs=None):
            ...         print(self.params["steps"], "batches")
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.predict(x, batch_size=2, verbose=0, callbacks=[Watch()])
            2 batches
        """

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Called at the end of `predict`; `logs` is empty.

        Example:
            >>> class Watch(tfkit.callbacks.Callback):
            ...     def on_predict_end(self, logs=None):
            ...         print("done")
            >>> x = np.ones((4, 1))
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> _ = model.predict(x, batch_size=2, verbose=0, callbacks=[Watch()])
            done
        """
