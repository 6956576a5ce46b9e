"""The fully connected recurrent layer, and one step of it."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.signatures import arguments_of, shows
from tfkit.src.layers.recurrent.gated import GatedCell, GatedRNN
from tfkit.src.layers.recurrent.options import RecurrentOptions, layer_arguments, shows_options
from tfkit.src.layers.recurrent.slopes import slope


@shows(arguments_of(GatedCell))
class SimpleRNNCell(GatedCell):
    """One step of `SimpleRNN`: `activation(inputs @ kernel + state @ recurrent_kernel + bias)`.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the output; `None` is the identity. Default: `"tanh"`.
        **options: options of every cell, which `GatedCell` describes: bias, initializers, regularizers,
            constraints, dropout.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        training: whether to drop entries.
        inputs: the inputs of one step, `(batch, input_dim)`.
        states: list of the state of the step before, `(batch, units)`.

    Input shape: `(batch, input_dim)`.

    Output shape: A tuple of the output, `(batch, units)`, and the list of the next state.

    Raises:
        ValueError: if `units` is not a positive integer, or if a share is not between 0 and 1.

    Example:
        >>> output, states = SimpleRNNCell(4)(tf.ones((2, 3)), [tf.zeros((2, 4))])
        >>> output.shape
        TensorShape([2, 4])
    """

    draws_dropout_seed_first = True

    def gates(
        self, projections: list[tf.Tensor], states: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the next state, which is the output and all that the gradient needs."""
        output = self.activation(projections[0])
        return [output], [output]

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the gradient of the projection; the state has no direct gradient."""
        d_projection = slope(self.activation, kept[0], upstream[0])
        return [d_projection], [tf.zeros_like(states[0])]


@shows_options(
    layer_arguments(SimpleRNNCell),
    behind={"activity_regularizer": "bias_regularizer", "seed": "unroll"},
)
class SimpleRNN(GatedRNN):
    """The fully connected recurrent layer: `h = activation(x @ kernel + h @ recurrent_kernel + bias)`.

    The state `h` is the output. `kernel` has shape `(input_dim, units)`, `recurrent_kernel`
    `(units, units)` and `bias` `(units,)`.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the output; `None` is the identity. Default: `"tanh"`.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        **options: options of `SimpleRNNCell` and of `RNN`, which describe them: bias, initializers,
            regularizers, constraints, dropout, and the results and states of the loop over time.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first states, each `(batch, units)`; `None` for zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output remain as
            they are. `None` for no mask.
        training: whether to drop entries.

    Input shape: `(batch, steps, input_dim)`.

    Output shape: `(batch, units)`; with `return_sequences`, `(batch, steps, units)`. With
    `return_state`, a tuple of this and the last state, `(batch, units)`.

    Raises:
        ValueError: if `units` is not a positive integer, if a share is not between 0 and 1, if
            `unroll` or `stateful` needs a size that is unknown, or if `initial_state` has a different
            number of states.

    Reference:
        Elman, "Finding structure in time", 1990.

    Example:
        >>> SimpleRNN(4)(tf.ones((2, 5, 3))).shape
        TensorShape([2, 4])
    """

    _tfkit_omitted_from_config = {"seed": None}

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        *,
        activity_regularizer: Any = None,
        **options: Unpack[RecurrentOptions],
    ) -> None:
        super().__init__(
            SimpleRNNCell,
            units=units,
            activation=activation,
            activity_regularizer=activity_regularizer,
            **options,
        )
