"""Combines several cells into one cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.layers.checks import is_integer
from tfkit.src.layers.recurrent.cell import (
    Cell,
    bound_step,
    build_cell,
    check_cell,
    initial_state_of,
    output_size_of,
)


class StackedRNNCells(Cell):
    """Several cells as one cell: the output of each is the input of the next.

    Args:
        cells: list of cells: objects with `call(inputs, states)` and `state_size`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: the inputs of one step, `(batch, input_dim)`.
        states: list of the states of each cell: a tensor for a cell with one state, a list of
            tensors for the others.
        training: whether to drop entries.

    Input shape: `(batch, input_dim)`.

    Output shape: A tuple of the last cell's output and the next states, in the form of `states`.

    Raises:
        ValueError: if a cell has no `call` or no `state_size`.

    Example:
        >>> from tfkit.layers import RNN, GRUCell
        >>> RNN(StackedRNNCells([GRUCell(4), GRUCell(2)]))(tf.ones((3, 5, 1))).shape
        TensorShape([3, 2])
    """

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        for cell in cells:
            check_cell(cell)
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        """The sizes of each cell's states."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return output_size_of(self.cells[-1])

    def get_initial_state(self, batch_size: Any = None) -> list[Any]:
        """Returns the first states of each cell."""
        states = [initial_state_of(cell, batch_size, self.compute_dtype) for cell in self.cells]
        # As in Keras, a cell that makes no states itself has one tensor where it has one size.
        return [
            state[0]
            if is_integer(cell.state_size) and not hasattr(cell, "get_initial_state")
            else state
            for cell, state in zip(self.cells, states, strict=True)
        ]

    def build(self, input_shape: Any) -> None:
        """Builds the cells."""
        for cell in self.cells:
            build_cell(cell, input_shape)
            # The output of a cell is the input of the next.
            input_shape = (input_shape[0], output_size_of(cell))

    def bound_step(
        self, batch_size: Any, training: Any
    ) -> Callable[[tf.Tensor, Any], tuple[tf.Tensor, Any]]:
        """Returns a function that makes one step of each cell."""
        steps = [bound_step(cell, batch_size, training) for cell in self.cells]

        def step(inputs: tf.Tensor, states: Any) -> tuple[tf.Tensor, Any]:
            new_states = []
            for one, state in zip(steps, states, strict=True):
                nested = tf.nest.is_nested(state)
                inputs, new_state = one(inputs, state if nested else [state])
                new_states.append(new_state if nested else new_state[0])
            return inputs, new_states

        return step
