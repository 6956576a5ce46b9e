"""Convolutions of each channel separately, and then across channels."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions
from tfkit.src.base.registry import constructors
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import check_positive_integer
from tfkit.src.layers.convolution import BiasedConvolution, check_padding, known_channels
from tfkit.src.layers.parameters import add_parameter
from tfkit.src.ops.convolution import separable_conv
from tfkit.src.symbolic.input_spec import InputSpec


class _SeparableConvolution(BiasedConvolution):
    """The base of `SeparableConv1D` and `SeparableConv2D`, which describe the arguments; they set `rank`."""

    depthwise_initializer: Any
    depthwise_regularizer: Any
    depthwise_constraint: Any
    pointwise_initializer: Any
    pointwise_regularizer: Any
    pointwise_constraint: Any

    @constructors.named_after_class
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        check_positive_integer(self, filters=filters, depth_multiplier=depth_multiplier)
        self.filters = filters
        self._take_convolution(locals(), "depthwise", "pointwise")
        self.padding = check_padding(self, padding)
        self.depth_multiplier = depth_multiplier
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def build(self, input_shape: Any) -> None:
        """Makes `depthwise_kernel`, `pointwise_kernel` and `bias`."""
        axis, channels = known_channels(self, input_shape)
        self.depthwise_kernel = add_parameter(
            self,
            "depthwise",
            (*self.kernel_size, channels, self.depth_multiplier),
            name="depthwise_kernel",
        )
        self.pointwise_kernel = add_parameter(
            self,
            "pointwise",
            (*[1] * self.rank, channels * self.depth_multiplier, self.filters),
            name="pointwise_kernel",
        )
        self.bias = add_bias(self, (self.filters,))
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})

    def _convolved(self, inputs: tf.Tensor) -> tf.Tensor:
        return separable_conv(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            self.strides,
            self.padding,
            "channels_last",
            self.dilation_rate,
        )


class SeparableConv1D(_SeparableConvolution):
    """A convolution of each channel of sequences separately, then one across channels at each step.

    It computes
    `activation(conv(depthwise_conv(inputs, depthwise_kernel), pointwise_kernel) + bias)`, with
    fewer weights than `Conv1D`: `depthwise_kernel` has shape
    `(kernel_size, channels, depth_multiplier)`, `pointwise_kernel`
    `(1, channels * depth_multiplier, filters)` and `bias` `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: length of the kernel in steps, an integer.
        strides: distance in steps of neighbouring windows, an integer. Default: `1`.
        padding: `"valid"` for no padding, or `"same"` for zeros around the input, so that the
            output has `ceil(steps / strides)` entries along an axis. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance in steps of neighbouring points of the kernel, an integer. Default:
            `1`.
        depth_multiplier: positive integer, the number of outputs of each channel before the second
            convolution. Default: `1`.
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` is the
            identity.
        use_bias: whether to add a trained bias. Default: `True`.
        depthwise_initializer: initial value of `depthwise_kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        pointwise_initializer: initial value of `pointwise_kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        depthwise_regularizer: penalty on `depthwise_kernel` that is added to the loss, such as
            `"l2"` or a `Regularizer`; `None` for no penalty.
        pointwise_regularizer: penalty on `pointwise_kernel` that is added to the loss, such as
            `"l2"` or a `Regularizer`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        depthwise_constraint: function that projects `depthwise_kernel` after each update, such as
            `MaxNorm(2)`; `None` for no constraint.
        pointwise_constraint: function that projects `pointwise_kernel` after each update, such as
            `MaxNorm(2)`; `None` for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_steps, filters)`, or `(batch, filters, new_steps)`. With
    `padding="valid"`, a new size is `ceil((size - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            `padding` or `data_format` is unknown, if the number of input channels is, or if the
            kernel does not fit into the input.

    Reference:
        Chollet, "Xception: deep learning with depthwise separable convolutions", 2017.

    Example:
        >>> SeparableConv1D(8, 3)(tf.ones((1, 6, 4))).shape
        TensorShape([1, 4, 8])
    """

    rank = 1


class SeparableConv2D(_SeparableConvolution):
    """A convolution of each channel of images separately, then one across channels at each pixel.

    It computes
    `activation(conv(depthwise_conv(inputs, depthwise_kernel), pointwise_kernel) + bias)`, with
    fewer weights than `Conv2D`: `depthwise_kernel` has shape
    `(*kernel_size, channels, depth_multiplier)`, `pointwise_kernel`
    `(1, 1, channels * depth_multiplier, filters)` and `bias` `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: height and width of the kernel in pixels, a tuple of two integers, or one
            integer for both.
        strides: distance in pixels of neighbouring windows, two integers or one. Default: `1`.
        padding: `"valid"` for no padding, or `"same"` for zeros around the input, so that the
            output has `ceil(size / strides)` entries along an axis. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance in pixels of neighbouring points of the kernel, two integers or one.
            Default: `1`.
        depth_multiplier: positive integer, the number of outputs of each channel before the second
            convolution. Default: `1`.
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` is the
            identity.
        use_bias: whether to add a trained bias. Default: `True`.
        depthwise_initializer: initial value of `depthwise_kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        pointwise_initializer: initial value of `pointwise_kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        depthwise_regularizer: penalty on `depthwise_kernel` that is added to the loss, such as
            `"l2"` or a `Regularizer`; `None` for no penalty.
        pointwise_regularizer: penalty on `pointwise_kernel` that is added to the loss, such as
            `"l2"` or a `Regularizer`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        depthwise_constraint: function that projects `depthwise_kernel` after each update, such as
            `MaxNorm(2)`; `None` for no constraint.
        pointwise_constraint: function that projects `pointwise_kernel` after each update, such as
            `MaxNorm(2)`; `None` for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, filters)`, or
    `(batch, filters, new_height, new_width)`. With `padding="valid"`, a new size is
    `ceil((size - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            `padding` or `data_format` is unknown, if the number of input channels is, or if the
            kernel does not fit into the input.

    Reference:
        Chollet, "Xception: deep learning with depthwise separable convolutions", 2017.

    Example:
        >>> layer = SeparableConv2D(8, 3, padding="same")
        >>> layer(tf.ones((1, 5, 5, 4))).shape, layer.count_params()
        (TensorShape([1, 5, 5, 8]), 76)
    """

    rank = 2
