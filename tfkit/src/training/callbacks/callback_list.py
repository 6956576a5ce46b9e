"""`CallbackList`: all callbacks of a training loop as one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfkit.src.base import tree
from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.training.callbacks.backup_and_restore import BackupAndRestore
from tfkit.src.training.callbacks.callback import Callback, Logs
from tfkit.src.training.callbacks.history import History
from tfkit.src.training.callbacks.progbar_logger import ProgbarLogger
from tfkit.src.training.callbacks.sparse_callback import SparseCallback

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class _StepsHook(Protocol):
    def __call__(self, last_batch_index: int, num_steps: int, logs: Logs | None) -> None: ...


class CallbackList(Callback):
    """Several callbacks as one.

    A loop that runs many steps in one program reads `needs_train_batches` first. If a callback needs
    every batch, the loop calls `on_train_batch_begin` and `on_train_batch_end` around single steps,
    or around `steps_per_execution` of them, with `note_steps` in between.
    If none does, it runs at most `chunk_limit(next_batch_index)` steps and then calls
    `on_steps_end`. It must not call both for one step.

    Args:
        callbacks: a callback, or a nest of callbacks; `None` for none.
        add_history: whether to add a `History` unless there is one. Default: `False`.
        add_progbar: whether to add a `ProgbarLogger` unless there is one. Default: `False`.
        model: the model that the callbacks get; `None` for none.
        **params: the `params` of the callbacks.

    Raises:
        TypeError: if a class is given instead of a callback.

    Example:
        ```python
        callbacks = CallbackList([EarlyStopping("loss")], model=model)
        callbacks.on_train_begin()
        for epoch in range(10):
            callbacks.on_epoch_begin(epoch)
            callbacks.on_epoch_end(epoch, {"loss": train_one_epoch(model)})
        callbacks.on_train_end()
        ```
    """

    @with_checked_values
    def __init__(
        self,
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Trainer | None = None,
        **params: Any,
    ) -> None:
        super().__init__()
        self.callbacks: list[Any] = tree.flatten(callbacks) if callbacks else []
        for callback in self.callbacks:
            if isinstance(callback, type):
                raise TypeError(
                    f"Expected callbacks. Received: the class {callback.__name__}. "
                    f"Call it: `{callback.__name__}(...)`."
                )
            if not hasattr(callback, "on_epoch_end"):
                raise TypeError(
                    "Expected callbacks: objects with the hooks of `tfkit.callbacks.Callback`. "
                    f"Received: {callback!r}"
                )
        # Callbacks of the user come first, so that what they add to the logs is in the history and
        # in the bar.
        if add_history and not self._has(History):
            self.callbacks.append(History())
        if add_progbar and not self._has(ProgbarLogger):
            self.callbacks.append(ProgbarLogger())
        # It restores and saves the states of the others, so it runs last.
        self.callbacks.sort(key=lambda callback: isinstance(callback, BackupAndRestore))
        # Validation runs inside `fit`: of the active modes, the innermost is the one that steps.
        self._modes: list[str] = []
        for callback in self._sparse():
            callback.latest_steps = None
        self.set_model(model)
        self.set_params(params)

    def abandon(self) -> None:
        """Lets callbacks undo temporary changes after an error."""
        for callback in self.callbacks:
            if hasattr(callback, "_abandon"):
                callback._abandon()

    def _has(self, kind: type) -> bool:
        return any(isinstance(callback, kind) for callback in self.callbacks)

    def set_params(self, params: dict[str, Any]) -> None:
        """Passes `params` to the callbacks, unless it is empty."""
        self.params = params
        if params:
            for callback in self.callbacks:
                callback.set_params(params)

    def set_model(self, model: Trainer | None) -> None:
        """Passes the model to the callbacks, unless it is `None`."""
        if model is None:
            return
        self._model = model
        for callback in self.callbacks:
            callback.set_model(model)

    # --- Queries of the loop --------------------------------------------------------------------

    @property
    def needs_train_batches(self) -> bool:
        """Whether a callback must be called around every training step."""
        return self._overridden(
            "on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"
        )

    @property
    def needs_test_batches(self) -> bool:
        """Whether a callback must be called around every batch of an evaluation."""
        return self._overridden("on_test_batch_begin", "on_test_batch_end")

    @property
    def needs_predict_batches(self) -> bool:
        """Whether a callback must be called around every batch of a prediction."""
        return self._overridden("on_predict_batch_begin", "on_predict_batch_end")

    def _overridden(self, *hooks: str) -> bool:
        own = any(getattr(type(self), hook) is not getattr(CallbackList, hook) for hook in hooks)
        return own or any(_overrides(each, hook) for each in self.callbacks for hook in hooks)

    def chunk_limit(self, next_batch_index: int) -> int | None:
        """Returns how many training steps may run before a callback must be called; `None` for any number.

        Args:
            next_batch_index: index in its epoch of the batch that comes next.
        """
        limits = [callback.chunk_limit(next_batch_index) for callback in self._sparse()]
        # The callback with the smallest limit decides.
        return min([limit for limit in limits if limit is not None], default=None)

    def note_steps(self, last_batch_index: int, num_steps: int) -> None:
        """Stores the steps that the next call of `on_train_batch_end`, or of its counterparts, covers.

        Args:
            last_batch_index: index of the last batch that was run.
            num_steps: how many steps there were since `on_train_batch_begin`.
        """
        for callback in self._sparse():
            callback.latest_steps = last_batch_index, num_steps

    def _sparse(self) -> list[SparseCallback]:
        return [callback for callback in self.callbacks if isinstance(callback, SparseCallback)]

    # --- Notifications from the loop ------------------------------------------------------------

    def on_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | Callable[[], Logs] | None = None
    ) -> None:
        """Calls the hooks for the end of a chunk of steps of training, evaluation or prediction.

        Args:
            last_batch_index: index of the last batch of the chunk.
            num_steps: how many steps the chunk had.
            logs: the results up to here, or a function that fetches them: it is called only where
                a callback needs them.
        """
        sparse = self._sparse()
        fetched = None
        if logs is not None and any(callback.wants_logs(num_steps) for callback in sparse):
            fetched = plain_logs(logs() if callable(logs) else logs)
        # A user's own loop may call the hooks without `on_train_begin`.
        mode = self._modes[-1] if self._modes else "train"
        for callback in sparse:
            hook: _StepsHook = getattr(callback, f"on_{mode}_steps_end")
            hook(last_batch_index, num_steps, fetched)

    def on_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_batch_begin", batch, logs=logs)

    def on_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_batch_end", batch, logs=logs)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_epoch_begin", epoch, logs=logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_epoch_end", epoch, logs=logs)

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_train_batch_begin", batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_train_batch_end", batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_test_batch_begin", batch, logs=logs)

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_test_batch_end", batch, logs=logs)

    def on_predict_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_predict_batch_begin", batch, logs=logs)

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_predict_batch_end", batch, logs=logs)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._modes.append("train")
        self._call("on_train_begin", logs=logs)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_train_end", logs=logs)
        self._leave("train")

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._modes.append("test")
        self._call("on_test_begin", logs=logs)

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_test_end", logs=logs)
        self._leave("test")

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._modes.append("predict")
        self._call("on_predict_begin", logs=logs)

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Calls the hook of every callback."""
        self._call("on_predict_end", logs=logs)
        self._leave("predict")

    def _call(self, hook: str, *position: int, logs: Logs | None) -> None:
        # One dict for all, so that a callback sees additions of those before it. Tensors are fetched, which
        # waits for the device, only if a callback reads them.
        fetch = (
            any(_reads_numbers(callback, hook) for callback in self.callbacks) if logs else False
        )
        given = plain_logs(logs, fetch)
        for callback in self.callbacks:
            getattr(callback, hook)(*position, given)

    def _leave(self, mode: str) -> None:
        if not self._modes or self._modes[-1] != mode:
            raise ValueError(
                f"`on_{mode}_end` needs an `on_{mode}_begin` before it. Running: {self._modes}"
            )
        self._modes.pop()


def make_callback_list(
    model: Trainer, callbacks: Any, verbose: int, add_history: bool = True, **params: Any
) -> CallbackList:
    """Returns a `CallbackList` of the `callbacks` passed to `fit` and the other loops."""
    if isinstance(callbacks, CallbackList):
        return callbacks
    return CallbackList(callbacks, add_history, verbose != 0, model, verbose=verbose, **params)


def with_backup(callbacks: Any, path: str | os.PathLike[str]) -> list[Any]:
    """Returns the `callbacks` of a `fit` with one more, for its argument `resume`.

    Raises:
        ValueError: if there is a `BackupAndRestore` among them.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            "`resume` must be the path of a folder, or of a file whose name ends in '.h5'. "
            f"Received: resume={path!r}"
        )
    listed = CallbackList(callbacks).callbacks
    if any(isinstance(callback, BackupAndRestore) for callback in listed):
        raise ValueError(
            "`resume` is the short form of a `BackupAndRestore`, and there is one among the callbacks. "
            f"Pass one of the two. Received: resume={path!r}"
        )
    return [*listed, BackupAndRestore(path, delete_checkpoint=False)]


def _overrides(callback: Any, hook: str) -> bool:
    """Whether `callback` defines a hook (`LambdaCallback` stores them on the instance)."""
    if hook in vars(callback):
        return True
    function = getattr(type(callback), hook, None)
    # Keras's callbacks mark the hooks that do nothing.
    do_nothing = (None, getattr(Callback, hook), getattr(SparseCallback, hook))
    return function not in do_nothing and not getattr(function, "_is_default", False)


def _reads_numbers(callback: Any, hook: str) -> bool:
    """Whether `callback` does something in `hook` for which it needs numbers, not tensors."""
    # `vars` of the class itself, because the mark must not be inherited: a subclass may read logs
    # that its base class does not.
    if vars(type(callback)).get("takes_tensors", False):
        return False
    if isinstance(callback, SparseCallback) and hook.endswith("_batch_end"):
        return True
    return _overrides(callback, hook) or _overrides(
        callback, hook.replace("_train_batch_", "_batch_")
    )


def plain_logs(logs: Logs | None, fetch: bool = True) -> Logs:
    """Returns `logs` sorted by name, nested dicts flattened, scalars as Python floats if they are fetched."""
    plain: Logs = {}
    # In a fixed order: metrics may be updated in the order of a dict of outputs.
    for name, value in sorted((logs or {}).items()):
        if isinstance(value, dict):
            plain.update(plain_logs(value, fetch))
        else:
            plain[name] = _plain_value(value) if fetch else value
    return plain


def fetched_logs(logs: Logs) -> Logs:
    """Returns `logs` with scalars as Python floats. Nested dicts stay: their names determine the order."""
    return tree.map_structure(_plain_value, logs)


def _plain_value(value: Any) -> Any:
    # NumPy alone does not convert a bfloat16 tensor to an array; an array of JAX has no `numpy`.
    if hasattr(value, "__array__"):
        value = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    # Metrics with one result for each class return arrays, which are kept.
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    is_number = isinstance(value, (int, float)) or (
        isinstance(value, np.generic) and not isinstance(value, np.flexible)  # flexible: text
    )
    return float(value) if is_number else value
