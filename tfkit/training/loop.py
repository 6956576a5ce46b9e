"""The loops over epochs and programs: what happens between one compiled call and the next."""

from __future__ import annotations

import functools
import itertools
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.training.callbacks import CallbackList, History
from tfkit.training.data import ArrayData, DatasetData, split_validation
from tfkit.training.prediction import EagerPrediction, Gathered, PredictProgram, to_numpy
from tfkit.training.programs import ArrayProgram, EagerProgram, IteratorProgram
from tfkit.training.sources import is_arrays, is_batches, make_data

# A program ends often enough for the bar to be redrawn and Ctrl-C to be heard.
_SECONDS_A_PROGRAM = 0.1


class Pace:
    """How many steps the next program should run to take about a tenth of a second.

    Args:
        limit: the most steps, if the user has said so.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._steps = limit or 1

    def steps(self, left: int | None, callback_limit: int | None) -> int:
        """Steps of the next program."""
        limits = [limit for limit in (left, callback_limit) if limit is not None]
        return max(1, min([self._steps, *limits]))

    def learn(self, steps: int, seconds: float) -> None:
        """Notes how long the last program took."""
        if self._limit is None:
            per_step = seconds / max(steps, 1)
            self._steps = int(
                min(max(_SECONDS_A_PROGRAM / max(per_step, 1e-7), 1), self._steps * 8)
            )


# --- One program --------------------------------------------------------------------------------------


def run_arrays(
    model: Any, mode: str, data: ArrayData, order: tf.Tensor | None, first_step: int, num_steps: int
) -> dict[str, Any]:
    """Runs steps over arrays and gives the logs of the last one."""
    step, finish = model._step_for(mode)
    if model._runs_eagerly():
        program = model._programs.eager(mode, EagerProgram(step, finish))
        return program.run(data, order, first_step, num_steps)
    trace = model._programs.trace(mode, data.tensors, step)
    shuffled = order is not None
    program = model._programs.get(
        mode,
        ("arrays", shuffled),
        trace,
        lambda: ArrayProgram(trace, finish, model.jit_compile, shuffled),
    )
    return program.run(data, order, first_step, num_steps)


def run_iterator(
    model: Any, mode: str, iterator: Any, num_steps: int
) -> tuple[int, dict[str, Any]]:
    """Runs at most `num_steps` steps over an iterator; how many there were, and the last one's logs."""
    step, finish = model._step_for(mode)
    if model._runs_eagerly():
        program = model._programs.eager(mode, EagerProgram(step, finish))
        return program.run_batches(itertools.islice(iterator, num_steps))
    trace = model._programs.trace(mode, iterator.element_spec, step)
    program = model._programs.get(
        mode, "iterator", trace, lambda: IteratorProgram(trace, finish, model.jit_compile)
    )
    return program.run(iterator, num_steps)


class Epoch:
    """The steps of one pass over data, a program at a time.

    Args:
        model: the model.
        mode: `"train"` or `"test"`.
        data: what to pass over.
        num_steps: steps of the pass, all unless given.
        iterator: an iterator over a dataset to go on with.
    """

    def __init__(
        self, model: Any, mode: str, data: Any, num_steps: int | None, iterator: Any = None
    ) -> None:
        self.model = model
        self.mode = mode
        self.data = data
        self.num_steps = num_steps if num_steps is not None else data.num_batches
        self.iterator = iterator
        self.order = data.order() if isinstance(data, ArrayData) else None
        if isinstance(data, DatasetData) and iterator is None:
            self.iterator = iter(data.dataset)

    def run(self, first_step: int, num_steps: int) -> tuple[int, dict[str, Any]]:
        """Runs a program; how many steps it did, and its logs."""
        if isinstance(self.data, DatasetData):
            with self.data.errors_of_user():
                return run_iterator(self.model, self.mode, self.iterator, num_steps)
        position = first_step % self.data.num_batches
        if position == 0 and first_step:
            self.order = self.data.order()
        num_steps = min(num_steps, self.data.num_batches - position)
        logs = run_arrays(self.model, self.mode, self.data, self.order, position, num_steps)
        return num_steps, logs

    def close(self) -> None:
        """Gives up the iterator, in another thread.

        It waits for the thread that tunes the pipeline, which sleeps up to half as long as the pass took:
        0.43 s after one of 0.84 s.
        """
        held, self.iterator = [self.iterator], None
        if held != [None]:
            threading.Thread(target=held.clear).start()


def run_epoch(
    epoch: Epoch, callbacks: CallbackList, pace: Pace, stoppable: bool
) -> tuple[int, dict[str, Any]]:
    """All steps of an epoch, with the callbacks between programs; how many, and the last logs."""
    mode, model = epoch.mode, epoch.model
    dense = callbacks.needs_train_batches if mode == "train" else callbacks.needs_test_batches
    begin = getattr(callbacks, f"on_{mode}_batch_begin")
    end = getattr(callbacks, f"on_{mode}_batch_end")
    done, logs = 0, {}
    while epoch.num_steps is None or done < epoch.num_steps:
        left = None if epoch.num_steps is None else epoch.num_steps - done
        limit = 1 if dense else callbacks.chunk_limit(done) if mode == "train" else None
        if dense:
            begin(done)
        started = time.perf_counter()
        steps, new_logs = epoch.run(done, pace.steps(left, limit))
        if steps == 0:
            break
        pace.learn(steps, time.perf_counter() - started)
        logs = new_logs
        done += steps
        if dense:
            end(done - 1, to_floats(logs))
        else:
            callbacks.on_steps_end(done - 1, steps, functools.partial(to_floats, logs))
        if stoppable and model.stop_training:
            break
    return done, to_floats(logs)


def to_floats(logs: dict[str, Any]) -> dict[str, Any]:
    """Logs as Python numbers; arrays stay arrays."""
    floats = {}
    for name, value in logs.items():
        array = np.asarray(value)
        floats[name] = float(array) if array.ndim == 0 else array
    return floats


def flat_values(model: Any, logs: dict[str, Any]) -> list[Any]:
    """The values of logs in the order of the model's metrics."""
    names = [name for name in model.metrics_names if name in logs]
    names += [name for name in logs if name not in names]
    return [logs[name] for name in names]


# --- fit, evaluate, predict -----------------------------------------------------------------------------


def fit(
    model: Any,
    x: Any,
    y: Any,
    batch_size: int | None,
    epochs: int,
    verbose: int,
    callbacks: Any,
    validation_split: float,
    validation_data: Any,
    shuffle: bool | str,
    class_weight: Any,
    sample_weight: Any,
    initial_epoch: int,
    steps_per_epoch: int | None,
    validation_steps: int | None,
    validation_batch_size: int | None,
    validation_freq: Any,
) -> History:
    """What `Model.fit` does; the arguments are its."""
    if validation_split and validation_data is None:
        (x, y, sample_weight), validation_data = split_validation(
            (x, y, sample_weight), validation_split
        )
    data = make_data(x, y, sample_weight, batch_size, shuffle, class_weight)
    validation = None
    if validation_data is not None:
        parts = (
            validation_data if isinstance(validation_data, (tuple, list)) else (validation_data,)
        )
        test_x, test_y, test_weight = (*parts, None, None)[:3]
        if not parts or not (is_batches(test_x) or is_arrays(test_x)):
            raise ValueError(
                "Unknown `validation_data`. Expected `(x, y)`, `(x, y, sample_weight)` or a dataset of "
                f"batches. Received: {validation_data!r}"
            )
        test_size = validation_batch_size or batch_size
        if is_batches(test_x):
            test_size = None
        validation = make_data(test_x, test_y, test_weight, test_size)
    for name, value in (
        ("steps_per_epoch", steps_per_epoch),
        ("validation_steps", validation_steps),
    ):
        if value is not None and int(value) < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {value}")
    pace, test_pace = Pace(model.steps_per_execution), Pace(model.steps_per_execution)
    num_steps = steps_per_epoch if steps_per_epoch is not None else data.num_batches
    callbacks = _callback_list(model, callbacks, verbose, epochs=epochs, steps=num_steps)
    model.stop_training = False
    callbacks.on_train_begin()
    logs: dict[str, Any] = {}
    iterator = None
    for number in range(initial_epoch, epochs):
        model.reset_metrics()
        callbacks.on_epoch_begin(number)
        epoch = Epoch(model, "train", data, num_steps, iterator)
        done, logs = run_epoch(epoch, callbacks, pace, stoppable=True)
        if steps_per_epoch is not None and isinstance(data, DatasetData):
            iterator = epoch.iterator
        else:
            epoch.close()
        if num_steps is None:
            num_steps = data.num_batches = done
        ran_out = done < num_steps and not model.stop_training
        if ran_out or num_steps == 0:
            warnings.warn(
                f"Your input ran out of data; interrupting training. Expected {num_steps} steps in an "
                f"epoch, and there were batches for {done}. Use `.repeat()` on a dataset, or pass fewer "
                "`steps_per_epoch`.",
                stacklevel=3,
            )
        if validation is not None and _due(number + 1, validation_freq):
            model.reset_metrics()
            measured = _run_test(model, validation, validation_steps, callbacks, test_pace)
            logs = {**logs, **{f"val_{name}": value for name, value in measured.items()}}
        callbacks.on_epoch_end(number, logs)
        if model.stop_training or (ran_out and iterator is not None):
            break
    if model.optimizer is not None and epochs > initial_epoch:
        model.optimizer.finalize_variable_values(model.trainable_weights)
    callbacks.on_train_end(logs)
    return model.history


def evaluate(
    model: Any, data: Any, verbose: int, steps: int | None, callbacks: Any
) -> dict[str, Any]:
    """What `Model.evaluate` does, with a dict of logs as its result."""
    num_steps = steps if steps is not None else data.num_batches
    callbacks = _callback_list(
        model, callbacks, verbose, add_history=False, epochs=1, steps=num_steps
    )
    model.reset_metrics()
    return _run_test(model, data, steps, callbacks, Pace(model.steps_per_execution))


def _run_test(
    model: Any, data: Any, steps: int | None, callbacks: CallbackList, pace: Pace
) -> dict[str, Any]:
    callbacks.on_test_begin()
    epoch = Epoch(model, "test", data, steps)
    _, logs = run_epoch(epoch, callbacks, pace, stoppable=False)
    epoch.close()
    callbacks.on_test_end(logs)
    return logs


def _due(number: int, frequency: Any) -> bool:
    if isinstance(frequency, int):
        return number % frequency == 0
    return number in frequency


def _callback_list(
    model: Any, callbacks: Any, verbose: int, add_history: bool = True, **params: Any
) -> CallbackList:
    if isinstance(callbacks, CallbackList):
        return callbacks
    return CallbackList(
        callbacks,
        add_history=add_history,
        add_progbar=verbose != 0,
        model=model,
        verbose=verbose,
        **params,
    )


def predict(model: Any, data: Any, verbose: int, steps: int | None, callbacks: Any) -> Any:
    """What `Model.predict` does."""
    program = predict_program(model, data)
    if data.num_batches == 1 and not verbose and callbacks is None:
        batch = data.tensors if isinstance(data, ArrayData) else next(data.batches())
        outputs = program.run_batch(tf.nest.flatten(batch))
        return tf.nest.map_structure(to_numpy, outputs)
    num_steps = steps if steps is not None else data.num_batches
    callbacks = _callback_list(
        model, callbacks, verbose, add_history=False, epochs=1, steps=num_steps
    )
    callbacks.on_predict_begin()
    if isinstance(data, ArrayData):
        result = _predict_arrays(model, program, data, num_steps, callbacks)
    else:
        result = _predict_batches(program, data, num_steps, callbacks)
    callbacks.on_predict_end()
    return result


def stream(model: Any, data: Any, steps: int | None) -> Iterator[Any]:
    """What `Model.predict(stream=True)` does: the outputs batch by batch."""
    program = predict_program(model, data)
    for batch in itertools.islice(data.batches(), steps):
        yield tf.nest.map_structure(to_numpy, program.run_batch(tf.nest.flatten(batch)))


def _predict_arrays(
    model: Any, program: Any, data: ArrayData, num_steps: int, callbacks: CallbackList
) -> Any:
    """Predicts for rows of arrays, a program at a time."""
    num_steps = min(num_steps, -(-data.num_rows // data.batch_size))
    num_rows = min(num_steps * data.batch_size, data.num_rows)
    gathered, pace, done = Gathered(num_rows), Pace(model.steps_per_execution), 0
    dense = callbacks.needs_predict_batches
    while done < num_steps:
        steps = 1 if dense else pace.steps(num_steps - done, None)
        if dense:
            callbacks.on_predict_batch_begin(done)
        started = time.perf_counter()
        outputs = program.run(data, done, steps)
        rows = min((done + steps) * data.batch_size, num_rows) - done * data.batch_size
        gathered.add(outputs, rows)
        pace.learn(steps, time.perf_counter() - started)
        done += steps
        if dense:
            callbacks.on_predict_batch_end(done - 1, {"outputs": outputs})
        else:
            callbacks.on_steps_end(done - 1, steps, dict)
    return gathered.result()


def _predict_batches(
    program: Any, data: DatasetData, num_steps: int | None, callbacks: CallbackList
) -> Any:
    """Predicts for the batches of a dataset, one by one."""
    gathered = Gathered(None)
    dense = callbacks.needs_predict_batches
    for index, batch in enumerate(itertools.islice(data.batches(), num_steps)):
        if dense:
            callbacks.on_predict_batch_begin(index)
        tensors = tf.nest.flatten(batch)
        outputs = program.run_batch(tensors)
        gathered.add(outputs, 0)
        if dense:
            callbacks.on_predict_batch_end(index, {"outputs": outputs})
        else:
            callbacks.on_steps_end(index, 1, dict)
    return gathered.result()


def predict_program(model: Any, data: Any) -> Any:
    """The program that predicts for data of this form."""
    structure = data.tensors if isinstance(data, ArrayData) else data.dataset.element_spec
    if model._runs_eagerly():
        return model._programs.eager("predict", EagerPrediction(model.predict_step, structure))
    trace = model._programs.trace("predict", structure, model.predict_step)
    return model._programs.get(
        "predict", trace, trace, lambda: PredictProgram(trace, model.jit_compile)
    )
