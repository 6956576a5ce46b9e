"""Activation functions as layers."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.engine import apart
from tfkit.src.layers.checks import as_floats, check
from tfkit.src.layers.parameters import add_parameter
from tfkit.src.ops import activation_lookup as activations
from tfkit.src.symbolic import logits
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.weights import constraints, regularizers
from tfkit.src.weights.initializers import lookup as initializers


class Activation(Layer):
    """Applies an activation function to each input: `activation(inputs)`.

    Args:
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` for
            the identity.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if no activation of this name is known.

    Example:
        >>> Activation("relu")(tf.constant([-1.0, 2.0])).numpy().tolist()
        [0.0, 2.0]
    """

    _tfkit_built_at_once = True

    def __init__(self, activation: Any, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns `activation(inputs)`."""
        return self.activation(inputs)


def _is_not_negative(value: Any) -> bool:
    return isinstance(value, (int, float)) and value >= 0


class ReLU(Layer):
    """The rectifier `max(inputs, 0)`, with an optional upper limit, slope and threshold.

    It computes `max_value` where `inputs >= max_value`, `inputs` where
    `threshold <= inputs < max_value`, and `negative_slope * (inputs - threshold)` below.

    Args:
        max_value: largest output, at least 0; `None` for no limit.
        negative_slope: slope below the threshold, at least 0. Default: `0.0`.
        threshold: smallest value, at least 0, that is returned unchanged. Default: `0.0`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if an argument is negative.

    Reference:
        Nair & Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.

    Example:
        >>> ReLU(max_value=6.0)(tf.constant([-1.0, 2.0, 8.0])).numpy().tolist()
        [0.0, 2.0, 6.0]
    """

    _tfkit_built_at_once = True

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        expected = "a number of at least 0"
        holds = max_value is None or _is_not_negative(max_value)
        check(self, holds, "max_value", f"None or {expected}", max_value)
        check(self, _is_not_negative(negative_slope), "negative_slope", expected, negative_slope)
        check(self, _is_not_negative(threshold), "threshold", expected, threshold)
        super().__init__(**kwargs)
        self.max_value = max_value
        self.negative_slope = negative_slope
        self.threshold = threshold
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the activations of `inputs`."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """The leaky rectifier: `inputs` where they are positive, `negative_slope * inputs` elsewhere.

    Args:
        negative_slope: slope for negative inputs, at least 0. Default: `0.3`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if `negative_slope` is negative.

    Reference:
        Maas et al., "Rectifier nonlinearities improve neural network acoustic models", 2013.

    Example:
        >>> LeakyReLU(0.5)(tf.constant([-1.0, 2.0])).numpy().tolist()
        [-0.5, 2.0]
    """

    _tfkit_built_at_once = True

    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        if "alpha" in kwargs:  # The argument's name in files of Keras 2.
            negative_slope = kwargs.pop("alpha")
        expected = "a number of at least 0"
        check(self, _is_not_negative(negative_slope), "negative_slope", expected, negative_slope)
        super().__init__(**kwargs)
        self.negative_slope = negative_slope
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the activations of `inputs`."""
        return tf.nn.leaky_relu(inputs, self.negative_slope)


class PReLU(Layer):
    """A rectifier with a trained slope: `inputs` where they are positive, `alpha * inputs` elsewhere.

    `alpha` has the shape of one sample, with size 1 along the shared axes.

    Args:
        alpha_initializer: initial value of `alpha`. Default: `"Zeros"`.
        alpha_regularizer: penalty on `alpha` that is added to the loss; `None` for no penalty.
        alpha_constraint: function that projects `alpha` after each update; `None` for no
            constraint.
        shared_axes: axis or list of axes along which one `alpha` is shared, counted with the batch
            as axis 0; `[1, 2]` gives images one `alpha` for each channel. `None` for no sharing.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any, with known sizes along the axes that are not shared.

    Output shape: The same as the input shape.

    Reference:
        He et al., "Delving deep into rectifiers", 2015.

    Example:
        >>> PReLU(alpha_initializer="ones")(tf.constant([[-1.0, 2.0]])).numpy().tolist()
        [[-1.0, 2.0]]
        >>> layer = PReLU(shared_axes=[1, 2])
        >>> layer(tf.ones((1, 5, 5, 3))).shape, layer.alpha.shape
        (TensorShape([1, 5, 5, 3]), TensorShape([1, 1, 3]))
    """

    def __init__(
        self,
        alpha_initializer: Any = "Zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        if shared_axes is not None:
            single = not isinstance(shared_axes, (list, tuple))
            shared_axes = [shared_axes] if single else list(shared_axes)
        self.shared_axes = shared_axes
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes `alpha`, of the shape of one sample, 1 along the shared axes."""
        # Axes are counted with the batch, as everywhere in Keras; the weight has no batch axis.
        shape, shared = list(input_shape[1:]), self.shared_axes or []
        for axis in shared:
            shape[axis - 1] = 1
        self.alpha = add_parameter(self, "alpha", shape)
        own = {axis: size for axis, size in enumerate(input_shape) if axis and axis not in shared}
        self.input_spec = InputSpec(ndim=len(input_shape), axes=own)

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the activations of `inputs`."""
        # Two rectifiers instead of a `where`: the gradient for `alpha` is 0 where inputs are
        # positive.
        return apart.relu(inputs) - self.alpha * apart.relu(-inputs)


class ELU(Layer):
    """The exponential linear unit: `inputs` where positive, `alpha * (exp(inputs) - 1)` elsewhere.

    Args:
        alpha: factor for negative inputs; the outputs tend to `-alpha`. Default: `1.0`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any.

    Output shape: The same as the input shape.

    Reference:
        Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2015.

    Example:
        >>> ELU()(tf.constant([-100.0, 0.0, 2.0])).numpy().tolist()
        [-1.0, 0.0, 2.0]
    """

    _tfkit_built_at_once = True

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the activations of `inputs`."""
        return activations.elu(inputs, alpha=self.alpha)


class Softmax(Layer):
    """Scales to positive values that sum to 1: `exp(inputs) / sum(exp(inputs))`.

    Args:
        axis: integer, or a list of integers: the axis or axes along which the outputs sum to 1.
            Default: `-1`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a tensor of scores.
        mask: booleans that broadcast to the inputs; where it is `False` the output is 0. `None` for
            no mask.

    Input shape: Any.

    Output shape: The same as the input shape.

    Raises:
        ValueError: if the mask does not broadcast to the shape of the inputs.

    Example:
        >>> layer = Softmax()
        >>> layer(tf.constant([[0.0, 0.0]])).numpy().tolist()
        [[0.5, 0.5]]
        >>> layer(tf.constant([[0.0, 0.0]]), mask=tf.constant([[True, False]])).numpy().tolist()
        [[1.0, 0.0]]
    """

    _tfkit_built_at_once = True

    def __init__(self, axis: Any = -1, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Returns the activations of `inputs`."""
        inputs = as_floats(self, inputs)
        if mask is None:
            return self._softmax(inputs)
        mask = tf.convert_to_tensor(mask)
        self._check_mask(inputs.shape, mask.shape)
        if mask.dtype != tf.bool:
            # A cast of floats to booleans would count 0.1 as present.
            mask = mask > 0.5 if mask.dtype.is_floating else mask != 0
        # Not minus infinity: an entirely masked row would become NaN, in gradients too.
        lowest = -3e4 if inputs.dtype == tf.float16 else -1e9
        outputs = self._softmax(tf.where(mask, inputs, tf.cast(lowest, inputs.dtype)))
        return tf.where(mask, outputs, tf.zeros_like(outputs))

    def _check_mask(self, shape: tf.TensorShape, mask_shape: tf.TensorShape) -> None:
        """Raises an error for a mask that would make the outputs larger than the inputs."""
        expected = None
        if shape.rank is not None and mask_shape.rank is not None:
            sizes = shape[shape.rank - mask_shape.rank :] if mask_shape.rank <= shape.rank else None
            if sizes is None:
                expected = "must not have more dimensions than the inputs"
            elif any(
                m not in (1, None, n) and n is not None
                for m, n in zip(mask_shape, sizes, strict=True)
            ):
                expected = "must be broadcastable to the shape of the inputs"
        if expected is not None:
            raise ValueError(
                f"The mask of layer '{self.path}' (of type Softmax) {expected}. Received: inputs of shape "
                f"{tuple(shape)}, a mask of shape {tuple(mask_shape)}"
            )

    def _softmax(self, inputs: tf.Tensor) -> tf.Tensor:
        if not isinstance(self.axis, (list, tuple)):
            return logits.note(tf.nn.softmax(inputs, axis=self.axis), inputs)
        if len(self.axis) == 1:
            return logits.note(tf.nn.softmax(inputs, axis=self.axis[0]), inputs)
        # TensorFlow's kernel has one axis. The logarithm keeps large inputs from overflowing.
        return tf.exp(inputs - tf.reduce_logsumexp(inputs, axis=list(self.axis), keepdims=True))
