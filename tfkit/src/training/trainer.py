"""The methods `fit`, `evaluate` and `predict`, which a model adds to a layer."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.context import Lock
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import advice_on
from tfkit.src.base.nests import brief
from tfkit.src.engine import unused_gpus
from tfkit.src.training import copies, counts, loop, placement, predict_loop
from tfkit.src.training.callbacks.callback_list import make_callback_list, plain_logs, with_backup
from tfkit.src.training.callbacks.history import History
from tfkit.src.training.class_ids import check_class_ids
from tfkit.src.training.compilation import OptimizerLike
from tfkit.src.training.compile_settings import jax_engine
from tfkit.src.training.coordinated import Coordinated
from tfkit.src.training.data import (
    ArrayData,
    DatasetData,
    make_arrays,
    pack_x_y_sample_weight,
    split_validation,
)
from tfkit.src.training.devices import Devices, devices_for, predicting_devices
from tfkit.src.training.feeds import make_feed
from tfkit.src.training.fit import Fit
from tfkit.src.training.model_steps import is_overridden
from tfkit.src.training.older_names import OlderNames
from tfkit.src.training.prediction import to_numpy
from tfkit.src.training.progress import print_message
from tfkit.src.training.running_steps import step_for
from tfkit.src.training.sources import make_data, one_batch
from tfkit.src.training.step import Step
from tfkit.src.training.undoing import unchanged_unless_run
from tfkit.src.training.validation import Validation, arguments_of, make_validation_data, prepared


class Trainer(OlderNames):
    """A layer that can be trained, evaluated and used for predictions."""

    if TYPE_CHECKING:
        # For type checkers: subclasses may give these methods other parameters.
        train_step: Callable[..., dict[str, Any]]
        test_step: Callable[..., dict[str, Any]]
        predict_step: Callable[..., Any]
        compute_loss: Callable[..., tf.Tensor]
        compute_metrics: Callable[..., dict[str, Any]]

    _tfkit_not_read_in_calls = frozenset(
        ("stop_training", "stop_evaluating", "stop_predicting", "history")
        + ("train_function", "test_function", "predict_function")
    )
    history: History  # Of the last `fit`.
    # Held while the metrics are in use: threads that train or evaluate one model take turns.
    _tfkit_in_turn: Lock

    @shortened
    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what `pickle` and `copy` need: configuration, variables, and training settings."""
        return copies.from_state, (copies.state_of(self),)

    @property
    def distribute_strategy(self) -> Any:
        """The `tf.distribute` strategy that has placed the variables, else the one in scope."""
        return placement.strategy_of(self) or tf.distribute.get_strategy()

    # --- Loops --------------------------------------------------------------------------------------

    @shortened
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool | str = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int | list[int] = 1,
        *,
        resume: str | os.PathLike[str] | None = None,
    ) -> History:
        """Trains the model.

        Args:
            x: inputs: an array or tensor of shape `(rows, ...)`, or a nest of these; or a
                `tf.data.Dataset`, a generator or a loader of batches `(x, y)` or
                `(x, y, sample_weight)`.
            y: targets, for inputs that are arrays; `None` for no targets, or with a dataset.
            batch_size: rows per step, for arrays; `None` for 32, or with `steps_per_epoch` for the share
                of each step in all rows.
            epochs: index of the epoch, counted from 1, after which training ends. Default: `1`.
            verbose: 0 for no output, 1 for a progress bar, 2 for a line per epoch; `"auto"` is 1.
                Default: `"auto"`.
            callbacks: list of `Callback`s, or a `CallbackList`; `None` for none.
            validation_split: share of the rows, taken from the end of arrays, that is used for
                validation and not for training. Default: `0.0`.
            validation_data: data to validate with after each epoch: `(x, y)`,
                `(x, y, sample_weight)` or a dataset; `None` for none.
            shuffle: whether the rows of arrays are taken in a new order in each epoch; `"batch"`
                shuffles whole batches. Default: `True`.
            class_weight: dict from a class id to the factor of the loss of its rows; `None` for 1.
            sample_weight: factors of the losses of rows, `(rows,)` or `(rows, steps)`; `None` for
                1.
            initial_epoch: index of the first epoch, counted from 0. Default: `0`.
            steps_per_epoch: number of steps of an epoch; `None` for all of the data.
            validation_steps: number of steps of a validation; `None` for all of its data.
            validation_batch_size: rows per step of validation; `None` for `batch_size`, and without that as
                there, with `validation_steps`.
            validation_freq: number of epochs from one validation to the next, or a list of the
                epochs, counted from 1, after which to validate. Default: `1`.
            resume: a folder, or a file whose name ends in `.h5`. Training continues from the state
                that is saved there, if there is one, and saves its own state there after each
                epoch: a short form of a `BackupAndRestore` that keeps its file at the end. `None`
                for neither.

        Returns:
            A `History`; its `history` is a dict from the name of a result to the list of its
            values, one for each epoch.

        Raises:
            ValueError: if the model is not compiled, if the data do not fit, or if the saved state
                belongs to a different model or to other data. Then nothing has changed.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("adam", loss="mse", metrics=["mae"])
            >>> x = np.random.rand(8, 2)
            >>> history = model.fit(x, x.sum(axis=1), epochs=3, validation_split=0.25, verbose=0)
            >>> sorted(history.history), len(history.history["loss"])
            (['loss', 'mae', 'val_loss', 'val_mae'], 3)
        """
        self._tfkit_check_compiled("fit")
        unused_gpus.warn_once()
        counts.check_counts(
            batch_size=batch_size,
            epochs=epochs,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_batch_size=validation_batch_size,
        )
        counts.check_epochs(epochs, initial_epoch)
        counts.check_validation(validation_split, validation_freq)
        counts.check_positive(steps_per_epoch=steps_per_epoch, validation_steps=validation_steps)
        check_class_ids(self._tfkit_settings.loss, y)
        verbose = _verbosity(verbose)
        epochs = counts.limited_epochs(epochs)
        # Arguments are checked first: a mistake must not wait for another thread's training.
        with self._tfkit_in_turn, self._tfkit_files():
            # Before the data is shuffled: the last rows are for validation, as in Keras.
            if validation_split and validation_data is None:
                (x, y, sample_weight), validation_data = split_validation(
                    (x, y, sample_weight), validation_split
                )
            data = make_data(
                x,
                y,
                sample_weight,
                batch_size,
                shuffle,
                class_weight,
                num_steps=steps_per_epoch,
                steps_run=self._tfkit_programs.trained_steps(self.optimizer),
            )
            steps = loop.Steps(self, "train", data, steps_per_epoch)
            validation = None
            if validation_data is not None:
                data = make_validation_data(
                    validation_data,
                    batch_size=validation_batch_size or batch_size,
                    num_steps=validation_steps,
                    needs_targets=y is not None and self._tfkit_needs_targets,
                )
                evaluation = loop.Steps(self, "test", data, validation_steps)
                # Batches prefetched from a generator would be lost with the iterator.
                evaluation.feed.goes_on = (
                    validation_steps is not None
                    and isinstance(data, DatasetData)
                    and data.is_one_shot
                )
                validation = Validation(
                    evaluation,
                    validation_freq,
                    # A subclass's own `evaluate` must be what validates.
                    evaluate=None if _is_own(self.evaluate) else self.evaluate,
                    given=arguments_of(
                        validation_data, validation_batch_size or batch_size, validation_steps
                    ),
                )
            if resume is not None:
                callbacks = with_backup(callbacks, resume)
            with unchanged_unless_run(self, "train"):
                callbacks = make_callback_list(
                    self, callbacks, verbose, epochs=epochs, steps=steps.num_steps
                )
                training = Fit(self, steps, validation, callbacks, range(initial_epoch, epochs))
                try:
                    return training.run()
                except BaseException as error:
                    # `SwapEMAWeights`, for example, must put the trained weights back.
                    callbacks.abandon()
                    if isinstance(error, KeyboardInterrupt):
                        if verbose:
                            print_message("")  # Ends the line of the bar.
                        error.add_note(training.how_far())
                    raise

    @overload
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        *,
        return_dict: Literal[True],
    ) -> dict[str, Any]: ...

    @overload
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
    ) -> Any: ...

    @shortened
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Computes the loss and the metrics on data, without training.

        Args:
            x: inputs, as in `fit`.
            y: targets, as in `fit`.
            batch_size: rows per step, for arrays; `None` for 32, or with `steps` for the share of each
                step in all rows.
            verbose: 0 for no output, 1 for a progress bar, 2 for one line; `"auto"` is 1. Default:
                `"auto"`.
            sample_weight: factors of the losses of rows; `None` for 1.
            steps: number of steps; `None` for all of the data.
            callbacks: list of `Callback`s; `None` for none.
            return_dict: whether to return a dict. Default: `False`.

        Returns:
            The loss, or a list of loss and metrics in the order of `metrics_names`; with
            `return_dict`, a dict from name to value.

        Raises:
            ValueError: if the model is not compiled, or if the data do not fit.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("adam", loss="mse", metrics=["mae"])
            >>> x = np.random.rand(8, 2)
            >>> sorted(model.evaluate(x, x.sum(axis=1), verbose=0, return_dict=True))
            ['loss', 'mae']
        """
        if kwargs:
            advice = advice_on(next(iter(kwargs)), inspect.signature(Trainer.evaluate).parameters)
            raise ValueError(f"Arguments not recognized: {brief(kwargs)}.{advice}")
        self._tfkit_check_compiled("evaluate")
        counts.check_counts(batch_size=batch_size, steps=steps)
        counts.check_positive(steps=steps)
        check_class_ids(self._tfkit_settings.loss, y)
        verbose = _verbosity(verbose)
        with self._tfkit_in_turn:
            runs = prepared(
                self, x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps=steps
            )
            if runs is None:
                data = make_data(x, y, sample_weight, batch_size, num_steps=steps)
                runs = loop.Steps(self, "test", data, steps)
            with unchanged_unless_run(self, "test"):
                logs = loop.evaluate(runs, verbose, callbacks)
        return self._tfkit_results(logs, return_dict)

    @overload
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        stream: Literal[False] = False,
    ) -> np.ndarray: ...

    @overload
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        *,
        stream: Literal[True],
    ) -> Iterator[np.ndarray]: ...

    @shortened
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        stream: bool = False,
    ) -> Any:
        """Computes the outputs for inputs, batch by batch.

        Args:
            x: inputs, as in `fit`.
            batch_size: rows per step, for arrays; `None` for 32, or with `steps` for the share of each
                step in all rows.
            verbose: 0 for no output, 1 for a progress bar, 2 for one line; `"auto"` is 1. Default:
                `"auto"`.
            steps: number of steps; `None` for all of the data.
            callbacks: list of `Callback`s; `None` for none.
            stream: whether to return an iterator over the outputs batch by batch, for outputs
                larger than memory; there are no bar and no callbacks then. Default: `False`.

        Returns:
            The outputs as NumPy arrays, `(rows, ...)`, in the form in which the model returns them;
            with `stream`, an iterator over the outputs of each batch.

        Raises:
            ValueError: if the data do not fit, or if callbacks are given together with `stream`.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.predict(np.random.rand(100, 2), batch_size=32, verbose=0).shape
            (100, 1)
        """
        counts.check_outside("predict")
        counts.check_counts(batch_size=batch_size, steps=steps)
        counts.check_positive(steps=steps)
        options = batch_size, verbose, steps, callbacks, stream
        latest = self._tfkit_programs.latest_prediction
        if (outputs := latest.repeated(self, x, options)) is not None:
            return outputs
        data = make_data(x, None, None, batch_size, num_steps=steps)
        if latest.wants_size and isinstance(data, ArrayData) and data.num_batches == 1:
            data.known_size = data.num_rows
        if stream:
            if callbacks is not None:
                raise ValueError(
                    "`predict(stream=True)` calls no callbacks: the caller sees each batch. "
                    f"Received: callbacks={callbacks}"
                )
            return predict_loop.stream(self, data, steps)
        verbose = _verbosity(verbose)
        note = functools.partial(latest.note, self, x, options)
        return predict_loop.predict(self, data, verbose, steps, callbacks, note)

    @shortened
    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: dict[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Makes one update from one batch.

        Args:
            x: inputs of the batch, as a tensor, an array or a nest of these.
            y: targets of the batch; `None` for none.
            sample_weight: factors of the losses of rows; `None` for 1.
            class_weight: dict from a class id to the factor of the loss of its rows; `None` for 1.
            return_dict: whether to return a dict. Default: `False`.

        Returns:
            The loss, or a list of loss and metrics, as `evaluate` returns them; with `return_dict`,
            a dict from name to value.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("adam", loss="mse", metrics=["mae"])
            >>> x = np.random.rand(8, 2)
            >>> for _ in range(3):
            ...     logs = model.train_on_batch(x, x.sum(axis=1), return_dict=True)
            >>> sorted(logs), int(model.optimizer.iterations)
            (['loss', 'mae'], 3)
        """
        self._tfkit_check_compiled("train_on_batch")
        return self._tfkit_on_batch("train", x, y, sample_weight, class_weight, return_dict)

    @shortened
    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """Computes the loss and the metrics of one batch, without an update.

        Args:
            x: inputs of the batch, as a tensor, an array or a nest of these.
            y: targets of the batch; `None` for none.
            sample_weight: factors of the losses of rows; `None` for 1.
            return_dict: whether to return a dict. Default: `False`.

        Returns:
            The loss, or a list of loss and metrics, as `evaluate` returns them; with `return_dict`,
            a dict from name to value.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("adam", loss="mse", metrics=["mae"])
            >>> x = np.random.rand(8, 2)
            >>> sorted(model.test_on_batch(x, x.sum(axis=1), return_dict=True))
            ['loss', 'mae']
        """
        self._tfkit_check_compiled("test_on_batch")
        return self._tfkit_on_batch("test", x, y, sample_weight, None, return_dict)

    def _tfkit_on_batch(
        self, mode: str, x: Any, y: Any, sample_weight: Any, class_weight: Any, return_dict: bool
    ) -> Any:
        if not self._tfkit_programs.steps_run[mode]:
            check_class_ids(self._tfkit_settings.loss, y)
        # Keras passes three parts here, which a user's step may expect; other steps share a trace with `fit`.
        num_parts = 3 if is_overridden(self, f"{mode}_step") else 1
        data = one_batch(x, y, sample_weight, class_weight, num_parts=num_parts)
        with self._tfkit_in_turn:
            self._tfkit_make_function(mode)
            feed = make_feed(data)
            feed.begin(0)
            # The step is traced before anything changes.
            feed.prepare(self, mode)
            self.reset_metrics()
            _, logs = feed.run(self, mode, 1, self._tfkit_programs.steps_run[mode] + 1)
            self._tfkit_programs.steps_run[mode] += 1
            feed.end()
            self._tfkit_programs.settle()
            logs = plain_logs(logs)
        return self._tfkit_results(logs, return_dict)

    def _tfkit_compile(
        self, optimizer: OptimizerLike, auto_scale_loss: bool, **settings: Any
    ) -> None:
        if settings.get("engine") == "jax":
            jax_engine().check(self, self._tfkit_settings.strategy)
        super()._tfkit_compile(optimizer, auto_scale_loss, **settings)
        found = placement.distributions.get()
        if found is not None:
            self._tfkit_settings.distribution = found

    def _tfkit_own_step_for(self, mode: str) -> Step:
        if self._tfkit_settings.engine == "jax":
            jax_step: Step = jax_engine().step_for(self, mode)
            return jax_step
        placement.check_engine(self)
        step = step_for(self, mode)
        if mode == "predict":
            programs = self._tfkit_programs
            if programs.predicting is None:
                # In a tuple, because `None` is a result, too.
                programs.predicting = (predicting_devices(self),)
            sharing: Devices | Coordinated | None = programs.predicting[0]
            return step if sharing is None else sharing.prediction(step)
        devices = self._tfkit_devices
        return step if devices is None else devices.step(self, step)

    def _tfkit_files(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context for callbacks, in which one process of several writes files."""
        return (
            contextlib.nullcontext() if self._tfkit_devices is None else self._tfkit_devices.files()
        )

    @property
    def _tfkit_devices(self) -> Any:
        """The devices of the strategy that trains the model, or the processes of JAX; else `None`."""
        programs = self._tfkit_programs
        if programs.devices is None:
            in_jax = self._tfkit_settings.engine == "jax"
            programs.devices = (jax_engine().processes_of(self) if in_jax else devices_for(self),)
        found: Any = programs.devices[0]
        return found

    @shortened
    def predict_on_batch(self, x: Any) -> np.ndarray:
        """Returns the outputs for one batch, as NumPy arrays.

        Args:
            x: inputs of the batch, as a tensor, an array or a nest of these.

        Returns:
            The outputs, in the form in which the model returns them.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.predict_on_batch(np.random.rand(8, 2)).shape
            (8, 1)
        """
        counts.check_outside("predict_on_batch")
        # All rows are one batch.
        data = make_arrays(x, None, None, 2**31 - 1)
        self._tfkit_make_function("predict")
        if not is_overridden(self, "predict_step"):
            # As in `predict`, so that both use one trace; a user's step gets a tuple, as in Keras.
            data.tensors = pack_x_y_sample_weight(*data.tensors)
        outputs = predict_loop.predict_program(self, data).run_batch(data.tensors)
        return nests.with_leaves(to_numpy, outputs)


def _verbosity(verbose: int | str) -> int:
    if verbose == "auto":
        return 1
    if verbose not in (0, 1, 2):
        raise ValueError(f"`verbose` must be 0, 1, 2 or 'auto'. Received: {verbose!r}")
    return int(verbose)


def _is_own(evaluate: Callable[..., Any]) -> bool:
    """Whether a model's `evaluate` is `Trainer`'s, not one of the program."""
    return getattr(evaluate, "__func__", None) is Trainer.evaluate
