"""`RNN`: runs a cell over time."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import budget, recomputation
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.watching import current_watch
from tfkit.src.core.layer import Layer
from tfkit.src.engine import litert, replicas
from tfkit.src.layers.checks import is_integer
from tfkit.src.layers.recurrent.cell import (
    bound_step,
    build_cell,
    check_cell,
    initial_state_of,
    is_unchanged,
    state_sizes_of,
)
from tfkit.src.layers.recurrent.loops import run_cell, time_first
from tfkit.src.layers.recurrent.stacked import StackedRNNCells
from tfkit.src.symbolic.tensors import only_shapes_count
from tfkit.src.weights.variables.variables import make_variable

_MOST_UNROLLED = 10_000  # steps; a graph of them takes minutes to make


class RNN(Layer):
    """Runs a cell over the steps of sequences: `output, states = cell(step, states)`.

    Args:
        cell: an object with `call(inputs, states)`, which returns the output and the next states,
            and with `state_size`, an integer or a list of integers; or a list of such cells, to be
            stacked. `get_initial_state(batch_size)` and `output_size` are used where the cell has
            them.
        return_sequences: whether to return the outputs of all steps, and not only the last one.
            Default: `False`.
        return_state: whether the last states are returned as well. Default: `False`.
        go_backwards: whether the steps are read from the last to the first; outputs are in the
            order in which they are made. Default: `False`.
        stateful: whether a batch starts with the last states of the batch before. The batch size must
            be known; `reset_state()` sets the states to zero. Default: `False`.
        unroll: whether each step is written into the program, instead of a loop; for short
            sequences of a known length. Default: `False`.
        zero_output_for_mask: whether the output of a step is zero where the mask is `False`, instead of
            the output of the step before. It applies only to `return_sequences=True`: the last output
            always belongs to the last step that counts. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first states; `None` for the cell's own, or zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output remain as
            they are. `None` for no mask.
        training: whether the cell is called in training mode, if it accepts `training`.

    Input shape: `(batch, steps, ...)`.

    Output shape: The output shape of the cell: `(batch, ...)`, or with `return_sequences`
    `(batch, steps, ...)`. With `return_state`, a tuple of this and the last states.

    Raises:
        ValueError: if the cell has no `call` or no `state_size`, if `unroll` or `stateful` needs a
            size that is unknown, or if `initial_state` has a different number of states.

    Example:
        >>> class Count(Layer):
        ...     state_size = 1
        ...
        ...     def call(self, inputs, states):
        ...         return states[0] + 1, [states[0] + 1]
        >>> RNN(Count())(tf.ones((2, 5, 3))).numpy()
        array([[5.],
               [5.]], dtype=float32)
    """

    _tfkit_not_read_in_calls = frozenset({"states"})

    @shortened
    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        check_cell(cell)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.zero_output_for_mask = zero_output_for_mask
        self.state_size = state_sizes_of(cell)
        self.supports_masking = True
        self._tfkit_states: Any = None  # They are not weights: they belong to the latest batch.

    @property
    def states(self) -> Any:
        """The variables that hold the states between batches; `None` unless `stateful` and built."""
        return self._tfkit_states

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Builds the cell, and makes the states that are kept between batches."""
        build_cell(self.cell, (sequences_shape[0], *sequences_shape[2:]))
        if self.stateful:
            if sequences_shape[0] is None:
                raise ValueError(
                    f"Layer '{self.path}' is stateful: it keeps a state for each sample of a batch, so "
                    f"the batch size must be known. Received inputs of shape {tuple(sequences_shape)}. "
                    "Pass `batch_shape` or `batch_size` to `Input`."
                )
            for size in tf.nest.flatten(self.state_size):
                budget.spend(
                    (sequences_shape[0], size),
                    self.variable_dtype,
                    f"The state of '{self.path}'",
                    "other",
                )
            states = tf.nest.map_structure(
                lambda value: make_variable(
                    f"a state of layer '{self.path}'",
                    value.shape,
                    value,
                    self.variable_dtype,
                    "rnn_state",
                    counted_as=None,  # Set above, before the first states were made.
                ),
                self.get_initial_state(sequences_shape[0]),
            )
            self._tfkit_set("_tfkit_states", states)

    def _tfkit_children(self, children: dict[str, Any], save_type: str) -> dict[str, Any]:
        """Returns the children, including the kept states."""
        children = super()._tfkit_children(children, save_type)
        states = enumerate(tf.nest.flatten(self._tfkit_states)) if self._tfkit_states else ()
        return {**children, **{f"state_{index}": state for index, state in states}}

    def get_initial_state(self, batch_size: Any) -> list[Any]:
        """Returns the first states for a batch of this size."""
        return initial_state_of(self.cell, batch_size, self.compute_dtype)

    def reset_state(self) -> None:
        """Sets the states that are kept between batches to zero."""
        for state in tf.nest.flatten(self.states) if self.states else ():
            state.assign(tf.zeros_like(state))

    reset_states = reset_state

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = False
    ) -> Any:
        """Returns the output of the last step or of all, and with `return_state` the last states."""
        if self.unroll and sequences.shape[1] is None:
            raise ValueError(
                f"Layer '{self.path}' has `unroll=True`, which needs the number of steps. Received "
                f"inputs of shape {tuple(sequences.shape)}. Pass `Input` a shape with the number of "
                "steps, or `unroll=False`."
            )
        if self.unroll and sequences.shape[1] > _MOST_UNROLLED:
            raise ValueError(
                f"Layer '{self.path}' has `unroll=True`, and its inputs have {sequences.shape[1]:,} steps, "
                f"each of which becomes a part of the graph. Expected at most {_MOST_UNROLLED:,}. Pass "
                "`unroll=False`."
            )
        if self.stateful and replicas.is_divided():
            raise ValueError(
                f"Layer {self._tfkit.title} has `stateful=True`, and keeps a state for each row of a batch. "
                "Under a strategy replicas have different rows of it. Pass the states as `initial_state`, or "
                "run the model without the strategy."
            )
        states = self._tfkit_first_states(sequences, initial_state)
        if self.stateful:
            # In a trace for any batch size, a smaller batch would be broadcast over the states.
            batch = tf.nest.flatten(self.states)[0].shape[:1]
            sequences = tf.ensure_shape(sequences, batch.concatenate(sequences.shape[1:]))
            if litert.traced():
                states = tf.nest.map_structure(lambda x: litert.of_batch(x, sequences), states)
        mask = tf.nest.flatten(mask)[0]
        if mask is not None:
            mask = tf.cast(mask, tf.bool)
            if not mask.shape[:2].is_compatible_with(sequences.shape[:2]):
                raise ValueError(
                    f"The mask of layer '{self.name}' (of type {type(self).__name__}) must have the batch "
                    f"and steps of its inputs. Received: mask of shape {mask.shape}, inputs of shape "
                    f"{sequences.shape}"
                )
            # Shape (steps, batch), of a mask that may have an axis of size 1 for features. As floats,
            # because oneDNN logs an error when a graph transposes another dtype; not by `tf.cast`, which
            # the graph optimizer exchanges with the transpose.
            mask = tf.where(tf.reshape(mask, tf.shape(sequences)[:2]), 1.0, 0.0)
            mask = tf.transpose(mask) > 0.0
        inputs = time_first(sequences)
        if self.go_backwards:
            inputs = tf.reverse(inputs, [0])
            mask = mask if mask is None else tf.reverse(mask, [0])
        output, states = self.inner_loop(inputs, states, mask, training)
        output = tf.cast(
            time_first(output) if self.return_sequences else output, self.compute_dtype
        )
        states = tf.nest.map_structure(lambda state: tf.cast(state, self.compute_dtype), states)
        # The second run of a recomputation would move the states once more.
        if self.stateful and not recomputation.is_second():
            for kept, state in zip(
                tf.nest.flatten(self.states), tf.nest.flatten(states), strict=True
            ):
                kept.assign(tf.cast(state, kept.dtype))
        return (output, *states) if self.return_state else output

    def symbolic_call(self, *args: Any, **kwargs: Any) -> Any:
        """Records a call on symbolic tensors, and returns the symbolic outputs.

        As in Keras, the symbolic state of a stacked cell is a tensor where its size is an integer. A state
        of numbers is what the cell returns, such as a list of one tensor.
        """
        outputs = super().symbolic_call(*args, **kwargs)
        if not self.return_state:
            return outputs
        output, *states = outputs
        sizes = zip(self.state_size, states, strict=True)
        return (output, *[tf.nest.flatten(it)[0] if is_integer(n) else it for n, it in sizes])

    def _tfkit_kept_states(self) -> Any:
        return recomputation.as_before(lambda: tf.nest.map_structure(tf.identity, self.states))

    def _tfkit_first_states(self, sequences: tf.Tensor, given: Any) -> list[Any]:
        """Returns the states before the first step, in the cell's compute dtype."""
        if given is None:
            given = self._tfkit_kept_states() if self.stateful else None
        if given is None:
            given = self.get_initial_state(tf.shape(sequences)[0])
        states = list(given) if isinstance(given, (list, tuple)) else [given]
        if len(states) != len(self.state_size):
            raise ValueError(
                f"Layer '{self.path}' has {len(self.state_size)} state(s). Received an `initial_state` "
                f"of {len(states)}: {given}"
            )
        for index, (state, size) in enumerate(zip(states, self.state_size, strict=True)):
            shape = tf.TensorShape(getattr(state, "shape", None))
            # States of images have more axes.
            is_vector = isinstance(size, int) and shape.rank == 2
            if is_vector and not shape[1:].is_compatible_with((size,)):
                raise ValueError(
                    f"Layer '{self.path}' has states of the sizes {list(self.state_size)}. Received an "
                    f"`initial_state` whose state {index} has the shape {tuple(state.shape)}"
                )
        rows = tf.nest.flatten(states)[0].shape[0]
        watch, batch_size = current_watch(), sequences.shape[0]
        # Only `fit` and the like may run a trace for any batch size. A direct call with a size different from
        # the first runs eagerly if its trace is refused, and then the size is known.
        any_batch = batch_size is None and (watch is None or not watch.frozen)
        if self.stateful and batch_size != rows and not any_batch:
            raise ValueError(
                f"Layer '{self.path}' is stateful: each batch has as many samples as the first one. Expected "
                f"batch size: {rows}. Received inputs of shape {tuple(sequences.shape)}"
            )
        dtype = getattr(self.cell, "compute_dtype", self.compute_dtype)
        batch = sequences.shape[:1]
        return tf.nest.map_structure(lambda x: _as_state(x, dtype, batch), states)

    def inner_loop(
        self, inputs: tf.Tensor, states: list[Any], mask: Any, training: Any
    ) -> tuple[tf.Tensor, list[Any]]:
        """Runs the loop: `inputs` and `mask` have time first, and so have the outputs of all steps."""
        step = bound_step(self.cell, tf.shape(inputs)[1], training)
        return run_cell(
            step,
            inputs,
            states,
            mask,
            unroll=self.unroll,
            # A user's cell may do different things in each step.
            shapes_only=only_shapes_count() and all(map(is_unchanged, _cells(self.cell))),
            # The last output belongs to the last step that counts, which is not masked.
            zero_output_for_mask=self.zero_output_for_mask and bool(self.return_sequences),
            all_outputs=bool(self.return_sequences),
        )

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Returns the inputs' mask for outputs of all steps, else `None`."""
        mask = tf.nest.flatten(mask)[0] if self.return_sequences else None
        return [mask, *(None for _ in self.state_size)] if self.return_state else mask


def _cells(cell: Any) -> list[Any]:
    """Returns the cells that a step calls."""
    return cell.cells if type(cell) is StackedRNNCells else [cell]


def _as_state(value: Any, dtype: str, batch: tf.TensorShape) -> tf.Tensor:
    """Returns `value` as a tensor with a static batch size if the inputs have one."""
    state = tf.cast(value, dtype)
    return tf.ensure_shape(state, batch.concatenate(state.shape[1:]))
