"""The loops over time: one for any cell, and one for gated cells whose gradient is cheaper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

# By this name the planner knows the loops of `run_gates`, which XLA does not make faster.
GATES_LOOP = "gates_loop"


def run_cell(
    step: Callable[[tf.Tensor, Any], tuple[tf.Tensor, Any]],
    inputs: tf.Tensor,
    states: Any,
    mask: tf.Tensor | None = None,
    unroll: bool = False,
    zero_output_for_mask: bool = False,
    all_outputs: bool = True,
) -> tuple[tf.Tensor, Any]:
    """Calls `step` for one time step after the other.

    Where the mask is false, the states stay as they are, and the output is that of the step before.

    Args:
        step: gives the output and the next states for an input, `(batch, ...)`, and the states.
        inputs: `(steps, batch, ...)`.
        states: nest of tensors `(batch, ...)`.
        mask: booleans, `(steps, batch)`.
        unroll: whether each step is written into the program, instead of a loop.
        zero_output_for_mask: whether outputs are zero where the mask is false.
        all_outputs: whether all outputs are wanted, or the last one only.

    Returns:
        The outputs, `(steps, batch, ...)`, or the last one; and the last states.
    """

    def advance(time: Any, output: tf.Tensor, flat_states: list[Any]) -> tuple[Any, list[Any]]:
        new_output, new_states = step(
            inputs[time], tf.nest.pack_sequence_as(states, list(flat_states))
        )
        flat_new = tf.nest.flatten(new_states)
        if mask is not None:
            held = tf.zeros_like(new_output) if zero_output_for_mask else output
            new_output = _select(mask[time], new_output, held)
            flat_new = [
                _select(mask[time], new, old)
                for new, old in zip(flat_new, flat_states, strict=True)
            ]
        return new_output, flat_new

    # The first step tells the shape and the dtype of outputs; its value is not used.
    first_output, first_states = step(inputs[0], states)
    output, flat = tf.zeros_like(first_output), tf.nest.flatten(states)
    if unroll:
        outputs = []
        for time in range(inputs.shape[0]):
            output, flat = advance(time, output, flat)
            outputs.append(output)
        result = tf.stack(outputs) if all_outputs else output
        return result, tf.nest.pack_sequence_as(states, flat)

    steps = _size(inputs)
    # XLA cannot make the gradient of an array in the loop that nothing is written to.
    collected = [tf.TensorArray(output.dtype, steps, element_shape=output.shape)] * all_outputs

    def body(time: Any, collected: Any, output: Any, *flat: Any) -> Any:
        output, new = advance(time, output, list(flat))
        return time + 1, [array.write(time, output) for array in collected], output, *new

    _, collected, output, *flat = tf.while_loop(
        lambda time, *_: time < steps,
        body,
        (0, collected, output, *flat),
        shape_invariants=(
            tf.TensorShape([]),
            [None] * all_outputs,
            output.shape,
            *(
                before.shape.most_specific_compatible_shape(after.shape)
                for before, after in zip(flat, tf.nest.flatten(first_states), strict=True)
            ),
        ),
        maximum_iterations=steps,  # Without it XLA cannot compile the gradient.
    )
    result = collected[0].stack() if all_outputs else output
    return result, tf.nest.pack_sequence_as(states, list(flat))


def run_gates(
    gates: Callable[[list[tf.Tensor], list[tf.Tensor]], list[tf.Tensor]],
    additive: bool,
    inputs: tf.Tensor,
    states: list[tf.Tensor],
    kernel: tf.Tensor,
    bias: tf.Tensor | None = None,
    mask: tf.Tensor | None = None,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The loop of a cell whose only product is `states[0] @ kernel + bias`.

    All else in it is elementwise, so that the gradient of `kernel` is one product over all steps, made
    after the loop: the loop backward carries only the gradients of the states.

    Args:
        gates: gives the next states for projections and states. It reads no variables.
        additive: whether `gates` gets the sum of the two projections, or both.
        inputs: the projected inputs, `(steps, batch, size)`.
        states: `(batch, units)` each; the first is multiplied by `kernel`.
        kernel: `(units, size)`.
        bias: `(size,)`, or `None`.
        mask: booleans, `(steps, batch)`; where false, the states stay as they are.

    Returns:
        The first states after each step, `(steps, batch, units)`, and all states after the last step.
    """
    weights = [kernel] if bias is None else [kernel, bias]

    @tf.custom_gradient
    def run(inputs: Any, *rest: Any) -> Any:
        weights, states = rest[: -len(initial)], list(rest[-len(initial) :])
        sums, history, final = _forward(gates, additive, inputs, states, weights, mask)

        def gradient(*upstream: Any) -> Any:
            before = [
                tf.concat([state[None], later[:-1]], axis=0)
                for state, later in zip(states, history, strict=True)
            ]
            projections = [sums] if additive else [inputs, sums]
            d_projections, d_states = _backward(
                gates, projections, before, weights[0], mask, upstream[0], list(upstream[1:])
            )
            d_sums = d_projections[-1]
            d_kernel = tf.einsum("tbu,tbg->ug", before[0], d_sums)
            d_bias = [tf.reduce_sum(d_sums, axis=[0, 1])] if bias is not None else []
            return d_projections[0], d_kernel, *d_bias, *d_states

        return (history[0], *final), gradient

    initial = states
    outputs, *final = run(inputs, *weights, *states)
    return outputs, final


def _forward(
    gates: Any, additive: bool, inputs: Any, states: list[Any], weights: Any, mask: Any
) -> tuple[tf.Tensor, list[tf.Tensor], list[tf.Tensor]]:
    """The loop; gives the recurrent projections, the states after each step and the last ones."""
    steps = _size(inputs)

    def body(time: Any, sums: Any, history: Any, states: Any) -> Any:
        projection = tf.matmul(states[0], weights[0])
        if len(weights) == 2:
            projection += weights[1]
        if additive:
            projection += inputs[time]
        projections = [projection] if additive else [inputs[time], projection]
        new = gates(projections, list(states))
        if mask is not None:
            new = [_select(mask[time], a, b) for a, b in zip(new, states, strict=True)]
        written = [array.write(time, state) for array, state in zip(history, new, strict=True)]
        return time + 1, sums.write(time, projection), written, new

    width = [inputs.shape[1], weights[0].shape[1]]
    _, sums, history, final = tf.while_loop(
        lambda time, *_: time < steps,
        body,
        (
            0,
            tf.TensorArray(inputs.dtype, steps, element_shape=width),
            [tf.TensorArray(state.dtype, steps, element_shape=state.shape) for state in states],
            states,
        ),
        name=GATES_LOOP,
    )
    return sums.stack(), [array.stack() for array in history], final


def _backward(
    gates: Any,
    projections: list[Any],
    before: list[Any],
    kernel: Any,
    mask: Any,
    d_outputs: Any,
    d_final: list[Any],
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """The loop from the last step to the first; gives the gradients of projections and first states."""
    steps = _size(d_outputs)
    transposed = tf.transpose(kernel)

    def body(count: Any, arrays: Any, d_states: Any) -> Any:
        time = steps - 1 - count
        d_states = [d_states[0] + d_outputs[time], *d_states[1:]]
        passed = None
        if mask is not None:
            passed = [_select(mask[time], tf.zeros_like(d), d) for d in d_states]
            d_states = [_select(mask[time], d, tf.zeros_like(d)) for d in d_states]
        sources = [array[time] for array in (*projections, *before)]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            new = gates(sources[: len(projections)], sources[len(projections) :])
        gradients = tape.gradient(new, sources, d_states, tf.UnconnectedGradients.ZERO)
        d_projections, d_states = gradients[: len(projections)], gradients[len(projections) :]
        d_states[0] += tf.matmul(d_projections[-1], transposed)
        if passed is not None:
            d_states = [a + b for a, b in zip(d_states, passed, strict=True)]
        written = [array.write(time, d) for array, d in zip(arrays, d_projections, strict=True)]
        return count + 1, written, d_states

    _, arrays, d_states = tf.while_loop(
        lambda count, *_: count < steps,
        body,
        (
            0,
            [tf.TensorArray(p.dtype, steps, element_shape=p.shape[1:]) for p in projections],
            d_final,
        ),
        name=GATES_LOOP,
    )
    return [array.stack() for array in arrays], d_states


def _select(condition: tf.Tensor, chosen: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """`chosen` for the samples where `condition`, `(batch,)`, holds, else `other`."""
    return tf.where(tf.reshape(condition, [-1] + [1] * (chosen.shape.rank - 1)), chosen, other)


def _size(inputs: tf.Tensor) -> Any:
    """Number of time steps, as an integer where it is known."""
    return tf.shape(inputs)[0] if inputs.shape[0] is None else inputs.shape[0]
