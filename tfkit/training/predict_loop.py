"""The loop of `predict`: all batches, with the callbacks in between."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfkit.training.callbacks.callback_list import CallbackList, make_callback_list
from tfkit.training.data import ArrayData, DatasetData
from tfkit.training.pace import Pace
from tfkit.training.prediction import EagerPrediction, Gathered, PredictProgram, to_numpy


def predict(model: Any, data: Any, verbose: int, steps: int | None, callbacks: Any) -> Any:
    """What `Model.predict` does."""
    program = predict_program(model, data)
    in_order = isinstance(data, ArrayData) and not data.shuffle
    if data.num_batches == 1 and not verbose and callbacks is None:
        batch = data.tensors if in_order else next(data.batches())
        outputs = program.run_batch(tf.nest.flatten(batch))
        return tf.nest.map_structure(to_numpy, outputs)
    num_steps = steps if steps is not None else data.num_batches
    callbacks = make_callback_list(
        model, callbacks, verbose, add_history=False, epochs=1, steps=num_steps
    )
    callbacks.on_predict_begin()
    if in_order:
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
    program: Any, data: ArrayData | DatasetData, num_steps: int | None, callbacks: CallbackList
) -> Any:
    """Predicts for batches one by one."""
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
    step, _ = model._step_for("predict")
    if model._runs_eagerly():
        return model._programs.eager("predict", EagerPrediction(step, structure))
    trace = model._programs.trace("predict", structure, step, data.known_size)
    return model._programs.get(
        "predict", trace, trace, lambda: PredictProgram(trace, model.jit_compile)
    )
