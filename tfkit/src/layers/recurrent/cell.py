"""The interface of cells for the loop over time: tfkit's cells, layers of users, or any object."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.layers.recurrent.dropout_masks import DropoutRNNCell


class Cell(Layer):
    """Base of tfkit's cells.

    A subclass defines `state_size` and `bound_step`: a step whose dropout masks are the same, however
    often it is called.
    """

    state_size: Any

    def get_initial_state(self, batch_size: Any = None) -> list[Any]:
        """Returns the first states: zeros."""
        sizes = state_sizes_of(self)
        return [tf.zeros((batch_size, size), self.compute_dtype) for size in sizes]

    def bound_step(
        self, batch_size: Any, training: Any
    ) -> Callable[[tf.Tensor, Any], tuple[tf.Tensor, Any]]:
        """Returns a function of inputs and states that returns the output and the next states."""
        raise NotImplementedError

    def call(self, inputs: Any, states: Any, training: Any = False) -> tuple[tf.Tensor, Any]:
        """Computes one step.

        Args:
            inputs: `(batch, input_dim)`.
            states: the states, a tensor or a nest of tensors, `(batch, size)` each.
            training: whether to drop.

        Returns:
            The output, `(batch, units)`, and the next states in the same form.
        """
        return self.bound_step(tf.shape(inputs)[0], training)(inputs, states)


def bound_step(
    cell: Any, batch_size: Any, training: Any
) -> Callable[[tf.Tensor, Any], tuple[tf.Tensor, Any]]:
    """Returns a function that makes one step of any cell."""
    if is_unchanged(cell):
        return cell.bound_step(batch_size, training)
    takes_training = isinstance(cell, Layer) and cell._tfkit.signature.has_training
    options = {"training": training} if takes_training else {}
    call = cell if callable(cell) else cell.call
    masks: Any = contextlib.nullcontext
    if isinstance(cell, DropoutRNNCell):
        masks = functools.partial(cell.with_seeds, {} if training is False else cell.draw_seeds())

    def step(inputs: tf.Tensor, states: Any) -> tuple[tf.Tensor, Any]:
        with masks():
            output, new_states = call(inputs, states, **options)
        return output, new_states if tf.nest.is_nested(new_states) else [new_states]

    return step


def is_unchanged(cell: Any) -> bool:
    """Returns whether this is a cell of tfkit's whose `call` is not overridden."""
    return isinstance(cell, Cell) and type(cell).call is Cell.call


def check_cell(cell: Any) -> None:
    """Raises an error for an object that is not a cell.

    Raises:
        ValueError: for an object without `call` or `state_size`.
    """
    for name, meaning in (
        ("call", "a method `call(inputs, states)`"),
        ("state_size", "an attribute `state_size`, an integer or a list of integers"),
    ):
        if not hasattr(cell, name):
            raise ValueError(
                f"A cell of a recurrent layer must have {meaning}. Received: cell={cell!r} "
                f"(of type {type(cell).__name__}), which lacks it."
            )


def build_cell(cell: Any, input_shape: Any) -> None:
    """Builds a cell that defines `build`; other cells are built by their first step."""
    if isinstance(cell, Layer) and not cell.built and type(cell).build is not Layer.build:
        cell.build(input_shape)


def state_sizes_of(cell: Any) -> list[Any]:
    """Returns the sizes of the states, as a list."""
    size = cell.state_size
    return list(size) if isinstance(size, (list, tuple)) else [size]


def output_size_of(cell: Any) -> Any:
    """Returns the size of the output: the size of the first state unless the cell defines it."""
    size = getattr(cell, "output_size", None)
    return state_sizes_of(cell)[0] if size is None else size


def initial_state_of(cell: Any, batch_size: Any, dtype: str) -> list[Any]:
    """Returns the first states: those that the cell defines, or zeros."""
    if hasattr(cell, "get_initial_state"):
        states = cell.get_initial_state(batch_size=batch_size)
        return list(states) if isinstance(states, (list, tuple)) else [states]
    dtype = getattr(cell, "compute_dtype", dtype)
    return [tf.zeros((batch_size, size), dtype) for size in state_sizes_of(cell)]
