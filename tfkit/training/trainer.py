"""`fit`, `evaluate`, `predict`: what a model adds to a layer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Literal, overload

import numpy as np
import tensorflow as tf

from tfkit import forks
from tfkit.per_thread import Lock
from tfkit.training import copies, loop, predict_loop
from tfkit.training.callbacks import History
from tfkit.training.data import make_arrays
from tfkit.training.feeds import run_arrays
from tfkit.training.model_steps import ModelSteps
from tfkit.training.prediction import to_numpy
from tfkit.training.sources import make_data
from tfkit.training.strategies import strategy_of


class Trainer(ModelSteps):
    """Training, evaluation and prediction, mixed into `Model`."""

    _not_read_in_calls = frozenset(("stop_training", "history"))
    _in_turn: Lock  # What uses the metrics: threads that train or evaluate one model take turns.

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle of a model: configuration, values of variables, and what it is trained with."""
        return copies.from_state, (copies.state_of(self),)

    @property
    def distribute_strategy(self) -> Any:
        """The `tf.distribute` strategy that has placed the variables, else the one in scope."""
        return strategy_of(self) or tf.distribute.get_strategy()

    # --- Loops --------------------------------------------------------------------------------------

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
        resume: str | os.PathLike[str] | None = None,
    ) -> History:
        """Trains the model.

        Args:
            x: inputs: arrays or tensors, in a nest for several; or a `tf.data.Dataset`, generator or
                loader of batches `(x, y)` or `(x, y, sample_weight)`.
            y: targets, for arrays.
            batch_size: rows a step, 32 unless given; for arrays.
            epochs: the number of the last epoch.
            verbose: 0 is silent, 1 a bar, 2 a line an epoch; `"auto"` is 1.
            callbacks: list of `Callback`s.
            validation_split: fraction of the rows, the last ones, to validate with instead.
            validation_data: data to validate with: `(x, y)`, `(x, y, sample_weight)` or a dataset.
            shuffle: whether arrays are taken in a new order each epoch; `"batch"` in whole batches.
            class_weight: a weight of the loss for each class, by index.
            sample_weight: a weight of the loss for each row.
            initial_epoch: the epoch to start with, from 0.
            steps_per_epoch: steps that count as an epoch; all of the data unless given.
            validation_steps: steps of a validation; all of its data unless given.
            validation_batch_size: rows a step of validation; `batch_size` unless given.
            validation_freq: validate each so many epochs, or after the epochs in a list, from 1.
            resume: a folder, or a file whose name ends in `.h5`: training goes on from the state that is
                saved there, if there is one, and saves its own there after each epoch. The short form of a
                `BackupAndRestore` that keeps its file at the end.

        Returns:
            A `History`; its `.history` has a list of numbers, one an epoch, for each log.

        Raises:
            ValueError: before `compile`, for data that does not fit, and for a saved state of another model
                or other data; nothing has changed then.
        """
        self._check_compiled("fit")
        with self._in_turn:
            return loop.fit(
                self,
                x,
                y,
                batch_size,
                epochs,
                _verbosity(verbose),
                callbacks,
                validation_split,
                validation_data,
                shuffle,
                class_weight,
                sample_weight,
                initial_epoch,
                steps_per_epoch,
                validation_steps,
                validation_batch_size,
                validation_freq,
                resume,
            )

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
        """The loss and metrics on the given data, without training; arguments as in `fit`.

        Returns:
            The loss, or a list of loss and metrics in the order of `metrics`; with `return_dict` a dict by
            name.
        """
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        self._check_compiled("evaluate")
        data = make_data(x, y, sample_weight, batch_size)
        verbose = _verbosity(verbose)
        with self._in_turn:
            logs = loop.evaluate(self, data, verbose, steps, callbacks)
        if return_dict:
            return logs
        values = self._in_order(logs)
        return values[0] if len(values) == 1 else values

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

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        stream: bool = False,
    ) -> Any:
        """The outputs for the given inputs, as NumPy arrays.

        Args: as in `fit`, and
            steps: batches to predict for, all unless given.
            stream: whether to give an iterator over the outputs batch by batch, for outputs larger than
                memory; without a bar and callbacks then.

        Raises:
            ValueError: for callbacks together with `stream`.
        """
        forks.check("`predict()`")
        data = make_data(x, None, None, batch_size)
        if stream:
            if callbacks is not None:
                raise ValueError(
                    "`predict(stream=True)` calls no callbacks: the caller sees each batch. "
                    f"Received: callbacks={callbacks}"
                )
            return predict_loop.stream(self, data, steps)
        verbose = _verbosity(verbose)
        return predict_loop.predict(self, data, verbose, steps, callbacks)

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: dict[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """One update from one batch; gives the loss, or loss and metrics, as `evaluate` does."""
        self._check_compiled("train_on_batch")
        return self._on_batch("train", x, y, sample_weight, class_weight, return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """The loss and metrics of one batch, as `evaluate` gives them."""
        self._check_compiled("test_on_batch")
        return self._on_batch("test", x, y, sample_weight, None, return_dict)

    def _on_batch(
        self, mode: str, x: Any, y: Any, sample_weight: Any, class_weight: Any, return_dict: bool
    ) -> Any:
        data = make_arrays(x, y, sample_weight, 2**31 - 1, class_weight=class_weight)
        with self._in_turn:
            self.reset_metrics()
            logs = loop.to_floats(run_arrays(self, mode, data, None, 0, 1))
        if return_dict:
            return logs
        values = self._in_order(logs)
        return values[0] if len(values) == 1 else values

    def predict_on_batch(self, x: Any) -> np.ndarray:
        """The outputs for one batch, as NumPy arrays."""
        forks.check("`predict_on_batch()`")
        data = make_arrays(x, None, None, 2**31 - 1)
        outputs = predict_loop.predict_program(self, data).run_batch(tf.nest.flatten(data.tensors))
        return tf.nest.map_structure(to_numpy, outputs)


def _verbosity(verbose: int | str) -> int:
    if verbose == "auto":
        return 1
    if verbose not in (0, 1, 2):
        raise ValueError(f"`verbose` must be 0, 1, 2 or 'auto'. Received: {verbose!r}")
    return int(verbose)
