"""Layers that normalize each sample: over features, groups of channels, length."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit import constraints, initializers, regularizers
from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions
from tfkit.layers.checks import as_floats, check, check_axes, is_integer
from tfkit.tensorflow_faults import plus_offset


def _in_32_bits(layer: Layer, inputs: Any) -> tf.Tensor:
    """`inputs` in at least 32 bits: sums of squares overflow or round away in 16."""
    inputs = as_floats(layer, inputs)
    return tf.cast(inputs, tf.float32) if inputs.dtype.size < 4 else inputs


def _along(weight: Any, axes: list[int], inputs: tf.Tensor) -> tf.Tensor:
    """`weight`, shaped to broadcast along the given axes of `inputs`."""
    sizes = [inputs.shape[axis] if axis in axes else 1 for axis in range(inputs.shape.rank)]
    return tf.cast(tf.reshape(weight, sizes), inputs.dtype)


def _checked_axes(layer: Layer, axis: Any) -> Any:
    holds = is_integer(axis) or (isinstance(axis, (list, tuple)) and all(map(is_integer, axis)))
    if not holds:
        raise TypeError(
            f"Invalid value for argument `axis` of layer {type(layer).__name__}. Expected an integer "
            f"or a list of integers. Received: axis={axis!r}"
        )
    return axis if is_integer(axis) else list(axis)


def _positive_axes(axis: Any, rank: int) -> list[int]:
    axes = [axis] if is_integer(axis) else axis
    return sorted(item % rank for item in axes)


class LayerNormalization(Layer):
    """Scales each sample to mean 0 and variance 1 over some axes, then by trained factors.

    Args:
        axis: axis or axes that are normalized together.
        epsilon: added to the variance.
        center: whether to add `beta`.
        scale: whether to multiply by `gamma`.
        beta_initializer: first value of `beta`.
        gamma_initializer: first value of `gamma`.
        beta_regularizer: penalty on `beta`.
        gamma_regularizer: penalty on `gamma`.
        beta_constraint: what `beta` goes through after each update.
        gamma_constraint: what `gamma` goes through after each update.

    Reference:
        Ba et al., "Layer normalization", 2016.
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
        expected = "False: it divides by another number than the name says; use RMSNormalization"
        check(self, not rms_scaling, "rms_scaling", expected, rms_scaling)
        super().__init__(**kwargs)
        self.axis = _checked_axes(self, axis)
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.supports_masking = True
        self.autocast = False  # The mean and the variance are taken of the inputs as they come.

    def build(self, input_shape: Any) -> None:
        """Makes `gamma` and `beta`, of the sizes of the normalized axes."""
        check_axes(self, [self.axis] if is_integer(self.axis) else self.axis, input_shape)
        axes = _positive_axes(self.axis, len(input_shape))
        shape = [input_shape[axis] for axis in axes]
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma",
                shape=shape,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta",
                shape=shape,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, normalized."""
        inputs = _in_32_bits(self, inputs)
        axes = _positive_axes(self.axis, inputs.shape.rank)
        mean, variance = tf.nn.moments(inputs, axes, keepdims=True)
        outputs = (inputs - mean) * tf.math.rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            outputs *= _along(self.gamma, axes, inputs)
        if self.beta is not None and axes == [inputs.shape.rank - 1]:
            outputs = plus_offset(outputs, tf.cast(self.beta, outputs.dtype))
        elif self.beta is not None:
            outputs += _along(self.beta, axes, inputs)
        return tf.cast(outputs, self.compute_dtype)


class RMSNormalization(Layer):
    """Divides each sample by its root mean square over some axes, then scales by a trained factor.

    Args:
        axis: axis or axes that are normalized together.
        epsilon: added to the mean square.

    Reference:
        Zhang & Sennrich, "Root mean square layer normalization", 2019.
    """

    def __init__(
        self, axis: Any = -1, epsilon: float = 1e-6, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.axis = _checked_axes(self, axis)
        self.epsilon = epsilon

    def build(self, input_shape: Any) -> None:
        """Makes `scale`, of the sizes of the normalized axes."""
        check_axes(self, [self.axis] if is_integer(self.axis) else self.axis, input_shape)
        axes = _positive_axes(self.axis, len(input_shape))
        shape = [input_shape[axis] for axis in axes]
        self.scale = self.add_weight(name="scale", shape=shape, initializer="ones")

    def call(self, x: Any) -> tf.Tensor:
        """The inputs, normalized."""
        inputs = _in_32_bits(self, x)
        axes = _positive_axes(self.axis, inputs.shape.rank)
        mean_square = tf.reduce_mean(tf.square(inputs), axes, keepdims=True)
        outputs = inputs * tf.math.rsqrt(mean_square + self.epsilon)
        return tf.cast(outputs * _along(self.scale, axes, inputs), self.compute_dtype)


class GroupNormalization(Layer):
    """Scales groups of channels of each sample to mean 0 and variance 1, then by trained factors.

    Args:
        groups: number of groups, which must divide the number of channels; -1 is one for each
            channel.
        axis: axis of the channels.
        epsilon: added to the variance.
        center: whether to add `beta`.
        scale: whether to multiply by `gamma`.
        beta_initializer: first value of `beta`.
        gamma_initializer: first value of `gamma`.
        beta_regularizer: penalty on `beta`.
        gamma_regularizer: penalty on `gamma`.
        beta_constraint: what `beta` goes through after each update.
        gamma_constraint: what `gamma` goes through after each update.

    Reference:
        Wu & He, "Group normalization", 2018.
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
        super().__init__(**kwargs)
        self.groups = groups
        self.axis = axis
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.supports_masking = True
        self.autocast = False

    def build(self, input_shape: Any) -> None:
        """Makes `gamma` and `beta`, of one entry for each channel."""
        check_axes(self, [self.axis], input_shape)
        channels = input_shape[self.axis]
        if channels is None or channels % self.groups:
            raise ValueError(
                f"Layer '{self.path}' (of type {type(self).__name__}) cannot be built: the number of "
                f"channels, axis {self.axis} of the inputs, must be known and a multiple of `groups`. "
                f"Received: groups={self.groups}, inputs of shape {tuple(input_shape)}"
            )
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma",
                shape=(channels,),
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta",
                shape=(channels,),
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: channels})

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, normalized."""
        inputs = _in_32_bits(self, inputs)
        rank = inputs.shape.rank
        axis = self.axis % rank
        channels = inputs.shape[axis]
        groups = channels if self.groups == -1 else self.groups
        sizes = tf.shape(inputs)
        split = tf.concat([sizes[:axis], [groups, channels // groups], sizes[axis + 1 :]], 0)
        grouped = tf.reshape(inputs, split)
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
    """Scales each sample to length 1 over some axes.

    Args:
        axis: axis or axes along which the sum of squares becomes 1.
    """

    def __init__(self, axis: Any = -1, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.axis = _checked_axes(self, axis)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, scaled; all zeros stay zeros."""
        outputs = tf.math.l2_normalize(_in_32_bits(self, inputs), self.axis, epsilon=1e-24)
        return tf.cast(outputs, self.compute_dtype)
