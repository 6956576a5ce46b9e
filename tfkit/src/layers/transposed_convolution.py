"""Transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions
from tfkit.src.base.registry import constructors
from tfkit.src.layers import convolution
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import check, check_positive_integer, is_integer
from tfkit.src.layers.parameters import WithKernel, add_parameter
from tfkit.src.ops.convolution import conv_transpose
from tfkit.src.symbolic.input_spec import InputSpec


class _TransposedConvolution(convolution.BiasedConvolution, WithKernel):
    """The base of `Conv1DTranspose` to `Conv3DTranspose`, which describe the arguments; they set `rank`."""

    @constructors.named_after_class
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
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
        check_positive_integer(self, filters=filters)
        self.filters = filters
        self._take_convolution(locals(), "kernel")
        convolution.check_strides(self, self.strides, self.dilation_rate)
        self.padding = convolution.check_padding(self, padding)
        self.output_padding = self._output_padding(output_padding)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _output_padding(self, value: Any) -> tuple[int, ...] | None:
        if value is None:
            return None
        many = (value,) * self.rank if is_integer(value) else value
        holds = (
            isinstance(many, (list, tuple))
            and len(many) == self.rank
            # Output padding chooses among the sizes that the same convolution maps to this input:
            # there are as many as strides.
            and all(
                is_integer(item) and 0 <= item < stride
                for item, stride in zip(many, self.strides, strict=True)
            )
        )
        expected = f"None, an integer or {self.rank} of them, each below strides={self.strides}"
        check(self, holds, "output_padding", expected, value)
        return tuple(int(item) for item in many)

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, of shape `(*kernel_size, filters, channels)`, and `bias`."""
        axis, channels = convolution.known_channels(self, input_shape)
        self.kernel = add_parameter(self, "kernel", (*self.kernel_size, self.filters, channels))
        self.bias = add_bias(self, (self.filters,))
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})

    def _convolved(self, inputs: tf.Tensor) -> tf.Tensor:
        return conv_transpose(
            inputs,
            self.kernel,
            self.strides,
            self.padding,
            self.output_padding,
            "channels_last",
            self.dilation_rate,
        )


class Conv1DTranspose(_TransposedConvolution):
    """A transposed convolution of sequences: `activation(conv_transpose(inputs, kernel) + bias)`.

    Each input step `i` adds `kernel`, times its channels, to the outputs from step `i * strides`
    on. The shapes are as in a `Conv1D` from outputs to inputs, so strides make sequences longer. It
    is also called deconvolution. `kernel` has shape `(kernel_size, filters, channels)` and `bias`
    shape `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: length of the kernel in steps, an integer.
        strides: distance in steps between the contributions of neighbouring inputs, an integer. Above
            1 only where `dilation_rate` is 1. Default: `1`.
        padding: `"valid"` for all outputs that an input reaches, or `"same"` for `steps * strides`
            of them. Default: `"valid"`.
        output_padding: the number added to the smallest number of steps that the convolution from outputs
            to inputs would map to the inputs', an integer, below `strides`; `None` for the number
            given by `padding`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance in steps of neighbouring points of the kernel, an integer. Above 1
            only where `strides` is 1. Default: `1`.
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
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_steps, filters)`, or `(batch, filters, new_steps)`. A new size is
    `size * strides` with `padding="same"`, and `size * strides + max(reach - strides, 0)` with
    `padding="valid"`, where `reach` is `(kernel_size - 1) * dilation_rate + 1`. With an
    `output_padding` it is `(size - 1) * strides + reach + output_padding`, and for `"same"`
    `2 * (reach // 2)` less.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            strides and dilation rate are both above 1, if `output_padding` is not below `strides`,
            if `padding` or `data_format` is unknown, or if the number of input channels is.

    Reference:
        Dumoulin & Visin, "A guide to convolution arithmetic for deep learning", 2016.

    Example:
        >>> layer = Conv1DTranspose(1, 2, strides=2, kernel_initializer="ones")
        >>> layer(tf.constant([[[1.0], [2.0]]])).numpy().ravel().tolist()
        [1.0, 1.0, 2.0, 2.0]
    """

    rank = 1


class Conv2DTranspose(_TransposedConvolution):
    """A transposed convolution of images: `activation(conv_transpose(inputs, kernel) + bias)`.

    Each input pixel `(i, j)` adds `kernel`, times its channels, to the outputs from pixel
    `(i * strides, j * strides)` on. The shapes are as in a `Conv2D` from outputs to inputs, so
    strides make images larger. It is also called deconvolution. `kernel` has shape
    `(*kernel_size, filters, channels)` and `bias` shape `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: height and width of the kernel in pixels, a tuple of two integers, or one
            integer for both.
        strides: distance in pixels between the contributions of neighbouring inputs, two integers or
            one. Above 1 only where `dilation_rate` is 1. Default: `1`.
        padding: `"valid"` for all outputs that an input reaches, or `"same"` for `size * strides`
            of them. Default: `"valid"`.
        output_padding: how much is added to the smallest sizes that the convolution from outputs to
            inputs would map to the inputs' sizes: two integers or one, below `strides`; `None` for the
            sizes given by `padding`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance in pixels of neighbouring points of the kernel, two integers or one.
            Above 1 only where `strides` is 1. Default: `1`.
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
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, filters)`, or
    `(batch, filters, new_height, new_width)`. A new size is `size * strides` with `padding="same"`,
    and `size * strides + max(reach - strides, 0)` with `padding="valid"`, where `reach` is
    `(kernel_size - 1) * dilation_rate + 1`. With an `output_padding` it is
    `(size - 1) * strides + reach + output_padding`, and for `"same"` `2 * (reach // 2)` less.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            strides and dilation rate are both above 1, if `output_padding` is not below `strides`,
            if `padding` or `data_format` is unknown, or if the number of input channels is.

    Reference:
        Zeiler et al., "Deconvolutional networks", 2010.

    Example:
        >>> Conv2DTranspose(8, 3, strides=2, padding="same")(tf.ones((1, 5, 5, 2))).shape
        TensorShape([1, 10, 10, 8])
        >>> Conv2DTranspose(8, (3, 5))(tf.ones((1, 5, 5, 2))).shape
        TensorShape([1, 7, 9, 8])
    """

    rank = 2


class Conv3DTranspose(_TransposedConvolution):
    """A transposed convolution of volumes: `activation(conv_transpose(inputs, kernel) + bias)`.

    It is `Conv2DTranspose` with one more direction: the shapes are as in a `Conv3D` from outputs to
    inputs, so strides make volumes larger. `kernel` has shape
    `(*kernel_size, filters, channels)` and `bias` shape `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: depth, height and width of the kernel, a tuple of three integers, or one
            integer for all.
        strides: distance between the contributions of neighbouring inputs, three integers or one.
            Above 1 only where `dilation_rate` is 1. Default: `1`.
        padding: `"valid"` for all outputs that an input reaches, or `"same"` for `size * strides`
            of them. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        output_padding: how much is added to the smallest sizes that the convolution from outputs to
            inputs would map to the inputs' sizes: three integers or one, below `strides`; `None` for the
            sizes given by `padding`.
        dilation_rate: distance of neighbouring points of the kernel, three integers or one. Above 1
            only where `strides` is 1. Default: `1`.
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
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, new_depth, new_height, new_width, filters)`, or
    `(batch, filters, new_depth, new_height, new_width)`. A new size is `size * strides` with
    `padding="same"`, and `size * strides + max(reach - strides, 0)` with `padding="valid"`, where
    `reach` is `(kernel_size - 1) * dilation_rate + 1`. With an `output_padding` it is
    `(size - 1) * strides + reach + output_padding`, and for `"same"` `2 * (reach // 2)` less.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if
            strides and dilation rate are both above 1, if `output_padding` is not below `strides`,
            if `padding` or `data_format` is unknown, or if the number of input channels is.

    Reference:
        Zeiler et al., "Deconvolutional networks", 2010.

    Example:
        >>> Conv3DTranspose(8, 2, strides=2)(tf.ones((1, 3, 4, 5, 2))).shape
        TensorShape([1, 6, 8, 10, 8])
    """

    rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        output_padding: Any = None,
        dilation_rate: Any = 1,
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
        super().__init__(**constructors.given(locals()))
