"""The loops over time: one for any cell, and one for gated cells with a cheaper gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.engine import litert, xla
from tfkit.src.engine.derivatives import derivative
from tfkit.src.engine.machine import predicts_only

# Kernels of at least this many elements are multiplied in two halves of their columns, which run side
# by side: batches of 32 rows and more take a third less time. For smaller kernels, and for a single row, the
# second product costs more than it saves. In predictions several batches run side by side already.
_LARGE_FORWARD, _LARGE_BACKWARD, _LARGE_PREDICTED = 6_000, 12_000, 20_000
# Predictions of so few rows compute several steps in each pass of the loop, which itself takes as long as
# half a step. Microseconds of a GRU of 64 units, 50 steps, one row, by one step a pass, by 2, 5 and 10: 677,
# 579, 505 and 479.
_FEW_ROWS, _STEPS_A_PASS = range(9), 5


def run_cell(
    step: Callable[[tf.Tensor, Any], tuple[tf.Tensor, Any]],
    inputs: tf.Tensor,
    states: Any,
    mask: tf.Tensor | None = None,
    *,
    unroll: bool = False,
    shapes_only: bool = False,
    zero_output_for_mask: bool = False,
    all_outputs: bool = True,
) -> tuple[tf.Tensor, Any]:
    """Calls `step` for each time step.

    Where the mask is false, the states are kept, and the output of the previous step is repeated.

    Args:
        step: returns the output and the next states for an input, `(batch, ...)`, and the states.
        inputs: `(steps, batch, ...)`.
        states: nest of tensors `(batch, ...)`.
        mask: booleans, `(steps, batch)`.
        unroll: whether each step is written into the program, instead of a loop.
        shapes_only: whether only shapes are needed, so that a single step is enough.
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

    # The first step gives the shape and the dtype of outputs; its value is not used.
    first_output, first_states = step(inputs[0], states)
    output, flat = tf.zeros_like(first_output), tf.nest.flatten(states)
    _check_states(flat, tf.nest.flatten(first_states))
    if unroll:
        steps, outputs = inputs.shape[0], []
        # If only shapes are wanted, one step stands for all.
        for time in range(min(steps, 1) if shapes_only else steps):
            output, flat = advance(time, output, flat)
            outputs.append(output)
        outputs *= steps if shapes_only else 1
        result = tf.stack(outputs) if all_outputs else output
        return result, tf.nest.pack_sequence_as(states, flat)

    steps = _size(inputs)
    # XLA cannot compile the gradient of an array in the loop to which nothing is written.
    collected: list[Any] = [_empty(output, steps)] * all_outputs

    def body(time: Any, collected: Any, output: Any, *flat: Any) -> Any:
        output, new = advance(time, output, list(flat))
        return time + 1, [_with(each, time, output) for each in collected], output, *new

    _, collected, output, *flat = tf.while_loop(
        lambda time, *_: time < steps,
        body,
        (0, collected, output, *flat),
        shape_invariants=(
            tf.TensorShape([]),
            [_invariant(output)] * all_outputs,
            output.shape,
            *(
                before.shape.most_specific_compatible_shape(after.shape)
                for before, after in zip(flat, tf.nest.flatten(first_states), strict=True)
            ),
        ),
        maximum_iterations=steps,  # Without it XLA cannot compile the gradient.
    )
    result = output
    if all_outputs:
        result = collected[0] if tf.is_tensor(collected[0]) else collected[0].stack()
    return result, tf.nest.pack_sequence_as(states, list(flat))


def time_first(tensor: tf.Tensor) -> tf.Tensor:
    """Returns `tensor` with its first two axes swapped."""
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


def _empty(output: tf.Tensor, steps: Any) -> Any:
    """Returns an empty collection of the steps' outputs: an array, or a tensor of the outputs so far."""
    if litert.traced():
        return tf.zeros(tf.concat([[0], tf.shape(output)], axis=0), output.dtype)
    return tf.TensorArray(output.dtype, steps, element_shape=output.shape)


def _with(collected: Any, time: Any, output: tf.Tensor) -> Any:
    """Returns the collection with the output of one more step."""
    if tf.is_tensor(collected):
        return tf.concat([collected, output[None]], axis=0)
    return collected.write(time, output)


def _invariant(output: tf.Tensor) -> tf.TensorShape | None:
    """Returns the shape of the collection, in the loop."""
    return tf.TensorShape([None]).concatenate(output.shape) if litert.traced() else None


def _check_states(before: list[tf.Tensor], after: list[tf.Tensor]) -> None:
    """Raises an error for a cell whose next states have other shapes than the states passed to it.

    Raises:
        ValueError: that shows both.
    """
    shapes = [[tuple(state.shape) for state in states] for states in (before, after)]
    fits = len(before) == len(after) and all(
        old.shape.is_compatible_with(new.shape) for old, new in zip(before, after, strict=True)
    )
    if not fits:
        raise ValueError(
            "A cell must return its next states with the shapes of its states. "
            f"Expected: {shapes[0]}. Received: {shapes[1]}. States are passed as a list, even a single one."
        )


class Gates(Protocol):
    """The part of a cell after its product with the state: elementwise, and without variables.

    Attributes:
        gate_count: how many gates there are, side by side in projections and kernels.
        additive: whether `gates` gets the sum of the two projections, or both.
        num_kept: how many tensors `gates` keeps for the gradient.
    """

    gate_count: int
    additive: bool
    num_kept: int

    def gates(
        self, projections: list[tf.Tensor], states: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the next states, and the tensors of this step for the gradient, each of a state's shape.

        Args:
            projections: one tensor for each gate, the sums; unless `additive`, the projections of the
                inputs and then the projections of the state.
            states: the states before the step.
        """

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the gradients of projections and states, from the gradients of the next states."""


def run_gates(
    cell: Gates,
    inputs: tf.Tensor,
    states: list[tf.Tensor],
    kernel: tf.Tensor,
    bias: tf.Tensor | None = None,
    mask: tf.Tensor | None = None,
    *,
    all_outputs: bool = True,
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Returns the loop of a cell whose only product is `states[0] @ kernel + bias`.

    The gradient of `kernel` is one product over all steps, made after the loop: the loop backward carries
    only the gradients of the states, and computes no gate again.

    Args:
        cell: the part after the product.
        inputs: the projected inputs, `(steps, batch, size)`.
        states: `(batch, units)` each; the first is multiplied by `kernel`.
        kernel: `(units, size)`.
        bias: `(size,)`, or `None`.
        mask: booleans, `(steps, batch)`; where false, the states are kept.
        all_outputs: whether the first states after all steps are wanted, or after the last one only.

    Returns:
        The first states after each step, `(steps, batch, units)`, or after the last one; and all states
        after the last step.
    """
    weights = [kernel] if bias is None else [kernel, bias]
    if predicts_only():
        outputs, *_, final = _forward(
            cell, inputs, states, weights, mask, all_outputs=all_outputs, for_gradient=False
        )
        return (outputs or final)[0], list(final)

    @tf.custom_gradient
    def run(inputs: Any, *rest: Any) -> Any:
        weights, states = rest[: -len(initial)], list(rest[-len(initial) :])
        outputs, kept, before, final = _forward(
            cell, inputs, states, weights, mask, all_outputs=all_outputs
        )

        @derivative
        def gradient(*upstream: Any) -> Any:
            d_outputs, d_final = upstream[: len(outputs)], list(upstream[len(outputs) :])
            d_projections, d_states = _backward(
                cell,
                kept,
                before,
                weights[0],
                mask,
                d_outputs=d_outputs,
                d_final=d_final,
                steps=_size(inputs),
            )
            # Shapes (steps * batch, gates * units) and (steps * batch, units).
            d_sums = tf.reshape(d_projections[-1], [-1, inputs.shape[2]])
            entered = tf.reshape(before[0], [-1, states[0].shape[1]])
            d_kernel = tf.matmul(entered, d_sums, transpose_a=True)
            d_bias = [tf.reduce_sum(d_sums, axis=0)] if bias is not None else []
            return d_projections[0], d_kernel, *d_bias, *d_states

        return (*outputs, *final), gradient

    initial = states
    results = run(inputs, *weights, *states)
    return results[0], list(results[-len(initial) :])


def _forward(
    cell: Gates,
    inputs: Any,
    states: list[Any],
    weights: Any,
    mask: Any,
    *,
    all_outputs: bool,
    for_gradient: bool = True,
) -> tuple[list[tf.Tensor], list[tf.Tensor], list[tf.Tensor], list[tf.Tensor]]:
    """Runs the loop; returns outputs if needed, kept tensors, states before each step, and last states."""
    steps = _size(inputs)
    # A few gates at a time, which start when their own product is ready.
    large = _LARGE_FORWARD if for_gradient else _LARGE_PREDICTED
    counts = _parts(cell.gate_count, weights[0], states[0], large)
    kernels, *biases = [_split(weight, counts) for weight in weights]

    def body(time: Any, arrays: Any, states: Any) -> Any:
        parts = [tf.matmul(states[0], kernel) for kernel in kernels]
        for bias in biases:
            parts = [part + each for part, each in zip(parts, bias, strict=True)]
        if cell.additive:
            projected = _split(inputs[time], counts)
            parts = [part + each for part, each in zip(parts, projected, strict=True)]
        gates = [
            gate
            for part, count in zip(parts, counts, strict=True)
            for gate in _split(part, [1] * count)
        ]
        if not cell.additive:
            gates = [*_split(inputs[time], [1] * cell.gate_count), *gates]
        new, kept = cell.gates(gates, list(states))
        if mask is not None:
            new = [_select(mask[time], a, b) for a, b in zip(new, states, strict=True)]
        stored = [*kept, *states] if for_gradient else []
        values = [*new[:1], *stored] if all_outputs else stored
        written = [array.write(time, value) for array, value in zip(arrays, values, strict=True)]
        return time + 1, written, new

    num_stored = cell.num_kept + len(states) if for_gradient else 0
    arrays = [
        tf.TensorArray(inputs.dtype, steps, element_shape=states[0].shape)
        for _ in range(all_outputs + num_stored)
    ]
    with xla.own_loop():
        state = 0, arrays, states
        if not for_gradient and isinstance(steps, int) and states[0].shape[0] in _FEW_ROWS:
            state, body = _several(body, state, steps)
        _, arrays, final = tf.while_loop(lambda time, *_: time < steps, body, state)
    # Stacked, because a gradient that is saved in a SavedModel does not accept arrays.
    stacks = [array.stack() for array in arrays]
    first, last = int(all_outputs), all_outputs + cell.num_kept
    return stacks[:first], stacks[first:last], stacks[last:], final


def _several(body: Callable[..., Any], state: Any, steps: int) -> tuple[Any, Callable[..., Any]]:
    """Returns a state after a few steps, and the body of a loop over all others, several at a time."""
    for _ in range(steps % _STEPS_A_PASS):
        state = body(*state)

    def repeated(*state: Any) -> Any:
        for _ in range(_STEPS_A_PASS):
            state = body(*state)
        return state

    return state, repeated


def _backward(
    cell: Gates,
    kept: list[tf.Tensor],
    before: list[tf.Tensor],
    kernel: Any,
    mask: Any,
    *,
    d_outputs: Any,
    d_final: list[Any],
    steps: Any,
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Runs the loop backward; returns the gradients of projections and first states."""
    units = kernel.shape[0]
    transposed = _split(tf.transpose(kernel), _parts(units, kernel, d_final[0], _LARGE_BACKWARD))

    def body(count: Any, arrays: Any, d_states: Any) -> Any:
        time = steps - 1 - count
        # The output is the first state, so that both gradients add up.
        for d_output in d_outputs:
            d_states = [d_states[0] + d_output[time], *d_states[1:]]
        passed = None
        # The gradient of a masked step passes to the states before it unchanged.
        if mask is not None:
            passed = [_select(mask[time], tf.zeros_like(d), d) for d in d_states]
            d_states = [_select(mask[time], d, tf.zeros_like(d)) for d in d_states]
        d_projections, d_states = cell.gates_gradient(
            [array[time] for array in kept], [array[time] for array in before], list(d_states)
        )
        products = [tf.matmul(d_projections[-1], part) for part in transposed]
        d_states[0] += tf.concat(products, axis=-1)
        if passed is not None:
            d_states = [a + b for a, b in zip(d_states, passed, strict=True)]
        written = [array.write(time, d) for array, d in zip(arrays, d_projections, strict=True)]
        return count + 1, written, d_states

    shape = [d_final[0].shape[0], kernel.shape[1]]
    num_projections = 1 if cell.additive else 2
    arrays = [
        tf.TensorArray(kernel.dtype, steps, element_shape=shape) for _ in range(num_projections)
    ]
    with xla.own_loop():
        _, arrays, d_states = tf.while_loop(
            lambda count, *_: count < steps, body, (0, arrays, d_final)
        )
    return [array.stack() for array in arrays], d_states


def _parts(count: int, kernel: tf.Tensor, state: tf.Tensor, fewest: int) -> list[int]:
    """Returns the sizes of the parts in which `count` columns or gates are multiplied: two halves, or all."""
    if count == 1 or state.shape[0] == 1 or kernel.shape.num_elements() < fewest:
        return [count]
    return [count - count // 2, count // 2]


def _split(tensor: Any, sizes: list[int]) -> list[tf.Tensor]:
    """Returns parts of the last axis, in the proportion of `sizes`."""
    if len(sizes) == 1:
        return [tensor]
    if len(set(sizes)) == 1:  # A simpler operation.
        return tf.split(tensor, len(sizes), axis=-1)
    one = tensor.shape[-1] // sum(sizes)
    return tf.split(tensor, [size * one for size in sizes], axis=-1)


def _select(condition: tf.Tensor, chosen: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Returns `chosen` for the samples where `condition`, `(batch,)`, holds, else `other`."""
    return tf.where(tf.reshape(condition, [-1] + [1] * (chosen.shape.rank - 1)), chosen, other)


def _size(inputs: tf.Tensor) -> Any:
    """Returns the number of time steps, as an integer if it is known."""
    return tf.shape(inputs)[0] if inputs.shape[0] is None else inputs.shape[0]
