"""Long short-term memory: the layer, and one step of it."""

from __future__ import annotations

import functools
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.registry.constructors import given
from tfkit.src.base.signatures import arguments_of, shows
from tfkit.src.layers.recurrent import lstm_kernel
from tfkit.src.layers.recurrent.gated import GatedCell, GatedRNN, of_cell
from tfkit.src.layers.recurrent.options import (
    CellOptions,
    RecurrentOptions,
    layer_arguments,
    shows_options,
)
from tfkit.src.layers.recurrent.slopes import slope
from tfkit.src.ops import activation_lookup as activations


@shows(arguments_of(GatedCell), behind={"unit_forget_bias": "bias_initializer"})
class LSTMCell(GatedCell):
    """One step of `LSTM`: from inputs, output and memory to the next output and memory.

    The gates are concatenated in the weights, in the order input, forget, candidate, output.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the candidate `g` and the memory that is shown; `None` is
            the identity. Default: `"tanh"`.
        recurrent_activation: name or function, for the gates `i`, `f` and `o`; `None` is the
            identity. Default: `"sigmoid"`.
        unit_forget_bias: whether the forget gate's part of `bias` is initialized to ones, whatever
            `bias_initializer` specifies. Default: `True`.
        **options: options of every cell, which `GatedCell` describes: bias, initializers, regularizers,
            constraints, dropout.
        **kwargs: `implementation`, 1 to drop other inputs for each gate, 0 or 2 (the default) for
            the same; options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

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
        *,
        unit_forget_bias: bool = True,
        **options: Unpack[CellOptions],
    ) -> None:
        super().__init__(units, activation, **options)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_size(self) -> list[int]:
        """The sizes of the output and of the memory."""
        return [self.units, self.units]

    def _first_bias(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        if not self.unit_forget_bias:
            return self.bias_initializer(shape, dtype=dtype)
        # Jozefowicz et al. (2015): with a forget bias of 1 the memory is kept at first.
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
        """Returns the output and the memory; and the gates, the candidate and the activated memory."""
        i, f, o = (self.recurrent_activation(projections[index]) for index in (0, 1, 3))
        g = self.activation(projections[2])
        c = f * states[1] + i * g
        shown = self.activation(c)
        h = o * shown
        return [h, c], [i, f, g, o, shown]

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the gradients of the projection and the previous memory; the output has no direct one."""
        i, f, g, o, shown = kept
        h, c = states
        d_h, d_c = upstream
        # c = f c' + i g and h = o activation(c): the
        # memory has a gradient by way of the output, too.
        d_c += slope(self.activation, shown, d_h * o)
        d_i = slope(self.recurrent_activation, i, d_c * g)
        d_f = slope(self.recurrent_activation, f, d_c * c)
        d_g = slope(self.activation, g, d_c * i)
        d_o = slope(self.recurrent_activation, o, d_h * shown)
        return [tf.concat([d_i, d_f, d_g, d_o], axis=-1)], [tf.zeros_like(h), d_c * f]


class LSTMOptions(RecurrentOptions, total=False):
    """The keyword arguments of `LSTM` for type checkers."""

    unit_forget_bias: bool


@shows_options(layer_arguments(LSTMCell), behind={"activity_regularizer": "bias_regularizer"})
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
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        use_cudnn: `"auto"` or `False`; with `True` a call is refused, since tfkit has no cuDNN
            kernel. Default: `"auto"`.
        **options: options of `LSTMCell` and of `RNN`, which describe them: bias, initializers,
            regularizers, constraints, dropout, and the results and states of the loop over time.
        **kwargs: `implementation`, 1 to drop other inputs for each gate, 0 or 2 (the default) for
            the same; options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first states, each `(batch, units)`; `None` for zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output remain as
            they are. `None` for no mask.
        training: whether to drop entries.

    Input shape: `(batch, steps, input_dim)`.

    Output shape: `(batch, units)`; with `return_sequences`, `(batch, steps, units)`. With
    `return_state`, a tuple of this, the last output and the last memory, the latter two
    `(batch, units)`.

    Raises:
        ValueError: if `units` is not a positive integer, if a share is not between 0 and 1, if
            `unroll` or `stateful` needs a size that is unknown, or if `initial_state` has a different
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
        *,
        activity_regularizer: Any = None,
        use_cudnn: Any = "auto",
        **options: Unpack[LSTMOptions],
    ) -> None:
        super().__init__(LSTMCell, **given(locals()))

    def inner_loop(
        self, inputs: tf.Tensor, states: list[Any], mask: Any, training: Any
    ) -> tuple[tf.Tensor, list[Any]]:
        """Returns the results of the loop; few rows are predicted by a kernel for whole sequences."""
        loop = functools.partial(super().inner_loop, inputs, states, mask, training)
        if training or self.unroll or type(self.cell) is not LSTMCell:
            return loop()
        rows = lstm_kernel.most_rows(self.cell, inputs, mask)
        if not rows:
            return loop()
        every = bool(self.return_sequences)
        return lstm_kernel.run(self.cell, inputs, states, loop, rows, every)

    recurrent_activation = of_cell("recurrent_activation")
    unit_forget_bias = of_cell("unit_forget_bias")
