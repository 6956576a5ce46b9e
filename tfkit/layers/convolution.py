"""Convolutions in one, two and three dimensions."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit import activations, constraints, initializers, regularizers
from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import RegularizedOptions
from tfkit.layers.checks import as_floats, check, check_positive_integer, is_integer
from tfkit.ops.convolution import channels_last, convolve
from tfkit.settings import standardize_data_format


def sizes(layer: Layer, argument: str, value: Any, rank: int) -> tuple[int, ...]:
    """One positive integer for each of `rank` directions."""
    many = (value,) * rank if is_integer(value) else value
    holds = (
        isinstance(many, (list, tuple))
        and len(many) == rank
        and all(is_integer(size) and size > 0 for size in many)
    )
    check(layer, holds, argument, f"a positive integer or {rank} of them", value)
    return tuple(int(size) for size in many)


class _Convolution(Layer):
    """A convolution: `activation(conv(inputs, kernel) + bias)`.

    Args:
        filters: number of output channels.
        kernel_size: sizes of the kernel, one number or one for each direction.
        strides: step in each direction.
        padding: `"valid"` (none), `"same"` (output size is input size over stride), and along one axis
            `"causal"` (an output sees no later input).
        data_format: `"channels_last"` or `"channels_first"`, the default of `config` unless given.
        dilation_rate: distance between the kernel's points.
        groups: number of groups of channels that are convolved apart.
        activation: name or function, none unless given.
        use_bias: whether to add a bias.
        kernel_initializer: first value of `kernel`.
        bias_initializer: first value of `bias`.
        kernel_regularizer: penalty on `kernel`.
        bias_regularizer: penalty on `bias`.
        activity_regularizer: penalty on the outputs.
        kernel_constraint: what `kernel` goes through after each update.
        bias_constraint: what `bias` goes through after each update.

    Raises:
        ValueError: for sizes that are no positive integers, and other values out of range.
    """

    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        check_positive_integer(self, filters=filters, groups=groups)
        check(self, filters % groups == 0, "filters", f"a multiple of groups={groups}", filters)
        self.filters = filters
        self.groups = groups
        self.kernel_size = sizes(self, "kernel_size", kernel_size, self.rank)
        self.strides = sizes(self, "strides", strides, self.rank)
        self.dilation_rate = sizes(self, "dilation_rate", dilation_rate, self.rank)
        paddings = ("valid", "same", "causal") if self.rank == 1 else ("valid", "same")
        check(self, str(padding).lower() in paddings, "padding", f"one of {paddings}", padding)
        self.padding = padding.lower()
        both = max(self.strides) > 1 and max(self.dilation_rate) > 1
        check(self, not both, "strides", "1 where `dilation_rate` is above 1", strides)
        self.data_format = standardize_data_format(data_format)
        check(
            self,
            self.padding != "causal" or self.data_format == "channels_last",
            "padding",
            "another one than 'causal' for channels_first",
            padding,
        )
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(min_ndim=self.rank + 2)

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, of shape `(*kernel_size, channels / groups, filters)`, and `bias`."""
        axis = -1 if self.data_format == "channels_last" else 1
        channels = input_shape[axis]
        if channels is None or channels % self.groups:
            raise ValueError(
                f"Layer '{self.path}' needs a known number of input channels that is a multiple of "
                f"groups={self.groups}. Received: input_shape={input_shape}"
            )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(*self.kernel_size, channels // self.groups, self.filters),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.filters,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(min_ndim=self.rank + 2, axes={axis: channels})

    def call(self, inputs: Any) -> tf.Tensor:
        """`activation(conv(inputs, kernel) + bias)`."""
        inputs = as_floats(self, inputs)
        padding = self.padding
        if padding == "causal":
            before = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            inputs = tf.pad(inputs, [[0, 0], [before, 0], [0, 0]])
            padding = "valid"

        def convolved(x: tf.Tensor) -> tf.Tensor:
            return convolve(x, self.kernel, self.strides, padding, self.dilation_rate, self.bias)

        return self.activation(channels_last(inputs, self.data_format, convolved))


class Conv1D(_Convolution):
    """A convolution along one axis; the arguments are described in `_Convolution`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)`.

    Output shape: `(batch, new_steps, filters)`, or channels second.
    """

    rank = 1


class Conv2D(_Convolution):
    """A convolution of images; the arguments are described in `_Convolution`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)`.

    Output shape: `(batch, new_height, new_width, filters)`, or channels second.

    Example:
        >>> Conv2D(8, 3, padding="same")(tf.ones((1, 5, 5, 2))).shape
        TensorShape([1, 5, 5, 8])
    """

    rank = 2


class Conv3D(_Convolution):
    """A convolution of volumes; the arguments are described in `_Convolution`.

    Input shape: `(batch, depth, height, width, channels)`, or channels second.

    Output shape: `(batch, new_depth, new_height, new_width, filters)`, or channels second.
    """

    rank = 3
