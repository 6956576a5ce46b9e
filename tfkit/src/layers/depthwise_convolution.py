"""Convolutions of each channel separately."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions
from tfkit.src.base.registry import constructors
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import check_positive_integer
from tfkit.src.layers.convolution import BiasedConvolution, check_padding, known_channels
from tfkit.src.layers.parameters import add_parameter
from tfkit.src.ops.convolution import depthwise_conv
from tfkit.src.symbolic.input_spec import InputSpec


class _DepthwiseConvolution(BiasedConvolution):
    """The base of `DepthwiseConv1D` and `DepthwiseConv2D`, which describe the arguments; they set `rank`."""

    depthwise_initializer: Any
    depthwise_regularizer: Any
    depthwise_constraint: Any

    @constructors.named_after_class
    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        check_positive_integer(self, depth_multiplier=depth_multiplier)
        self._take_convolution(locals(), "depthwise")
        self.padding = check_padding(self, padding)
        self.depth_multiplier = depth_multiplier
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, of shape `(*kernel_size, channels, depth_multiplier)`, and `bias`."""
        axis, channels = known_channels(self, input_shape)
        self.kernel = add_parameter(
            self, "depthwise", (*self.kernel_size, channels, self.depth_multiplier), name="kernel"
        )
        self.bias = add_bias(self, (channels * self.depth_multiplier,))
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})

    def _convolved(self, inputs: tf.Tensor) -> tf.Tensor:
        return depthwise_conv(
            inputs, self.kernel, self.strides, self.padding, "channels_last", self.dilation_rate
        )


class DepthwiseConv1D(_DepthwiseConvolution):
    """A convolution of each channel of sequences separately: `activation(conv(inputs, kernel) + bias)`.

    Each channel has `depth_multiplier` filters; the outputs of the first channel come first.
    `kernel` has shape `(kernel_size, channels, depth_multiplier)` and `bias` shape
    `(channels * depth_multiplier,)`.

    Args:
        kernel_size: length of the kernel in steps, an integer.
        strides: distance in steps of neighbouring windows, an integer. Default: `1`.
        padding: `"valid"` for no padding, or `"same"` for zeros around the input, so that the
            output has `ceil(steps / strides)` entries along an axis. Default: `"valid"`.
        depth_multiplier: positive integer, the number of outputs of each channel. Default: `1`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance in steps of neighbouring points of the kernel, an integer. Default:
            `1`.
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` is the
            identity.
        use_bias: whether to add a trained bias. Default: `True`.
        depthwise_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        depthwise_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        depthwise_constraint: function that projects `kernel` after each update, such as
            `MaxNorm(2)`; `None` for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_steps, channels * depth_multiplier)`, or
    `(batch, channels * depth_multiplier, new_steps)`. With `padding="valid"`, a new size is
    `ceil((size - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            `padding` or `data_format` is unknown, if the number of input channels is, or if the
            kernel does not fit into the input.

    Reference:
        Sifre, "Rigid-motion scattering for image classification", 2014.

    Example:
        >>> layer = DepthwiseConv1D(2, depthwise_initializer="ones")
        >>> layer(tf.constant([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])).numpy().tolist()
        [[[3.0, 30.0], [5.0, 50.0]]]
    """

    rank = 1


class DepthwiseConv2D(_DepthwiseConvolution):
    """A convolution of each channel of images separately: `activation(conv(inputs, kernel) + bias)`.

    Each channel has `depth_multiplier` filters; the outputs of the first channel come first.
    `kernel` has shape `(*kernel_size, channels, depth_multiplier)` and `bias` shape
    `(channels * depth_multiplier,)`.

    Args:
        kernel_size: height and width of the kernel in pixels, a tuple of two integers, or one
            integer for both.
        strides: distance in pixels of neighbouring windows, two integers or one. Default: `1`.
        padding: `"valid"` for no padding, or `"same"` for zeros around the input, so that the
            output has `ceil(size / strides)` entries along an axis. Default: `"valid"`.
        depth_multiplier: positive integer, the number of outputs of each channel. Default: `1`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance in pixels of neighbouring points of the kernel, two integers or one.
            Default: `1`.
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` is the
            identity.
        use_bias: whether to add a trained bias. Default: `True`.
        depthwise_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        depthwise_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
        depthwise_constraint: function that projects `kernel` after each update, such as
            `MaxNorm(2)`; `None` for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, channels * depth_multiplier)`, or
    `(batch, channels * depth_multiplier, new_height, new_width)`. With `padding="valid"`, a new
    size is `ceil((size - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            `padding` or `data_format` is unknown, if the number of input channels is, or if the
            kernel does not fit into the input.

    Reference:
        Sifre, "Rigid-motion scattering for image classification", 2014.

    Example:
        >>> DepthwiseConv2D(3, padding="same", depth_multiplier=2)(tf.ones((1, 5, 5, 4))).shape
        TensorShape([1, 5, 5, 8])
    """

    rank = 2
