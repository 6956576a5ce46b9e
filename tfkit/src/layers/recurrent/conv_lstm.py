"""Long short-term memory whose projections are convolutions: `ConvLSTM1D` to `ConvLSTM3D`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry import constructors
from tfkit.src.base.settings import standardize_data_format
from tfkit.src.base.signatures import arguments_of, shows
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import as_floats
from tfkit.src.layers.convolution import check_padding, check_strides, known_channels, sizes
from tfkit.src.layers.parameters import add_parameter
from tfkit.src.layers.recurrent.gated import GatedRNN, of_cell
from tfkit.src.layers.recurrent.lstm import LSTMCell
from tfkit.src.layers.recurrent.options import layer_arguments
from tfkit.src.ops.convolution import convolve
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.weights import random


class ConvLSTMCell(LSTMCell):
    """One step of a layer like `ConvLSTM2D`, on inputs with `rank` spatial axes.

    Args:
        rank: number of spatial axes, 1 to 3.
        filters: positive integer, the number of channels of the output and of each state.
        kernel_size: size of both kernels, one integer or one for each axis.
        strides: distance of neighbouring windows of the inputs. Default: `1`.
        padding: `"valid"` or `"same"`, of the inputs' convolution. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the global one.
        dilation_rate: distance of neighbouring points of `kernel`. Default: `1`.
        **kwargs: the other arguments of `LSTMCell`.
    """

    draws_dropout_seed_first = True

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        *,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, **kwargs)
        self.rank = rank
        self.filters = filters
        self.kernel_size = sizes(self, "kernel_size", kernel_size, rank)
        self.strides = sizes(self, "strides", strides, rank)
        self.padding = check_padding(self, padding)
        self.data_format = standardize_data_format(data_format)
        self.dilation_rate = sizes(self, "dilation_rate", dilation_rate, rank)
        check_strides(self, self.strides, self.dilation_rate)

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, `recurrent_kernel` and `bias`, with the gates concatenated."""
        _, channels = known_channels(self, input_shape)
        is_last = self.data_format == "channels_last"
        spatial = tuple(input_shape[1:-1] if is_last else input_shape[2:])
        if None in spatial:
            raise ValueError(
                f"Layer {self._tfkit.title} keeps states of the size of its outputs. Expected inputs whose "
                f"spatial sizes are known. Received inputs of shape {tuple(input_shape)} for a step. Pass "
                "`Input` a shape with these sizes."
            )
        width = self.gate_count * self.filters
        self.kernel = add_parameter(self, "kernel", (*self.kernel_size, channels, width))
        self.recurrent_kernel = add_parameter(
            self, "recurrent", (*self.kernel_size, self.filters, width), name="recurrent_kernel"
        )
        self.bias = add_bias(self, (width,), self._first_bias)
        self._input_sizes = (*spatial, channels)
        self._output_sizes = (*map(self._output_size, spatial, range(self.rank)), self.filters)

    def _output_size(self, size: int, axis: int) -> int:
        # A window of "valid" padding does not reach over
        # the border; a window of "same" padding does.
        reach = 1
        if self.padding == "valid":
            reach += (self.kernel_size[axis] - 1) * self.dilation_rate[axis]
        return -(-(size - reach + 1) // self.strides[axis])

    def get_initial_state(self, batch_size: Any = None) -> list[tf.Tensor]:
        """Returns the first states: zeros."""
        shape = (batch_size, *self._output_sizes)
        return [self.from_channels_last(tf.zeros(shape, self.compute_dtype)) for _ in range(2)]

    def bound_step(self, batch_size: Any, training: Any) -> Any:
        """Returns a function that makes one step, with dropout masks drawn now."""
        step = super().bound_step(batch_size, training)

        def in_data_format(inputs: tf.Tensor, states: Any) -> tuple[tf.Tensor, Any]:
            states = tf.nest.map_structure(self.channels_last, states)
            output, states = step(self.channels_last(inputs), states)
            return tf.nest.map_structure(self.from_channels_last, (output, states))

        return in_data_format

    def channels_last(self, images: tf.Tensor) -> tf.Tensor:
        """Returns images of any number of leading axes, with channels last."""
        if self.data_format == "channels_last":
            return images
        *leading, channels = range(images.shape.rank - self.rank)
        return tf.transpose(images, [*leading, *range(channels + 1, images.shape.rank), channels])

    def from_channels_last(self, images: tf.Tensor) -> tf.Tensor:
        """Returns images with channels last in the layer's data format."""
        if self.data_format == "channels_last":
            return images
        *axes, channels = range(images.shape.rank)
        first = len(axes) - self.rank
        return tf.transpose(images, [*axes[:first], channels, *axes[first:]])

    def project(self, inputs: tf.Tensor, masks: Any = None) -> tf.Tensor:
        """Returns the convolution of the inputs of one step, or of many at once."""
        # Either one step or all: (batch, ..., channels) or (steps, batch, ..., channels).
        inputs = as_floats(self, inputs)
        lead = tf.shape(inputs)[: -1 - self.rank]

        def convolved(inputs: tf.Tensor, kernel: Any) -> tf.Tensor:
            images = tf.reshape(inputs, [-1, *self._input_sizes])
            images = convolve(images, kernel, self.strides, self.padding, self.dilation_rate)
            outputs = tf.reshape(images, tf.concat([lead, tf.shape(images)[1:]], 0))
            # The shape was a tensor, so the static sizes are lost.
            static = inputs.shape[: -1 - self.rank]
            return tf.ensure_shape(outputs, [*static, *self._output_sizes[:-1], kernel.shape[-1]])

        return self._with_bias(_by_gate(convolved, inputs, self.kernel, masks), self.bias)

    def project_state(self, state: tf.Tensor, masks: Any = None) -> tf.Tensor:
        """Returns the convolution of the previous output."""

        def convolved(state: tf.Tensor, kernel: Any) -> tf.Tensor:
            return convolve(state, kernel, 1, "same", 1)

        return _by_gate(convolved, state, self.recurrent_kernel, masks)

    @property
    def fused(self) -> bool:
        """Whether the fused loop can be used: it is for products only."""
        return False

    def draw_masks(self, batch_size: Any, training: Any) -> tuple[Any, Any]:
        """Draws the factors of inputs and state, with channels last; `None` for no dropout."""
        if not training:
            return None, None
        return (
            self._drawn(self.dropout, (batch_size, *self._input_sizes)),
            self._drawn(self.recurrent_dropout, (batch_size, *self._output_sizes)),
        )

    def _drawn(self, rate: float, shape: tuple[Any, ...]) -> Any:
        if rate == 0:
            return None
        # Drawn in the layer's data format, as Keras does, so that a seed gives the same masks.
        ones = self.from_channels_last(tf.ones(shape, self.compute_dtype))
        return [
            self.channels_last(random.dropout(ones, rate, seed=self.seed_generator))
            for _ in range(self.gate_count)
        ]


def _by_gate(function: Callable[..., tf.Tensor], images: tf.Tensor, kernel: Any, masks: Any) -> Any:
    """Returns `function(images, kernel)`; with masks, each gate's part of `kernel` gets its own images."""
    if masks is None:
        return function(images, kernel)
    parts = tf.split(tf.convert_to_tensor(kernel), len(masks), axis=-1)
    outputs = [function(images * mask, part) for mask, part in zip(masks, parts, strict=True)]
    return tf.concat(outputs, axis=-1)


# The arguments of `LSTM` that are the same here.
_SHARED = {
    name: argument
    for name, argument in layer_arguments(LSTMCell).items()
    if name not in ("units", "implementation", "unroll")
}


@shows(_SHARED, behind={"activity_regularizer": "bias_regularizer"})
class _ConvLSTM(GatedRNN):
    """The base of `ConvLSTM1D` to `ConvLSTM3D`, which set `rank`, and describe what depends on it.

    Args:
        filters: positive integer, the number of channels of the output and of each state.
        kernel_size: size of both kernels.
        strides: distance of neighbouring windows of the inputs.
        padding: `"valid"` for no padding of the inputs, or `"same"` for zeros around them, so that
            the output has `ceil(size / strides)` entries along an axis. Default: `"valid"`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        dilation_rate: distance of neighbouring points of `kernel`.
        activity_regularizer: penalty on the outputs, divided by the batch size; `None` for no
            penalty.
    """

    rank = 2

    @constructors.named_after_class
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        *,
        activity_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(ConvLSTMCell, rank=self.rank, **constructors.given(locals()))
        self.input_spec = InputSpec(ndim=self.rank + 3)

    filters = of_cell("filters")
    kernel_size = of_cell("kernel_size")
    strides = of_cell("strides")
    padding = of_cell("padding")
    data_format = of_cell("data_format")
    dilation_rate = of_cell("dilation_rate")
    recurrent_activation = of_cell("recurrent_activation")
    unit_forget_bias = of_cell("unit_forget_bias")

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Builds the cell."""
        super().build(sequences_shape, initial_state_shape)
        axis = -1 if self.data_format == "channels_last" else 2
        self.input_spec = InputSpec(ndim=self.rank + 3, axes={axis: sequences_shape[axis]})

    def inner_loop(
        self, inputs: tf.Tensor, states: list[Any], mask: Any, training: Any
    ) -> tuple[tf.Tensor, list[Any]]:
        """Returns the results of the loop, with channels last: all inputs are convolved before it."""
        cell = self.cell
        inputs, states = tf.nest.map_structure(cell.channels_last, (inputs, states))
        results = super().inner_loop(inputs, states, mask, training)
        return tf.nest.map_structure(cell.from_channels_last, results)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "unroll": self.unroll}


# Adds the arguments that a docstring leaves out.
_described = shows(arguments_of(_ConvLSTM))


@_described
class ConvLSTM1D(_ConvLSTM):
    """Long short-term memory for sequences of signals: both projections of `LSTM` are convolutions.

    A step computes the formula of `ConvLSTM2D`, and the weights have the shapes stated there.

    Args:
        kernel_size: length of both kernels, an integer.
        strides: distance of neighbouring windows of the inputs, an integer. Above 1 only where
            `dilation_rate` is 1. Default: `1`.
        dilation_rate: distance of neighbouring points of `kernel`, an integer. Default: `1`.
        **kwargs: `unroll`, whether each step is written into the program, instead of a loop
            (`False`); `zero_output_for_mask`, whether the output is zero where the mask is `False`
            (`False`); options of every layer, which `Layer` describes: `name`, `trainable`,
            `dtype`, `autocast`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first output and memory, each of the shape of an output; `None`
            for zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output remain as
            they are. `None` for no mask.
        training: whether to drop entries.

    Input shape: `(batch, steps, length, channels)`, or `(batch, steps, channels, length)` with
    `data_format="channels_first"`.

    Output shape: `(batch, new_length, filters)`; with `return_sequences`,
    `(batch, steps, new_length, filters)`; `data_format` determines the channels' axis. With
    `return_state`, a tuple of this, the last output and the last memory.

    Raises:
        ValueError: if a number is not a positive integer, if a share is not between 0 and 1, if
            strides and dilation rate are both above 1, if a spatial size is unknown, if `unroll` or
            `stateful` needs a size that is unknown, or if `initial_state` has a different number of
            states.

    Reference:
        Shi et al., "Convolutional LSTM network: a machine learning approach for precipitation
            nowcasting", 2015.

    Example:
        >>> ConvLSTM1D(4, 3)(tf.ones((2, 5, 8, 3))).shape
        TensorShape([2, 6, 4])
    """

    rank = 1


@_described
class ConvLSTM2D(_ConvLSTM):
    """Long short-term memory for sequences of images: both projections of `LSTM` are convolutions.

    A step computes, with `i`, `f`, `g`, `o` the four parts of
    `conv(x, kernel) + conv(h, recurrent_kernel) + bias`:

        c = recurrent_activation(f) * c + recurrent_activation(i) * activation(g)
        h = recurrent_activation(o) * activation(c)

    The convolution of `h` has strides of one and keeps its size. `kernel` has shape
    `(*kernel_size, channels, 4 * filters)`, `recurrent_kernel`
    `(*kernel_size, filters, 4 * filters)` and `bias` `(4 * filters,)`. Dropped entries differ from
    gate to gate.

    Args:
        kernel_size: height and width of both kernels in pixels, a tuple of two integers, or one
            integer for both.
        strides: distance of neighbouring windows of the inputs, two integers or one. Above 1 only
            where `dilation_rate` is 1. Default: `1`.
        dilation_rate: distance of neighbouring points of `kernel`, two integers or one. Default:
            `1`.
        **kwargs: `unroll`, whether each step is written into the program, instead of a loop
            (`False`); `zero_output_for_mask`, whether the output is zero where the mask is `False`
            (`False`); options of every layer, which `Layer` describes: `name`, `trainable`,
            `dtype`, `autocast`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first output and memory, each of the shape of an output; `None`
            for zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output remain as
            they are. `None` for no mask.
        training: whether to drop entries.

    Input shape: `(batch, steps, height, width, channels)`, or
    `(batch, steps, channels, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, new_height, new_width, filters)`; with `return_sequences`,
    `(batch, steps, new_height, new_width, filters)`; `data_format` determines the channels' axis. With
    `return_state`, a tuple of this, the last output and the last memory.

    Raises:
        ValueError: if a number is not a positive integer, if a share is not between 0 and 1, if
            strides and dilation rate are both above 1, if a spatial size is unknown, if `unroll` or
            `stateful` needs a size that is unknown, or if `initial_state` has a different number of
            states.

    Reference:
        Shi et al., "Convolutional LSTM network: a machine learning approach for precipitation
            nowcasting", 2015.

    Example:
        >>> ConvLSTM2D(4, 3)(tf.ones((2, 5, 8, 8, 3))).shape
        TensorShape([2, 6, 6, 4])
    """

    rank = 2


@_described
class ConvLSTM3D(_ConvLSTM):
    """Long short-term memory for sequences of volumes: both projections of `LSTM` are convolutions.

    A step computes the formula of `ConvLSTM2D`, and the weights have the shapes stated there.

    Args:
        kernel_size: depth, height and width of both kernels, a tuple of three integers, or one
            integer for all.
        strides: distance of neighbouring windows of the inputs, three integers or one. Above 1 only
            where `dilation_rate` is 1. Default: `1`.
        dilation_rate: distance of neighbouring points of `kernel`, three integers or one. Default:
            `1`.
        **kwargs: `unroll`, whether each step is written into the program, instead of a loop
            (`False`); `zero_output_for_mask`, whether the output is zero where the mask is `False`
            (`False`); options of every layer, which `Layer` describes: `name`, `trainable`,
            `dtype`, `autocast`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of the first output and memory, each of the shape of an output; `None`
            for zeros.
        mask: booleans of shape `(batch, steps)`; where it is `False`, states and output remain as
            they are. `None` for no mask.
        training: whether to drop entries.

    Input shape: `(batch, steps, depth, height, width, channels)`, or
    `(batch, steps, channels, depth, height, width)` with `data_format="channels_first"`.

    Output shape: `(batch, new_depth, new_height, new_width, filters)`; with `return_sequences`,
    `(batch, steps, new_depth, new_height, new_width, filters)`; `data_format` determines the channels'
    axis. With `return_state`, a tuple of this, the last output and the last memory.

    Raises:
        ValueError: if a number is not a positive integer, if a share is not between 0 and 1, if
            strides and dilation rate are both above 1, if a spatial size is unknown, if `unroll` or
            `stateful` needs a size that is unknown, or if `initial_state` has a different number of
            states.

    Reference:
        Shi et al., "Convolutional LSTM network: a machine learning approach for precipitation
            nowcasting", 2015.

    Example:
        >>> ConvLSTM3D(4, 3)(tf.ones((2, 3, 4, 4, 4, 3))).shape
        TensorShape([2, 2, 2, 2, 4])
    """

    rank = 3
