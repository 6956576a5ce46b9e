"""Densely connected layers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions
from tfkit.src.layers import sparse
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import as_floats, check_positive_integer
from tfkit.src.layers.lora import MainWeight, stored
from tfkit.src.layers.parameters import WithBias, WithKernel, take_options
from tfkit.src.layers.quantized.base import Quantizable
from tfkit.src.layers.quantized.tables import Table
from tfkit.src.ops import activation_lookup as activations
from tfkit.src.ops import kernels
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.symbolic.tensors import described, only_shapes_count


def _product_of(inputs: Any) -> Callable[[Any, Any], tf.Tensor]:
    """Returns the product along the last axis for such inputs: a tensor, or a sparse tensor of rank 2."""
    if isinstance(inputs, tf.SparseTensor):
        return sparse.product
    if only_shapes_count() and isinstance(inputs, tf.Tensor):
        return lambda x, kernel: described([*x.shape[:-1], kernel.shape[-1]], x.dtype)
    return tf.matmul if inputs.shape.rank == 2 else functools.partial(tf.tensordot, axes=1)


class Dense(Quantizable, WithBias, WithKernel):
    """A densely connected layer: `activation(inputs @ kernel + bias)`.

    `kernel` has shape `(input_dim, units)` and `bias` shape `(units,)`. Inputs of more than two
    axes are multiplied along their last axis.

    Args:
        units: positive integer, the size of the output's last axis.
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` is the
            identity.
        use_bias: whether to add a trained bias. Default: `True`.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        kernel_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        kernel_constraint: function that projects `kernel` after each update, such as `MaxNorm(2)`;
            `None` for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        lora_rank: positive integer, to freeze `kernel` and train two small matrices whose product is
            added to it, as `enable_lora` does for a built layer; `None` for no LoRA.
        lora_alpha: number that scales the product, by `lora_alpha / lora_rank`; `None` for `lora_rank`.
        quantization_config: a `tfkit.quantizers.QuantizationConfig` for a layer that is quantized from the
            beginning, by `dtype="int8_from_float32"`, or is saved; `None` for the default of its mode.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, ..., input_dim)`; integers are cast to the compute dtype. A
    `tf.SparseTensor` of two axes is taken too.

    Output shape: `(batch, ..., units)`.

    Raises:
        ValueError: if `units` is not a positive integer, or if the inputs' last axis has a different
            size than `kernel` was built for.

    Example:
        >>> layer = Dense(2, kernel_initializer="ones", activation="relu")
        >>> layer(tf.constant([[1.0, 2.0, 3.0], [0.0, 0.0, -1.0]])).numpy().tolist()
        [[6.0, 6.0], [0.0, 0.0]]
        >>> [tuple(weight.shape) for weight in layer.weights]
        [(3, 2), (2,)]
    """

    kernel = MainWeight()
    _kernel = stored("kernel")
    _tfkit_modes = ("int8", "int4", "float8")
    _tfkit_omitted_from_config = {
        "activity_regularizer": None,
        "lora_rank": None,
        "lora_alpha": None,
    }

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: Any = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        check_positive_integer(self, units=units)
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        take_options(self, locals(), "kernel", "bias")
        self._tfkit_take_lora(lora_rank, lora_alpha)
        self._tfkit_take_quantization(quantization_config)
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, of shape `(input_dim, units)`, and `bias`, of shape `(units,)`."""
        input_dim = input_shape[-1]
        self._tfkit_add_main((input_dim, self.units))
        self.bias = add_bias(self, (self.units,))
        self._tfkit_add_requested_lora()
        self.input_spec = InputSpec(min_ndim=2, axes={-1: input_dim})

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """Returns the outputs for `inputs`, a tensor or a sparse tensor of rank 2."""
        inputs = as_floats(self, inputs)
        if self.quantization_mode is not None:
            inputs = sparse.dense(inputs)
        product, kernel = self._tfkit_product(_product_of(inputs), training)
        outputs = product(inputs, kernel)
        if self.bias is not None:
            outputs = kernels.bias_add(outputs, self._tfkit_added(self.bias))
        return self.activation(outputs)

    def _tfkit_tables(self) -> list[Table]:
        """Returns `kernel`, which has a scale for each unit."""
        return [Table("kernel", self._tfkit_float_shape or (), (0,), (self.units,))]
