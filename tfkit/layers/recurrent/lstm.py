"""Long short-term memory: the layer, and one step of it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import activations
from tfkit.layers.recurrent.gated import GatedCell, GatedRNN, of_cell
from tfkit.layers.recurrent.slopes import slope


class LSTMCell(GatedCell):
    """One step of `LSTM`.

    Arguments are those of `LSTM` that concern one step. The gates in the weights are, in order:
    input, forget, candidate, output.

    Reference:
        Hochreiter and Schmidhuber, "Long short-term memory", 1997.

    Example:
        >>> output, states = LSTMCell(4)(tf.ones((2, 3)), [tf.zeros((2, 4)), tf.zeros((2, 4))])
        >>> output.shape, len(states)
        (TensorShape([2, 4]), 2)
    """

    gate_count = 4
    num_kept = 5

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            kernel_regularizer,
            recurrent_regularizer,
            bias_regularizer,
            kernel_constraint,
            recurrent_constraint,
            bias_constraint,
            dropout,
            recurrent_dropout,
            seed,
            **kwargs,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_size(self) -> list[int]:
        """Sizes of the output and of the memory."""
        return [self.units, self.units]

    def _first_bias(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        if not self.unit_forget_bias:
            return self.bias_initializer(shape, dtype=dtype)
        return tf.concat(
            [
                self.bias_initializer((self.units,), dtype=dtype),
                tf.ones((self.units,), dtype),
                self.bias_initializer((2 * self.units,), dtype=dtype),
            ],
            axis=0,
        )

    def gates(
        self, projections: list[tf.Tensor], states: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The output and the memory; and the gates, the candidate and what of the memory is shown."""
        parts = tf.split(projections[0], 4, axis=-1)
        entry, forget, exit = (self.recurrent_activation(parts[index]) for index in (0, 1, 3))
        candidate = self.activation(parts[2])
        memory = forget * states[1] + entry * candidate
        shown = self.activation(memory)
        return [exit * shown, memory], [entry, forget, candidate, exit, shown]

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The gradients of the projection, and of the memory before; the output has none but through it."""
        entry, forget, candidate, exit, shown = kept
        d_output, d_memory = upstream
        d_memory += slope(self.activation, shown, d_output * exit)
        d_parts = [
            slope(self.recurrent_activation, entry, d_memory * candidate),
            slope(self.recurrent_activation, forget, d_memory * states[1]),
            slope(self.activation, candidate, d_memory * entry),
            slope(self.recurrent_activation, exit, d_output * shown),
        ]
        return [tf.concat(d_parts, axis=-1)], [tf.zeros_like(states[0]), d_memory * forget]


class LSTM(GatedRNN):
    """Long short-term memory.

    Args:
        units: size of the output and of each state.
        activation: name or function, for the candidate and the output.
        recurrent_activation: name or function, for the gates.
        use_bias: whether to add a bias.
        kernel_initializer: first value of `kernel`.
        recurrent_initializer: first value of `recurrent_kernel`.
        bias_initializer: first value of `bias`.
        unit_forget_bias: whether the forget gate's bias starts at one.
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
        use_cudnn: `"auto"` or `False`; tfkit has no cuDNN kernel.

    Call arguments:
        sequences: `(batch, steps, input_dim)`.
        initial_state: list of the first states, `(batch, units)` each; zeros unless given.
        mask: booleans, `(batch, steps)`; where false, the states and the output stay as they are.
        training: whether to drop.

    Output shape: `(batch, steps, units)` with `return_sequences`, else `(batch, units)`; with
    `return_state`, a tuple of this and the last output and memory.

    Reference:
        Hochreiter and Schmidhuber, "Long short-term memory", 1997.

    Example:
        >>> LSTM(4, return_sequences=True)(tf.ones((2, 5, 3))).shape
        TensorShape([2, 5, 4])
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: Any = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            LSTMCell(
                units,
                activation=activation,
                recurrent_activation=recurrent_activation,
                use_bias=use_bias,
                kernel_initializer=kernel_initializer,
                recurrent_initializer=recurrent_initializer,
                bias_initializer=bias_initializer,
                unit_forget_bias=unit_forget_bias,
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
                name="lstm_cell",
                implementation=kwargs.pop("implementation", 2),
            ),
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            activity_regularizer=activity_regularizer,
            use_cudnn=use_cudnn,
            **kwargs,
        )

    recurrent_activation = of_cell("recurrent_activation")
    unit_forget_bias = of_cell("unit_forget_bias")
