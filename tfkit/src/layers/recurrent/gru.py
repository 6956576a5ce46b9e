"""The gated recurrent unit: the layer, and one step of it."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.registry.constructors import given
from tfkit.src.base.signatures import arguments_of, shows
from tfkit.src.layers.recurrent.gated import GatedCell, GatedRNN, of_cell, product
from tfkit.src.layers.recurrent.options import (
    CellOptions,
    RecurrentOptions,
    layer_arguments,
    shows_options,
)
from tfkit.src.layers.recurrent.slopes import slope
from tfkit.src.ops import activation_lookup as activations


@shows(arguments_of(GatedCell), behind={"reset_after": "recurrent_dropout"})
class GRUCell(GatedCell):
    """One step of `GRU`: from inputs and state to the next state, which is the output.

    The gates are concatenated in the weights, in the order update, reset, candidate.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the candidate; `None` is the identity. Default: `"tanh"`.
        recurrent_activation: name or function, for the gates; `None` is the identity. Default:
            `"sigmoid"`.
        reset_after: whether the reset gate is applied after the product with `recurrent_kernel`.
            Default: `True`.
        **options: options of every cell, which `GatedCell` describes: bias, initializers, regularizers,
            constraints, dropout.
        **kwargs: `implementation`, 1 to drop other inputs for each gate, 0 or 2 (the default) for
            the same; options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        training: whether to drop entries.
        inputs: the inputs of one step, `(batch, input_dim)`.
        states: list of the state of the step before, `(batch, units)`.

    Input shape: `(batch, input_dim)`.

    Output shape: A tuple of the output, `(batch, units)`, and the list of the next state.

    Raises:
        ValueError: if `units` is not a positive integer, or if a share is not between 0 and 1.

    Reference:
        Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical
            machine translation", 2014.

    Example:
        >>> output, states = GRUCell(4)(tf.ones((2, 3)), [tf.zeros((2, 4))])
        >>> output.shape
        TensorShape([2, 4])
    """

    gate_count = 3
    num_kept = 4
    additive = False

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *,
        reset_after: bool = True,
        **options: Unpack[CellOptions],
    ) -> None:
        super().__init__(units, activation, **options)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after

    def _bias_shape(self, width: int) -> tuple[int, ...]:
        return (2, width) if self.reset_after else (width,)

    @property
    def input_bias(self) -> Any:
        """The first row of `bias`, or all of it."""
        return self.bias[0] if self.reset_after and self.bias is not None else self.bias

    @property
    def recurrent_bias(self) -> Any:
        """The second row of `bias`, if the reset gate comes after the product."""
        return self.bias[1] if self.reset_after and self.bias is not None else None

    @property
    def fused(self) -> bool:
        """Whether the loop may be fused: a reset gate before the product has a different gradient."""
        return self.reset_after and super().fused

    def step(
        self, projected: tf.Tensor, states: list[tf.Tensor], masks: Any
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Computes one step from projected inputs: the output and the next states."""
        if self.reset_after:
            return super().step(projected, states, masks)
        # Cho et al. (2014): the reset gate is applied to the state, before the product.
        units, h = self.units, states[0]
        kernel = tf.convert_to_tensor(self.recurrent_kernel)
        # One for each gate, or the same for all.
        early, late = (masks[:2], masks[2]) if isinstance(masks, list) else (masks, masks)
        inputs = tf.split(projected, 3, axis=-1)
        recurrent = tf.split(product(h, kernel[:, : 2 * units], early), 2, axis=-1)
        z = self.recurrent_activation(inputs[0] + recurrent[0])
        r = self.recurrent_activation(inputs[1] + recurrent[1])
        kept = r * (h if late is None else h * late)
        n = self.activation(inputs[2] + tf.matmul(kept, kernel[:, 2 * units :]))
        h = z * h + (1 - z) * n
        return h, [h]

    def gates(
        self, projections: list[tf.Tensor], states: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the next state, which is the output; and the gates, the candidate and the state's part."""
        xz, xr, xn, hz, hr, hn = projections
        z = self.recurrent_activation(xz + hz)
        r = self.recurrent_activation(xr + hr)
        n = self.activation(xn + r * hn)
        h = z * states[0] + (1 - z) * n
        return [h], [z, r, n, hn]

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the gradients of the two projections, and the direct gradient of the state."""
        z, r, n, hn = kept
        d_h = upstream[0]
        # h = z h' + (1 - z) n and n = activation(xn + r hn), where h' is the previous state.
        d_z = slope(self.recurrent_activation, z, d_h * (states[0] - n))
        d_n = slope(self.activation, n, d_h * (1 - z))
        d_r = slope(self.recurrent_activation, r, d_n * hn)
        d_inputs = tf.concat([d_z, d_r, d_n], axis=-1)
        # The reset gate multiplies the state's part of the candidate alone.
        d_recurrent = tf.concat([d_z, d_r, d_n * r], axis=-1)
        return [d_inputs, d_recurrent], [d_h * z]


class GRUOptions(RecurrentOptions, total=False):
    """The keyword arguments of `GRU` for type checkers."""

    reset_after: bool


@shows_options(
    layer_arguments(GRUCell),
    behind={"activity_regularizer": "bias_regularizer", "reset_after": "unroll"},
)
class GRU(GatedRNN):
    """The gated recurrent unit: a recurrent layer with one state `h`, which is its output.

    A step computes, with `xz`, `xr`, `xn` the three parts of `x @ kernel + bias[0]`, and `hz`,
    `hr`, `hn` the three parts of `h @ recurrent_kernel + bias[1]`:

        z = recurrent_activation(xz + hz)
        r = recurrent_activation(xr + hr)
        n = activation(xn + r * hn)
        h = z * h + (1 - z) * n

    `kernel` has shape `(input_dim, 3 * units)`, `recurrent_kernel` `(units, 3 * units)` and `bias`
    `(2, 3 * units)`, or `(3 * units,)` with `reset_after=False`, where `r` is applied to `h`
    before the product.

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the candidate; `None` is the identity. Default: `"tanh"`.
        recurrent_activation: name or function, for the gates; `None` is the identity. Default:
            `"sigmoid"`.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        use_cudnn: `"auto"` or `False`; with `True` a call is refused, since tfkit has no cuDNN
            kernel. Default: `"auto"`.
        **options: options of `GRUCell` and of `RNN`, which describe them: bias, initializers,
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
    `return_state`, a tuple of this and the last state, `(batch, units)`.

    Raises:
        ValueError: if `units` is not a positive integer, if a share is not between 0 and 1, if
            `unroll` or `stateful` needs a size that is unknown, or if `initial_state` has a different
            number of states.

    Reference:
        Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical
            machine translation", 2014.

    Example:
        >>> GRU(4)(tf.ones((2, 5, 3))).shape
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
        **options: Unpack[GRUOptions],
    ) -> None:
        super().__init__(GRUCell, **given(locals()))

    recurrent_activation = of_cell("recurrent_activation")
    reset_after = of_cell("reset_after")
