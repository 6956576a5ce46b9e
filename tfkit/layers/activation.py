"""Activation functions as layers."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit import activations, constraints, initializers, regularizers
from tfkit.core.input_spec import InputSpec
from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions
from tfkit.layers.checks import as_floats, check


class Activation(Layer):
    """Applies an activation function.

    Args:
        activation: name or function.

    Example:
        >>> Activation("relu")(tf.constant([-1.0, 2.0])).numpy().tolist()
        [0.0, 2.0]
    """

    def __init__(self, activation: Any, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """`activation(inputs)`."""
        return self.activation(inputs)


def _is_not_negative(value: Any) -> bool:
    return isinstance(value, (int, float)) and value >= 0


class ReLU(Layer):
    """`max(inputs, 0)`, and its relatives.

    Args:
        max_value: greatest output, `None` for no limit.
        negative_slope: slope below the threshold.
        threshold: inputs below it are on the line of `negative_slope`.
    """

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
        """The activations of `inputs`."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """`inputs` where positive, `negative_slope * inputs` elsewhere.

    Args:
        negative_slope: slope below 0.
    """

    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        if "alpha" in kwargs:  # The name in files of Keras 2.
            negative_slope = kwargs.pop("alpha")
        expected = "a number of at least 0"
        check(self, _is_not_negative(negative_slope), "negative_slope", expected, negative_slope)
        super().__init__(**kwargs)
        self.negative_slope = negative_slope
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The activations of `inputs`."""
        return tf.nn.leaky_relu(inputs, self.negative_slope)


class PReLU(Layer):
    """`inputs` where positive, `alpha * inputs` elsewhere, with a trained `alpha` for each entry.

    Args:
        alpha_initializer: first value of `alpha`.
        alpha_regularizer: penalty on `alpha`.
        alpha_constraint: what `alpha` goes through after each update.
        shared_axes: axes along which one `alpha` is shared; 1 is the first after the batch.

    Reference:
        He et al., "Delving deep into rectifiers", 2015.
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
        shape, shared = list(input_shape[1:]), self.shared_axes or []
        for axis in shared:
            shape[axis - 1] = 1
        self.alpha = self.add_weight(
            name="alpha",
            shape=shape,
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        own = {axis: size for axis, size in enumerate(input_shape) if axis and axis not in shared}
        self.input_spec = InputSpec(ndim=len(input_shape), axes=own)

    def call(self, inputs: Any) -> tf.Tensor:
        """The activations of `inputs`."""
        return tf.nn.relu(inputs) - self.alpha * tf.nn.relu(-inputs)


class ELU(Layer):
    """`inputs` where positive, `alpha * (exp(inputs) - 1)` elsewhere.

    Args:
        alpha: limit for very negative inputs, with its sign changed.

    Reference:
        Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2015.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The activations of `inputs`."""
        return activations.elu(inputs, alpha=self.alpha)


class Softmax(Layer):
    """`exp(inputs)`, divided by its sum along an axis.

    Args:
        axis: axis, or axes, along which the outputs sum to 1.

    Call arguments:
        inputs: a tensor.
        mask: booleans that broadcast to `inputs`; where it is `False` the output is 0.
    """

    def __init__(self, axis: Any = -1, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """The activations of `inputs`."""
        inputs = as_floats(self, inputs)
        if mask is None:
            return self._softmax(inputs)
        mask = tf.convert_to_tensor(mask)
        if mask.dtype != tf.bool:
            mask = mask > 0.5
        # Not minus infinity: an entirely masked row would become NaN, in gradients too.
        lowest = -3e4 if inputs.dtype == tf.float16 else -1e9
        outputs = self._softmax(tf.where(mask, inputs, tf.cast(lowest, inputs.dtype)))
        return tf.where(mask, outputs, tf.zeros_like(outputs))

    def _softmax(self, inputs: tf.Tensor) -> tf.Tensor:
        if not isinstance(self.axis, (list, tuple)):
            return tf.nn.softmax(inputs, axis=self.axis)
        if len(self.axis) == 1:
            return tf.nn.softmax(inputs, axis=self.axis[0])
        return tf.exp(inputs - tf.reduce_logsumexp(inputs, axis=list(self.axis), keepdims=True))
