"""`K.rnn` of `tf.keras.backend`: a loop of a function over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.layers.recurrent.loops import run_cell, time_first


def rnn(
    step_function: Callable[[Any, Any], tuple[Any, Any]],
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, list[Any]]:
    """Calls a function for each time step, with the states of the step before.

    `layers.RNN` does so for a layer with weights.

    Args:
        step_function: returns the output and the next states for an input `(batch, ...)` and a list of the
            states, followed by the constants.
        inputs: tensor, or nest of tensors, `(batch, steps, ...)`.
        initial_states: list of tensors `(batch, ...)`.
        go_backwards: whether the last time step is the first. Default: `False`.
        mask: booleans `(batch, steps)`; where false, the step keeps the states and repeats the output
            of the step before. `None` for all true.
        constants: list of tensors that each step is given; `None` for none.
        unroll: whether each step is written into the program, instead of a loop. Default: `False`.
        input_length: the number of steps; `None` for the number of the inputs, which it must equal.
        time_major: whether inputs, masks and outputs are `(steps, batch, ...)`. Default: `False`.
        zero_output_for_mask: whether outputs are zero where the mask is false. Default: `False`.
        return_all_outputs: whether all outputs are returned, or the last one only. Default: `True`.

    Returns:
        The last output, `(batch, ...)`; the outputs, `(batch, steps, ...)`, with one step without
        `return_all_outputs`; and the last states.

    Raises:
        ValueError: for `unroll` with an unknown number of steps, for a wrong `input_length`, for states that
            change their shapes.
    """
    by_time = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    if not time_major:
        by_time = tf.nest.map_structure(time_first, by_time)
    first = tf.nest.flatten(by_time)[0]
    steps = first.shape[0]
    _check_steps(steps, input_length, unroll)
    if mask is not None:
        mask = tf.cast(mask, tf.bool)
        if mask.shape.rank == 3:
            # A mask of shape (batch, steps, 1) has an axis for features.
            mask = mask[..., 0]
        mask = mask if time_major else time_first(mask)
    if go_backwards:
        by_time = tf.nest.map_structure(_reversed, by_time)
        mask = None if mask is None else _reversed(mask)

    constants = [] if constants is None else list(constants)

    def step(time: Any, states: Any) -> tuple[Any, list[Any]]:
        now = tf.nest.map_structure(lambda each: each[time], by_time)
        output, new = step_function(now, [*states, *constants])
        return output, list(new)

    times = tf.range(tf.shape(first)[0] if steps is None else steps)
    states = [tf.convert_to_tensor(state) for state in initial_states]
    result, states = run_cell(
        step,
        times,
        states,
        mask,
        unroll=unroll,
        zero_output_for_mask=zero_output_for_mask,
        all_outputs=return_all_outputs,
    )
    # Without all outputs the result is the last one alone: as a sequence it has one step.
    last, outputs = (result[-1], result) if return_all_outputs else (result, result[None])
    return last, outputs if time_major else time_first(outputs), states


def _check_steps(steps: int | None, given: Any, unroll: bool) -> None:
    if unroll and steps is None:
        raise ValueError(
            "`unroll=True` needs the number of steps. Received inputs with an unknown one. "
            "Give the inputs a static number of steps, or pass `unroll=False`."
        )
    if isinstance(given, int) and steps is not None and given != steps:
        raise ValueError(
            f"`input_length` must be the number of steps of the inputs. Received: input_length={given}, and "
            f"inputs of {steps} steps"
        )


def _reversed(tensor: Any) -> Any:
    return tf.reverse(tensor, [0])
