"""The loop of `predict` over all batches, with the callbacks between them."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfkit.src.base import nests
from tfkit.src.training.callbacks.callback_list import CallbackList, make_callback_list
from tfkit.src.training.counts import limited_steps, warn_if_ran_out
from tfkit.src.training.data import ArrayData, DatasetData
from tfkit.src.training.prediction import Gathered, PredictProgram, to_numpy
from tfkit.src.training.steps_per_program import StepsPerProgram

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


def predict(
    model: Trainer,
    data: Any,
    verbose: int,
    steps: int | None,
    callbacks: Any,
    note: Callable[[Any], None],
) -> Any:
    """Runs `Model.predict` on data, and returns the outputs.

    Args:
        model: the model.
        data: the inputs.
        verbose: 0, 1 or 2.
        steps: number of steps; `None` for all of the data.
        callbacks: as the user passes them.
        note: called with the program if its only call predicts for all of the data.
    """
    model._tfkit_make_function("predict")
    in_order = isinstance(data, ArrayData) and not data.shuffle
    steps = limited_steps(steps, data.num_batches)
    num_steps = steps if steps is not None else data.num_batches
    needs_loop = bool(verbose) or callbacks is not None
    make_list = functools.partial(
        make_callback_list, model, callbacks, verbose, add_history=False, epochs=1, steps=num_steps
    )
    if needs_loop:  # Wrong callbacks are refused before the model is built.
        callbacks = make_list()
    program = predict_program(model, data)
    # One batch without callbacks needs no loop.
    if not needs_loop:
        if data.num_batches == 1:
            batch = data.tensors if in_order else next(data.batches())
            outputs = nests.with_leaves(to_numpy, program.run_batch(batch))
            note(program)
            return outputs
        if in_order and steps is None and program.runs_together(data):
            outputs = nests.with_leaves(to_numpy, program.run(data, 0, num_steps))
            if program.rows_at_once(data.num_rows) >= data.num_rows:  # The rows were joined.
                note(program)
            return outputs
        callbacks = make_list()
    model.stop_predicting = False
    callbacks.on_predict_begin()
    if in_order:
        result = _predict_arrays(model, program, data, num_steps, callbacks)
    else:
        result = _predict_batches(model, program, data, num_steps, callbacks)
    callbacks.on_predict_end()
    return result


def stream(model: Trainer, data: Any, steps: int | None) -> Iterator[Any]:
    """Yields the outputs batch by batch, for `Model.predict(stream=True)`."""
    model._tfkit_make_function("predict")
    program = predict_program(model, data)
    steps = limited_steps(steps, data.num_batches)
    for batch in itertools.islice(data.batches(), steps):
        yield nests.with_leaves(to_numpy, program.run_batch(batch))


def _predict_arrays(
    model: Trainer, program: Any, data: ArrayData, num_steps: int, callbacks: CallbackList
) -> Any:
    """Returns the predictions for rows of arrays, a program at a time."""
    num_steps = min(num_steps, -(-data.num_rows // data.batch_size))
    num_rows = min(num_steps * data.batch_size, data.num_rows)
    at_once = program.rows_at_once(data.num_rows)
    together = num_steps if at_once >= data.num_rows else at_once // data.batch_size
    first = program.first_steps(data.batch_size)
    pace = StepsPerProgram(model._tfkit_settings.steps_per_execution, first, together)
    gathered, done = Gathered(num_rows), 0
    dense, size = callbacks.needs_predict_batches, model.steps_per_execution
    while done < num_steps and not model.stop_predicting:
        steps = pace.steps(num_steps - done, size if dense else None)
        if dense:
            callbacks.on_predict_batch_begin(done)
        started = time.perf_counter()
        outputs = program.run(data, done, steps)
        rows = min((done + steps) * data.batch_size, num_rows) - done * data.batch_size
        gathered.add(outputs, rows)
        pace.learn(steps, time.perf_counter() - started)
        done += steps
        if dense:
            if size > 1:
                callbacks.note_steps(done - 1, steps)
            callbacks.on_predict_batch_end(done - steps + size - 1, {"outputs": outputs})
        else:
            callbacks.on_steps_end(done - 1, steps, dict)
    return gathered.result()


def _predict_batches(
    model: Trainer,
    program: Any,
    data: ArrayData | DatasetData,
    num_steps: int | None,
    callbacks: CallbackList,
) -> Any:
    """Returns the predictions for batches, one at a time."""
    gathered = Gathered(None)
    dense, size = callbacks.needs_predict_batches, model.steps_per_execution
    batches, done = itertools.islice(data.batches(), num_steps), 0
    while group := list(itertools.islice(batches, size if dense else 1)):
        if dense:
            callbacks.on_predict_batch_begin(done)
        together = Gathered(None)
        for batch in group:
            outputs = program.run_batch(batch)
            gathered.add(outputs, 0)
            if dense:
                together.add(outputs, 0)
        done += len(group)
        if not dense:
            callbacks.on_steps_end(done - 1, 1, dict)
            continue
        if size > 1:
            callbacks.note_steps(done - 1, len(group))
            outputs = together.result()
        callbacks.on_predict_batch_end(done - len(group) + size - 1, {"outputs": outputs})
        if model.stop_predicting:
            return gathered.result()
    warn_if_ran_out(done, num_steps)
    return gathered.result()


def predict_program(model: Trainer, data: ArrayData | DatasetData) -> Any:
    """Returns the program that predicts for data of this form."""
    return model._tfkit_programs.find(model, "predict", PredictProgram, data)
