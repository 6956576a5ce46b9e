"""Long short-term memory: the layer, and one step of it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src import activations
from tfkit.src.layers.recurrent.gated import GatedCell, GatedRNN, of_cell
from tfkit.src.layers.recurrent.slopes import slope


class LSTMCell(GatedCell):
    """One step of `LSTM`: from inputs, output and memory to the next output and memory.

    The gates stand side by side in the weights, in the order input, forget, candidate, output.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the candidate `g` and the memory that is shown; `None` is
            the identity. Default: `"tanh"`.
        recurrent_activation: name or function, for the gates `i`, `f` and `o`; `None` is the
            identity. Default: `"sigmoid"`.
        use_bias: whether to add a trained bias. Default: `True`.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        recurrent_initializer: initial value of `recurrent_kernel`. Default: `"orthogonal"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        unit_forget_bias: whether the forget gate's part of `bias` starts as ones, whatever
            `bias_initializer` says. Default: `True`.
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
        **kwargs: `implementation`, 1 to drop other inputs for each gate, 0 or 2 (the default) for
            the same; arguments of every layer, with their defaults: `name`, a string; `trainable`,
            whether training changes the weights (`True`); `dtype`, a dtype or a dtype policy
            (`None`, the global policy); `autocast`, whether float inputs are cast to the compute
            dtype (`True`); `activity_regularizer`, a penalty on the outputs (`None`).

    Call arguments:
        training: whether to drop entries.
        inputs: the inputs of one step, `(batch, input_dim)`.
        states: list of the output and the memory of the step before, each `(batch, units)`.

    Input shape: `(batch, input_dim)`.

    Output shape: A tuple of the output, `(batch, units)`, and the list of the next output and
    memory.

    Raises:
        ValueError: if `units` is not a positive integer, or if a share is not between 0 and 1.

    Reference:
        Hochreiter & Schmidhuber, "Long short-term memory", 1997.

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
        """Returns the output and the memory; and the gates, the candidate and what of the memory is shown."""
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
    """Long short-term memory: a recurrent layer with an output `h` and a memory `c` as states.

    A step computes, with `i`, `f`, `g`, `o` the four parts of
    `x @ kernel + h @ recurrent_kernel + bias`:

        c = recurrent_activation(f) * c + recurrent_activation(i) * activation(g)
        h = recurrent_activation(o) * activation(c)

    `kernel` has shape `(input_dim, 4 * units)`, `recurrent_kernel` `(units, 4 * units)` and `bias`
    `(4 * units,)`.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the candidate `g` and the memory that is shown; `None` is
            the identity. Default: `"tanh"`.
        recurrent_activation: name or function, for the gates `i`, `f` and `o`; `None` is the
            identity. Default: `"sigmoid"`.
        use_bias: whether to add a trained bias. Default: `True`.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        recurrent_initializer: initial value of `recurrent_kernel`. Default: `"orthogonal"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        unit_forget_bias: whether the forget gate's part of `bias` starts as ones, whatever
            `bias_initializer` says. Default: `True`.
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
        seed: integer that decides what is dropped; `None` for a seed that is drawn when the layer
            is made.
        return_sequences: whether the output is that of all steps, and not that of the last one.
            Default: `False`.
        return_state: whether the last states are returned as well. Default: `False`.
        go_backwards: whether the steps are read from the last to the first; outputs are in the
            order in which they are made. Default: `False`.
        stateful: whether a batch starts with the states that the batch before ended with. The batch
            size must be known; `reset_state()` sets the states to zero. Default: `False`.
        unroll: whether each step is written into the program, instead of a loop; for short
            sequences of a known length. Default: `False`.
        use_cudnn: `"auto"` or `False`; with `True` a call is refused, since tfkit has no cuDNN
            kernel. Default: `"auto"`.
        **kwargs: `implementation`, 1 to drop other inputs for each gate, 0 or 2 (the default) for
            the same; arguments of every layer, with their defaults: `name`, a string; `trainable`,
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
    `return_state`, a tuple of this, the last output and the last memory, the latter two
    `(batch, units)`.

    Raises:
        ValueError: if `units` is not a positive integer, if a share is not between 0 and 1, if
            `unroll` or `stateful` needs a size that is unknown, or if `initial_state` has another
            number of states.

    Reference:
        Hochreiter & Schmidhuber, "Long short-term memory", 1997.

    Example:
        >>> LSTM(4, return_sequences=True)(tf.ones((2, 5, 3))).shape
        TensorShape([2, 5, 4])
        >>> output, last_output, memory = LSTM(4, return_state=True)(tf.ones((2, 5, 3)))
        >>> memory.shape
        TensorShape([2, 4])
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
