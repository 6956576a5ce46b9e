"""Densely connected layers."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit import activations, constraints, initializers, regularizers
from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import RegularizedOptions
from tfkit.layers.checks import as_floats, check_absent, check_positive_integer


class Dense(Layer):
    """`activation(inputs @ kernel + bias)`.

    Args:
        units: size of the output's last axis.
        activation: name or function, none unless given.
        use_bias: whether to add a bias.
        kernel_initializer: first value of `kernel`.
        bias_initializer: first value of `bias`.
        kernel_regularizer: penalty on `kernel`.
        bias_regularizer: penalty on `bias`.
        activity_regularizer: penalty on the outputs.
        kernel_constraint: what `kernel` goes through after each update.
        bias_constraint: what `bias` goes through after each update.
        lora_rank: not supported; `None`.
        lora_alpha: not supported; `None`.
        quantization_config: not supported; `None`.

    Input shape: `(batch, ..., input_dim)`; integers are cast to the compute dtype.

    Output shape: `(batch, ..., units)`.

    Raises:
        ValueError: for `units` that is no positive integer.

    Example:
        >>> Dense(4, activation="relu")(tf.ones((2, 3))).shape
        TensorShape([2, 4])
    """

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
        lora_rank: None = None,
        lora_alpha: None = None,
        quantization_config: None = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        check_positive_integer(self, units=units)
        check_absent(
            self,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            quantization_config=quantization_config,
        )
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, of shape `(input_dim, units)`, and `bias`, of shape `(units,)`."""
        input_dim = input_shape[-1]
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_dim, self.units),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: input_dim})

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """The outputs for `inputs`, a tensor or a sparse tensor of rank 2."""
        inputs = as_floats(self, inputs)
        if isinstance(inputs, tf.SparseTensor):
            outputs = tf.sparse.sparse_dense_matmul(inputs, self.kernel)
        elif inputs.shape.rank == 2:
            outputs = tf.matmul(inputs, self.kernel)
        else:
            outputs = tf.tensordot(inputs, self.kernel, 1)
        if self.bias is not None:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return self.activation(outputs)
