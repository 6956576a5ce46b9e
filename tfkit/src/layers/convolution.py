"""Convolutions in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import RegularizedOptions, Tracked
from tfkit.src.base.registry import constructors
from tfkit.src.base.registry.tables import is_builtin
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.core.layer import Layer
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import as_floats, check, check_positive_integer, is_integer
from tfkit.src.layers.lora import Adaptable, MainWeight, stored
from tfkit.src.layers.parameters import WithBias, WithKernel, add_parameter, take_options
from tfkit.src.ops import activation_lookup as activations
from tfkit.src.ops.convolution import channels_last, convolve
from tfkit.src.symbolic.input_spec import InputSpec


def sizes(layer: Layer, argument: str, value: Any, rank: int) -> tuple[int, ...]:
    """Returns one positive integer for each of `rank` directions."""
    many = (value,) * rank if is_integer(value) else value
    holds = (
        isinstance(many, (list, tuple))
        and len(many) == rank
        and all(is_integer(size) and size > 0 for size in many)
    )
    check(layer, holds, argument, f"a positive integer or {rank} of them", value)
    return tuple(int(size) for size in many)


def check_strides(layer: Layer, strides: tuple[int, ...], dilation_rate: tuple[int, ...]) -> None:
    """Raises an error for windows that are both apart and dilated: TensorFlow's kernels lack that."""
    both = max(strides) > 1 and max(dilation_rate) > 1
    check(layer, not both, "strides", "1 where `dilation_rate` is above 1", strides)


def check_padding(layer: Layer, padding: Any) -> str:
    """Returns `"valid"` or `"same"`, in lower case."""
    holds = str(padding).lower() in ("valid", "same")
    check(layer, holds, "padding", "'valid' or 'same'", padding)
    return padding.lower()


class HasChannels(Tracked, Protocol):
    """A layer of images, as messages name it."""

    data_format: str


def known_channels(layer: HasChannels, input_shape: Any) -> tuple[int, int]:
    """Returns the axis of the channels and their number.

    Raises:
        ValueError: if the number is unknown.
    """
    axis = -1 if layer.data_format == "channels_last" else 1
    channels = input_shape[axis]
    if channels is None:
        raise ValueError(
            f"Layer {layer._tfkit.title} has weights for each channel. Expected a known number of input "
            f"channels. Received: input_shape={tuple(input_shape)}"
        )
    return axis, channels


class ConvolutionOptions(Layer, WithBias):
    """The options that all convolutions have."""

    rank = 2
    kernel_size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation_rate: tuple[int, ...]
    data_format: str
    activation: Any
    use_bias: bool

    def _take_convolution(self, arguments: Mapping[str, Any], *kinds: str) -> None:
        """Sets the options from a constructor's `locals()`; `kinds` are the kernels, as in `take_options`."""
        for name in ("kernel_size", "strides", "dilation_rate"):
            setattr(self, name, sizes(self, name, arguments[name], self.rank))
        self.data_format = standardize_data_format(arguments["data_format"])
        self.activation = activations.get(arguments["activation"])
        self.use_bias = arguments["use_bias"]
        take_options(self, arguments, *kinds, "bias")


class BiasedConvolution(ConvolutionOptions):
    """The base of convolutions whose operation does not add the bias itself; they define `_convolved`."""

    bias: tf.Variable | None = None  # Until `build`, which a subclass may define without it.

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the activation of the convolution plus `bias`."""
        inputs = as_floats(self, inputs)
        return self.activation(channels_last(inputs, self.data_format, self._with_bias))

    def _with_bias(self, inputs: tf.Tensor) -> tf.Tensor:
        outputs = self._convolved(inputs)
        return outputs if self.bias is None else tf.nn.bias_add(outputs, self.bias)

    def _convolved(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns only the convolution; the channels are the last axis of inputs and outputs."""
        raise NotImplementedError


class BaseConv(Adaptable, ConvolutionOptions, WithKernel):
    """The base of `Conv1D`, `Conv2D` and `Conv3D`, which describe the arguments; they set `rank`."""

    kernel = MainWeight()
    _kernel = stored("kernel")
    bias: tf.Variable | None = None  # Until `build`, which a subclass may define without it.
    _tfkit_omitted_from_config = {"lora_rank": None, "lora_alpha": None}

    @constructors.named_after_class
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
        *,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        **kwargs: Unpack[RegularizedOptions],
    ) -> None:
        # A library's subclass passes its rank, as to this constructor in Keras.
        options: dict[str, Any] = {**kwargs}
        rank = self.rank if is_builtin(type(self)) else options.pop("rank", self.rank)
        super().__init__(activity_regularizer=activity_regularizer, **options)
        self.rank = rank
        check_positive_integer(self, filters=filters, groups=groups)
        check(self, filters % groups == 0, "filters", f"a multiple of groups={groups}", filters)
        self.filters = filters
        self.groups = groups
        self._take_convolution(locals(), "kernel")
        paddings = ("valid", "same", "causal") if self.rank == 1 else ("valid", "same")
        check(self, str(padding).lower() in paddings, "padding", f"one of {paddings}", padding)
        self.padding = padding.lower()
        check_strides(self, self.strides, self.dilation_rate)
        check(
            self,
            self.padding != "causal" or self.data_format == "channels_last",
            "padding",
            "a value other than 'causal' for channels_first",
            padding,
        )
        self._tfkit_take_lora(lora_rank, lora_alpha)
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
        # Each group of filters sees its own share of the channels.
        self.kernel = add_parameter(
            self, "kernel", (*self.kernel_size, channels // self.groups, self.filters)
        )
        self.bias = add_bias(self, (self.filters,))
        self._tfkit_add_requested_lora()
        self.input_spec = InputSpec(min_ndim=self.rank + 2, axes={axis: channels})

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns `activation(conv(inputs, kernel) + bias)`."""
        inputs = as_floats(self, inputs)
        # The kernel of the convolution adds the bias itself, in one pass over the outputs.
        if type(self).convolution_op is BaseConv.convolution_op:
            outputs = self._convolved(inputs, self.kernel, self.bias)
        else:  # A method of a user's subclass, which does not add the bias.
            outputs = self.convolution_op(inputs, self.kernel)
            if self.bias is not None:
                outputs = channels_last(outputs, self.data_format, lambda x: x + self.bias)
        return self.activation(outputs)

    def convolution_op(self, inputs: Any, kernel: Any) -> tf.Tensor:
        """Returns the convolution without bias and activation; subclasses may call or override it.

        Args:
            inputs: inputs as in `call`.
            kernel: kernel of the shape of `self.kernel`.
        """
        return self._convolved(inputs, kernel, None)

    def _convolved(self, inputs: Any, kernel: Any, bias: Any) -> tf.Tensor:
        padding = self.padding
        if padding == "causal":
            # Zeros only before the sequence: an output depends on no later step.
            before = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            inputs = tf.pad(inputs, [[0, 0], [before, 0], [0, 0]])
            padding = "valid"
        return channels_last(
            inputs,
            self.data_format,
            lambda x: convolve(x, kernel, self.strides, padding, self.dilation_rate, bias),
        )


class Conv1D(BaseConv):
    """A convolution of sequences along time: `activation(conv(inputs, kernel) + bias)`.

    With stride `s` and dilation rate `d`, the output at step `i` is the sum over `u` and the
    channels `c` of `inputs[i * s + u * d, c] * kernel[u, c, filter]`. The kernel is not flipped.
    `kernel` has shape `(kernel_size, channels / groups, filters)` and `bias` shape `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: length of the kernel in steps, an integer.
        strides: distance of neighbouring windows in steps. Above 1 only where `dilation_rate` is 1.
            Default: `1`.
        padding: `"valid"` for no padding; `"same"` for zeros at both ends, so that the output has
            `ceil(steps / strides)` steps; or `"causal"` for zeros before the first step, so that no
            output depends on later inputs (for `"channels_last"` only). Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance of neighbouring points of the kernel in steps. Default: `1`.
        groups: number of groups into which the channels are divided; each group of
            `channels / groups` input channels gives `filters / groups` output channels. Default:
            `1`.
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
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, steps, channels)`, or `(batch, channels, steps)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_steps, filters)`, or `(batch, filters, new_steps)`. With
    `padding="valid"`, `new_steps` is `ceil((steps - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if `filters`
            or the number of input channels is not a multiple of `groups`, if strides and dilation
            rate are both above 1, if `padding` or `data_format` is unknown, or if the kernel does
            not fit into the input.

    Reference:
        van den Oord et al., "WaveNet: a generative model for raw audio", 2016 (causal and dilated
            convolutions).

    Example:
        >>> layer = Conv1D(1, 2, padding="causal", kernel_initializer="ones")
        >>> layer(tf.constant([[[1.0], [2.0], [3.0]]])).numpy().ravel().tolist()
        [1.0, 3.0, 5.0]
    """

    rank = 1


class Conv2D(BaseConv):
    """A convolution of images along height and width: `activation(conv(inputs, kernel) + bias)`.

    With strides `s` and dilation rates `d`, the output at `(i, j)` is the sum over `u`, `v` and the
    channels `c` of `inputs[i * s + u * d, j * s + v * d, c] * kernel[u, v, c, filter]`. The kernel
    is not flipped. `kernel` has shape `(*kernel_size, channels / groups, filters)` and `bias` shape
    `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: height and width of the kernel in pixels, a tuple of two integers, or one
            integer for both.
        strides: distance of neighbouring windows in pixels, two integers or one. Above 1 only where
            `dilation_rate` is 1. Default: `1`.
        padding: `"valid"` for no padding, or `"same"` for zeros around the input, so that the
            output has `ceil(size / strides)` entries along an axis. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance of neighbouring points of the kernel in pixels, two integers or one.
            Default: `1`.
        groups: number of groups into which the channels are divided; each group of
            `channels / groups` input channels gives `filters / groups` output channels. Default:
            `1`.
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
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, height, width, channels)`, or `(batch, channels, height, width)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, filters)`, or
    `(batch, filters, new_height, new_width)`. With `padding="valid"` a new size is
    `ceil((size - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if `filters`
            or the number of input channels is not a multiple of `groups`, if strides and dilation
            rates are both above 1, if `padding` or `data_format` is unknown, or if the kernel does
            not fit into the input.

    Reference:
        LeCun et al., "Gradient-based learning applied to document recognition", 1998.

    Example:
        >>> Conv2D(8, 3, padding="same")(tf.ones((1, 5, 5, 2))).shape
        TensorShape([1, 5, 5, 8])
        >>> Conv2D(8, (3, 5), strides=2)(tf.ones((1, 9, 9, 2))).shape
        TensorShape([1, 4, 3, 8])
    """

    rank = 2


class Conv3D(BaseConv):
    """A convolution of volumes along depth, height and width: `activation(conv(inputs, kernel) + bias)`.

    It is `Conv2D` with one more direction: each output is the sum of the products of `kernel` and a
    window of the inputs, over the window's entries and channels. The kernel is not flipped.
    `kernel` has shape `(*kernel_size, channels / groups, filters)` and `bias` shape `(filters,)`.

    Args:
        filters: positive integer, the number of output channels.
        kernel_size: depth, height and width of the kernel, a tuple of three integers, or one
            integer for all.
        strides: distance of neighbouring windows, three integers or one. Above 1 only where
            `dilation_rate` is 1. Default: `1`.
        padding: `"valid"` for no padding, or `"same"` for zeros around the input, so that the
            output has `ceil(size / strides)` entries along an axis. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance of neighbouring points of the kernel, three integers or one.
            Default: `1`.
        groups: number of groups into which the channels are divided; each group of
            `channels / groups` input channels gives `filters / groups` output channels. Default:
            `1`.
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
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`.

    Input shape: `(batch, depth, height, width, channels)`, or
    `(batch, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, new_depth, new_height, new_width, filters)`, or with `filters` as second
    axis. With `padding="valid"` a new size is
    `ceil((size - (kernel_size - 1) * dilation_rate) / strides)`.

    Raises:
        ValueError: if a size, a stride, a rate or a number is not a positive integer, if `filters`
            or the number of input channels is not a multiple of `groups`, if strides and dilation
            rates are both above 1, if `padding` or `data_format` is unknown, or if the kernel does
            not fit into the input.

    Reference:
        Tran et al., "Learning spatiotemporal features with 3D convolutional networks", 2015.

    Example:
        >>> Conv3D(2, 3)(tf.ones((1, 4, 5, 6, 1))).shape
        TensorShape([1, 2, 3, 4, 2])
    """

    rank = 3
