"""The fully connected recurrent layer, and one step of it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.layers.recurrent.gated import GatedCell, GatedRNN
from tfkit.src.layers.recurrent.slopes import slope


class SimpleRNNCell(GatedCell):
    """One step of `SimpleRNN`: `activation(inputs @ kernel + state @ recurrent_kernel + bias)`.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the output; `None` is the identity. Default: `"tanh"`.
        use_bias: whether to add a trained bias. Default: `True`.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        recurrent_initializer: initial value of `recurrent_kernel`. Default: `"orthogonal"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        kernel_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        recurrent_regularizer: penalty on `recurrent_kernel`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        kernel_constraint: function that projects `kernel` after each update, such as `MaxNorm(2)`;
            `None` for no constraint.
        recurrent_constraint: function that projects `recurrent_kernel` after each update; `None`
            for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        dropout: share of the inputs that is dropped while training, from 0 to 1; the same entries
            in all steps. Default: `0.0`.
        recurrent_dropout: share of the state that is dropped while training, from 0 to 1; the same
            entries in all steps. Default: `0.0`.
        seed: integer that decides what is dropped; `None` for a seed that is drawn when the layer
            is made.
        **kwargs: arguments of every layer, with their defaults: `name`, a string; `trainable`,
            whether training changes the weights (`True`); `dtype`, a dtype or a dtype policy
            (`None`, the global policy); `autocast`, whether float inputs are cast to the compute
            dtype (`True`); `activity_regularizer`, a penalty on the outputs (`None`).

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
        """Returns the next state, which is the output; it is what the gradient needs."""
        output = self.activation(projections[0])
        return [output], [output]

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the gradient of the projection; the state has none but through it."""
        d_projection = slope(self.activation, kept[0], upstream[0])
        return [d_projection], [tf.zeros_like(states[0])]


class SimpleRNN(GatedRNN):
    """The fully connected recurrent layer: `h = activation(x @ kernel + h @ recurrent_kernel + bias)`.

    The state `h` is the output. `kernel` has shape `(input_dim, units)`, `recurrent_kernel`
    `(units, units)` and `bias` `(units,)`.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the output; `None` is the identity. Default: `"tanh"`.
        use_bias: whether to add a trained bias. Default: `True`.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        recurrent_initializer: initial value of `recurrent_kernel`. Default: `"orthogonal"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        kernel_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        recurrent_regularizer: penalty on `recurrent_kernel`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        kernel_constraint: function that projects `kernel` after each update, such as `MaxNorm(2)`;
            `None` for no constraint.
        recurrent_constraint: function that projects `recurrent_kernel` after each update; `None`
            for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        dropout: share of the inputs that is dropped while training, from 0 to 1; the same entries
            in all steps. Default: `0.0`.
        recurrent_dropout: share of the state that is dropped while training, from 0 to 1; the same
            entries in all steps. Default: `0.0`.
        return_sequences: whether the output is that of all steps, and not that of the last one.
            Default: `False`.
        return_state: whether the last states are returned as well. Default: `False`.
        go_backwards: whether the steps are read from the last to the first; outputs are in the
            order in which they are made. Default: `False`.
        stateful: whether a batch starts with the states that the batch before ended with. The batch
            size must be known; `reset_state()` sets the states to zero. Default: `False`.
        unroll: whether each step is written into the program, instead of a loop; for short
            sequences of a known length. Default: `False`.
        seed: integer that decides what is dropped; `None` for a seed that is drawn when the layer
            is made.
        **kwargs: arguments of every layer, with their defaults: `name`, a string; `trainable`,
            whether training changes the weights (`True`); `dtype`, a dtype or a dtype policy
            (`None`, the global policy); `autocast`, whether float inputs are cast to the compute
            dtype (`True`).

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first states, each `(batch, units)`; `None` for zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output stay as
            they are. `None` for no mask.
        training: whether to drop entries.

    Input shape: `(batch, steps, input_dim)`.

    Output shape: `(batch, units)`; with `return_sequences`, `(batch, steps, units)`. With
    `return_state`, a tuple of this and the last state, `(batch, units)`.

    Raises:
        ValueError: if `units` is not a positive integer, if a share is not between 0 and 1, if
            `unroll` or `stateful` needs a size that is unknown, or if `initial_state` has another
            number of states.

    Reference:
        Elman, "Finding structure in time", 1990.

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
