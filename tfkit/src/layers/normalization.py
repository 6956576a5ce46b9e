"""Layers that normalize each sample: over features, groups of channels, or by length."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.engine.tensorflow_faults import plus_offset
from tfkit.src.layers.checks import as_floats, check, check_axes, is_integer
from tfkit.src.layers.parameters import WithScale, add_parameter, take_options
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.symbolic.tensors import described, only_shapes_count


def in_32_bits(layer: Layer, inputs: Any) -> tf.Tensor:
    """Returns `inputs` in at least 32 bits: sums of squares overflow or lose precision in 16."""
    inputs = as_floats(layer, inputs)
    return tf.cast(inputs, tf.float32) if inputs.dtype.size < 4 else inputs


def _along(weight: Any, axes: list[int], inputs: tf.Tensor) -> tf.Tensor:
    """Returns `weight`, reshaped to broadcast along the given axes of `inputs`."""
    sizes = [inputs.shape[axis] if axis in axes else 1 for axis in range(inputs.shape.rank)]
    return tf.cast(tf.reshape(weight, sizes), inputs.dtype)


def _scaled(x: tf.Tensor, weight: Any, axes: list[int]) -> tf.Tensor:
    """Returns `x` times a weight along the given axes."""
    if axes != [x.shape.rank - 1] or x.shape[-1] == 0:
        return x * _along(weight, axes, x)
    # As a matrix: XLA sums the gradient over rows about 5 times as fast as over several axes.
    rows = tf.reshape(x, [-1, x.shape[-1]]) * tf.cast(weight, x.dtype)
    return tf.reshape(rows, tf.shape(x))


def _checked_axes(layer: Layer, axis: Any) -> Any:
    holds = is_integer(axis) or (isinstance(axis, (list, tuple)) and all(map(is_integer, axis)))
    check(layer, holds, "axis", "an integer or a list of integers", axis, TypeError)
    return axis if is_integer(axis) else list(axis)


def _sizes_along(layer: LayerNormalization | RMSNormalization, input_shape: Any) -> list[int]:
    """Returns the sizes of the axes that are normalized together, which must be known."""
    check_axes(layer, [layer.axis] if is_integer(layer.axis) else layer.axis, input_shape)
    return [input_shape[axis] for axis in _positive_axes(layer.axis, len(input_shape))]


def _positive_axes(axis: Any, rank: int) -> list[int]:
    axes = [axis] if is_integer(axis) else axis
    return sorted(item % rank for item in axes)


class LayerNormalization(Layer, WithScale):
    """Scales each sample to mean 0 and variance 1 over some axes, then by trained factors.

    It computes `gamma * (inputs - mean) / sqrt(variance + epsilon) + beta`, with mean and variance
    over `axis`. `gamma` and `beta` have the sizes of the inputs along `axis`. It computes the same
    in training and outside of it.

    Args:
        axis: integer, or a list of integers: the axis or axes that are normalized together.
            Default: `-1`.
        epsilon: small number that is added to the variance. Default: `0.001`.
        center: whether to add the trained offset `beta`. Default: `True`.
        scale: whether to multiply by the trained factor `gamma`. Default: `True`.
        beta_initializer: initial value of `beta`. Default: `"zeros"`.
        gamma_initializer: initial value of `gamma`. Default: `"ones"`.
        beta_regularizer: penalty on `beta` that is added to the loss; `None` for no penalty.
        gamma_regularizer: penalty on `gamma` that is added to the loss; `None` for no penalty.
        beta_constraint: function that projects `beta` after each update; `None` for no constraint.
        gamma_constraint: function that projects `gamma` after each update; `None` for no
            constraint.
        **kwargs: `rms_scaling`, deprecated, whether to compute `gamma * inputs / sqrt(variance +
            epsilon)` (`False`); options of every layer, which `Layer` describes: `name`,
            `trainable`, `dtype`, `autocast`, `activity_regularizer`.

    Input shape: Any, with known sizes along `axis`.

    Output shape: The same as the input shape.

    Raises:
        TypeError: if `axis` is neither an integer nor a list of integers.
        ValueError: if `axis` is not an axis of the inputs, or if its size is unknown.

    Reference:
        Ba et al., "Layer normalization", 2016.

    Example:
        >>> LayerNormalization(epsilon=0.0)(
        ...     tf.constant([[1.0, 3.0], [20.0, 10.0]])
        ... ).numpy().tolist()
        [[-1.0, 1.0], [1.0, -1.0]]
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        rms_scaling = kwargs.pop("rms_scaling", False)
        if rms_scaling:
            warn(
                "`rms_scaling=True` of LayerNormalization is deprecated: it divides by the standard "
                "deviation, which is not the root mean square. Use `RMSNormalization`."
            )
        super().__init__(**kwargs)
        self.rms_scaling = rms_scaling
        self.axis = _checked_axes(self, axis)
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        take_options(self, locals(), "beta", "gamma")
        self.supports_masking = True
        self.autocast = False  # The mean and the variance are computed from the original inputs.

    def build(self, input_shape: Any) -> None:
        """Makes `gamma` and `beta`, of the sizes of the normalized axes."""
        shape = _sizes_along(self, input_shape)
        self.gamma = self.beta = None
        if self.scale or self.rms_scaling:
            self.gamma = add_parameter(self, "gamma", shape)
        if self.center and not self.rms_scaling:
            self.beta = add_parameter(self, "beta", shape)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, normalized."""
        inputs = in_32_bits(self, inputs)
        if only_shapes_count() and isinstance(inputs, tf.Tensor):
            return described(inputs.shape, self.compute_dtype)
        axes = _positive_axes(self.axis, inputs.shape.rank)
        mean, variance = tf.nn.moments(inputs, axes, keepdims=True)
        # As in Keras, the inputs are not centred, although the variance is about the mean.
        centered = inputs if self.rms_scaling else inputs - mean
        outputs = centered * tf.math.rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            outputs = _scaled(outputs, self.gamma, axes)
        if self.beta is not None and axes == [inputs.shape.rank - 1]:
            outputs = plus_offset(outputs, tf.cast(self.beta, outputs.dtype))
        elif self.beta is not None:
            outputs += _along(self.beta, axes, inputs)
        return tf.cast(outputs, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "rms_scaling": self.rms_scaling}


class RMSNormalization(Layer):
    """Divides each sample by its root mean square over some axes, then scales by a trained factor.

    It computes `scale * inputs / sqrt(mean(inputs**2) + epsilon)`. `scale` has the sizes of the
    inputs along `axis` and starts as ones.

    Args:
        axis: integer, or a list of integers: the axis or axes that are normalized together.
            Default: `-1`.
        epsilon: small number that is added to the mean square. Default: `1e-06`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any, with known sizes along `axis`.

    Output shape: The same as the input shape.

    Raises:
        TypeError: if `axis` is neither an integer nor a list of integers.
        ValueError: if `axis` is not an axis of the inputs, or if its size is unknown.

    Reference:
        Zhang & Sennrich, "Root mean square layer normalization", 2019.

    Example:
        >>> RMSNormalization()(tf.constant([[3.0, 3.0], [0.0, 0.0]])).numpy().round(3).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """

    def __init__(
        self, axis: Any = -1, epsilon: float = 1e-6, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.axis = _checked_axes(self, axis)
        self.epsilon = epsilon

    def build(self, input_shape: Any) -> None:
        """Makes `scale`, of the sizes of the normalized axes."""
        shape = _sizes_along(self, input_shape)
        self.scale = self.add_weight(name="scale", shape=shape, initializer="ones")

    def call(self, x: Any) -> tf.Tensor:
        """Returns the inputs, normalized."""
        inputs = in_32_bits(self, x)
        axes = _positive_axes(self.axis, inputs.shape.rank)
        mean_square = tf.reduce_mean(tf.square(inputs), axes, keepdims=True)
        outputs = inputs * tf.math.rsqrt(mean_square + self.epsilon)
        return tf.cast(_scaled(outputs, self.scale, axes), self.compute_dtype)


class GroupNormalization(Layer, WithScale):
    """Scales groups of channels of each sample to mean 0 and variance 1, then by trained factors.

    It computes `gamma * (inputs - mean) / sqrt(variance + epsilon) + beta`, with mean and variance
    over all positions and the channels of one group, and one `gamma` and `beta` for each channel.

    Args:
        groups: number of groups, a divisor of the number of channels; -1 for one group for each
            channel, which is instance normalization. Default: `32`.
        axis: integer, the axis of the channels. Default: `-1`.
        epsilon: small number that is added to the variance. Default: `0.001`.
        center: whether to add the trained offset `beta`. Default: `True`.
        scale: whether to multiply by the trained factor `gamma`. Default: `True`.
        beta_initializer: initial value of `beta`. Default: `"zeros"`.
        gamma_initializer: initial value of `gamma`. Default: `"ones"`.
        beta_regularizer: penalty on `beta` that is added to the loss; `None` for no penalty.
        gamma_regularizer: penalty on `gamma` that is added to the loss; `None` for no penalty.
        beta_constraint: function that projects `beta` after each update; `None` for no constraint.
        gamma_constraint: function that projects `gamma` after each update; `None` for no
            constraint.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: `(batch, ..., channels)`, or with the channels at `axis`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `groups` is neither positive nor -1, if the number of channels is unknown or
            not a multiple of it, or if `axis` is not an axis of the inputs.

    Reference:
        Wu & He, "Group normalization", 2018.

    Example:
        >>> layer = GroupNormalization(groups=2, epsilon=0.0)
        >>> layer(tf.constant([[1.0, 3.0, 20.0, 10.0]])).numpy().tolist()
        [[-1.0, 1.0, 1.0, -1.0]]
    """

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        holds = is_integer(groups) and (groups > 0 or groups == -1)
        check(self, holds, "groups", "a positive integer, or -1 for one a channel", groups)
        check(self, epsilon >= 0, "epsilon", "a number of 0 or above", epsilon)
        super().__init__(**kwargs)
        self.groups = groups
        self.axis = axis
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        take_options(self, locals(), "beta", "gamma")
        self.supports_masking = True
        self.autocast = False

    def build(self, input_shape: Any) -> None:
        """Makes `gamma` and `beta`, of one entry for each channel."""
        check_axes(self, [self.axis], input_shape)
        channels = input_shape[self.axis]
        if channels is None or channels % self.groups:
            raise ValueError(
                f"Layer {self._tfkit.title} cannot be built: the number of channels, axis {self.axis} of the "
                f"inputs, must be known and a multiple of `groups`. Received: groups={self.groups}, inputs "
                f"of shape {tuple(input_shape)}"
            )
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = add_parameter(self, "gamma", (channels,))
        if self.center:
            self.beta = add_parameter(self, "beta", (channels,))
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: channels})

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, normalized."""
        inputs = in_32_bits(self, inputs)
        rank = inputs.shape.rank
        axis = self.axis % rank
        channels = inputs.shape[axis]
        groups = channels if self.groups == -1 else self.groups
        sizes = tf.shape(inputs)
        # Shape (batch, ..., groups, channels of a group, ...).
        split = tf.concat([sizes[:axis], [groups, channels // groups], sizes[axis + 1 :]], 0)
        grouped = tf.reshape(inputs, split)
        # All axes but those of the batch and the groups.
        together = [i for i in range(1, rank + 1) if i != axis]
        mean, variance = tf.nn.moments(grouped, together, keepdims=True)
        outputs = tf.reshape((grouped - mean) * tf.math.rsqrt(variance + self.epsilon), sizes)
        outputs = tf.ensure_shape(outputs, inputs.shape)
        if self.gamma is not None:
            outputs *= _along(self.gamma, [axis], inputs)
        if self.beta is not None:
            outputs += _along(self.beta, [axis], inputs)
        return tf.cast(outputs, self.compute_dtype)


class UnitNormalization(Layer):
    """Scales each sample to Euclidean length 1 over some axes: `inputs / sqrt(sum(inputs**2))`.

    Samples of zeros remain zeros.

    Args:
        axis: integer, or a list of integers: the axis or axes along which the squares sum to 1.
            Default: `-1`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        TypeError: if `axis` is neither an integer nor a list of integers.

    Example:
        >>> UnitNormalization()(tf.constant([[3.0, 4.0]])).numpy()
        array([[0.6, 0.8]], dtype=float32)
    """

    _tfkit_built_at_once = True

    def __init__(self, axis: Any = -1, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.axis = _checked_axes(self, axis)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the inputs, scaled; all zeros remain zeros."""
        # Of the squared length: Keras has 1e-12 for the length.
        outputs = tf.math.l2_normalize(in_32_bits(self, inputs), self.axis, epsilon=1e-24)
        return tf.cast(outputs, self.compute_dtype)
