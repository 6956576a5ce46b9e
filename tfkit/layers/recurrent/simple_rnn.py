"""The fully connected recurrent layer, and one step of it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.layers.recurrent.gated import GatedCell, GatedRNN
from tfkit.layers.recurrent.slopes import slope


class SimpleRNNCell(GatedCell):
    """One step of `SimpleRNN`: `activation(inputs @ kernel + state @ recurrent_kernel + bias)`.

    Arguments are those of `SimpleRNN` that concern one step.

    Example:
        >>> output, states = SimpleRNNCell(4)(tf.ones((2, 3)), [tf.zeros((2, 4))])
        >>> output.shape
        TensorShape([2, 4])
    """

    draws_dropout_seed_first = True

    def gates(
        self, projections: list[tf.Tensor], states: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The next state, which is the output; it is what the gradient needs."""
        output = self.activation(projections[0])
        return [output], [output]

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The gradient of the projection; the state has none but through it."""
        d_projection = slope(self.activation, kept[0], upstream[0])
        return [d_projection], [tf.zeros_like(states[0])]


class SimpleRNN(GatedRNN):
    """The fully connected recurrent layer: the output goes into the next step.

    Args:
        units: size of the output and of each state.
        activation: name or function, for the output.
        use_bias: whether to add a bias.
        kernel_initializer: first value of `kernel`.
        recurrent_initializer: first value of `recurrent_kernel`.
        bias_initializer: first value of `bias`.
        kernel_regularizer: penalty on `kernel`.
        recurrent_regularizer: penalty on `recurrent_kernel`.
        bias_regularizer: penalty on `bias`.
        activity_regularizer: penalty on the outputs.
        kernel_constraint: what `kernel` goes through after each update.
        recurrent_constraint: what `recurrent_kernel` goes through after each update.
        bias_constraint: what `bias` goes through after each update.
        dropout: part of the inputs that is dropped while training, 0 to 1, the same in all steps.
        recurrent_dropout: part of the state that is dropped, 0 to 1, the same in all steps.
        seed: of the dropout; drawn where it is `None`.
        return_sequences: whether the output is that of all steps, or the last one.
        return_state: whether the last states are given too.
        go_backwards: whether time runs backwards; outputs stay in the order in which they came.
        stateful: whether a batch starts with the states that the one before ended with.
        unroll: whether each step is written into the program, instead of a loop.

    Call arguments:
        sequences: `(batch, steps, input_dim)`.
        initial_state: list of the first states, `(batch, units)` each; zeros unless given.
        mask: booleans, `(batch, steps)`; where false, the states and the output stay as they are.
        training: whether to drop.

    Output shape: `(batch, steps, units)` with `return_sequences`, else `(batch, units)`; with
    `return_state`, a tuple of this and the last state.

    Example:
        >>> SimpleRNN(4)(tf.ones((2, 5, 3))).shape
        TensorShape([2, 4])
    """

    _omitted_from_config = {"seed": None}

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            SimpleRNNCell(
                units,
                activation=activation,
                use_bias=use_bias,
                kernel_initializer=kernel_initializer,
                recurrent_initializer=recurrent_initializer,
                bias_initializer=bias_initializer,
                kernel_regularizer=kernel_regularizer,
                recurrent_regularizer=recurrent_regularizer,
                bias_regularizer=bias_regularizer,
                kernel_constraint=kernel_constraint,
                recurrent_constraint=recurrent_constraint,
                bias_constraint=bias_constraint,
                dropout=dropout,
                recurrent_dropout=recurrent_dropout,
                seed=seed,
                trainable=kwargs.get("trainable", True),
                dtype=kwargs.get("dtype"),
                name="simple_rnn_cell",
            ),
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            activity_regularizer=activity_regularizer,
            **kwargs,
        )
