"""Activation functions, as Keras's `ops` name and parametrise them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.frames import warn
from tfkit.ops.arguments import as_axes, positive_axes
from tfkit.ops.promotion import as_tensor, to_dtype
from tfkit.ops.shaping import moveaxis, static_or_dynamic_shape
from tfkit.ops.sparse import made_dense, zeros_stay
from tfkit.symbolic import symbolic_op


@symbolic_op
@zeros_stay
def relu(x: Any) -> tf.Tensor:
    """`max(x, 0)`."""
    return tf.nn.relu(x)


@symbolic_op
@zeros_stay
def relu6(x: Any) -> tf.Tensor:
    """`min(max(x, 0), 6)`."""
    return tf.nn.relu6(x)


@symbolic_op
@zeros_stay
def leaky_relu(x: Any, negative_slope: float = 0.2) -> tf.Tensor:
    """`x` where positive, `negative_slope * x` elsewhere."""
    return tf.nn.leaky_relu(x, negative_slope)


@symbolic_op
@made_dense
def sigmoid(x: Any) -> tf.Tensor:
    """`1 / (1 + exp(-x))`; the result remembers `x`, so that crossentropies can be exact."""
    x = as_tensor(x)
    output = tf.sigmoid(x)
    output._keras_logits = x
    return output


@symbolic_op
def softmax(x: Any, axis: int | Sequence[int] | None = -1) -> tf.Tensor:
    """`exp(x) / sum(exp(x))` along `axis`, over several axes together, or all for `None`.

    The result remembers `x`, so that crossentropies can be exact.

    Warns:
        UserWarning: when the axis has size 1, where the result is 1 whatever `x` is.

    Raises:
        ValueError: for an axis that `x` has not.
    """
    x = as_tensor(x)
    if not isinstance(axis, Sequence) and axis is not None and 1 in x.shape:
        _warn_of_size_one(x, axis)
    output = _over_axes(tf.nn.softmax, x, axis)
    output._keras_logits = x
    return output


def _warn_of_size_one(x: Any, axis: int) -> None:
    if -x.shape.rank <= axis < x.shape.rank and x.shape[axis] == 1:
        warn(
            f"You are using a softmax over axis {axis} of a tensor of shape {x.shape}. This axis has "
            "size 1, and the result is 1 whatever the input is. Did you mean a sigmoid?",
        )


def _over_axes(function: Callable[..., Any], x: Any, axis: Any) -> tf.Tensor:
    """`function` of `x` along one axis, over several as if they were one, or all for `None`."""
    if axis is None:
        return tf.reshape(function(tf.reshape(x, [-1])), static_or_dynamic_shape(x))
    ndim = x.shape.rank
    axes = as_axes(axis)
    if len(axes) == 1:
        return function(x, axes[0] if ndim is None else positive_axes(axes, ndim)[0])
    axes = positive_axes(axes, ndim)
    last = range(-len(axes), 0)
    moved = moveaxis(x, axes, last)
    shape = static_or_dynamic_shape(moved)
    flat = tf.reshape(moved, [*shape[: ndim - len(axes)], -1])
    return moveaxis(tf.reshape(function(flat, -1), shape), last, axes)


@symbolic_op
def log_softmax(x: Any, axis: int | Sequence[int] | None = -1) -> tf.Tensor:
    """`log(softmax(x))`, exact also where the softmax is nearly 0; `axis` as for `softmax`.

    Raises:
        ValueError: for an axis that `x` has not.
    """
    return _over_axes(tf.nn.log_softmax, as_tensor(x), axis)


@symbolic_op
@made_dense
def log_sigmoid(x: Any) -> tf.Tensor:
    """`log(sigmoid(x))`, exact also where the sigmoid is nearly 0."""
    return tf.math.log_sigmoid(x)


@symbolic_op
@made_dense
def softplus(x: Any) -> tf.Tensor:
    """`log(1 + exp(x))`."""
    return tf.math.softplus(x)


@symbolic_op
@zeros_stay
def softsign(x: Any) -> tf.Tensor:
    """`x / (1 + abs(x))`."""
    return tf.nn.softsign(x)


@symbolic_op
@zeros_stay
def elu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """`x` where positive, `alpha * (exp(x) - 1)` elsewhere.

    Reference:
        Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2016.
    """
    x = as_tensor(x)
    result = tf.nn.elu(x)
    return result if alpha == 1 else tf.where(x > 0, result, alpha * result)


@symbolic_op
@zeros_stay
def selu(x: Any) -> tf.Tensor:
    """The ELU scaled so that mean 0 and variance 1 are kept from layer to layer.

    Reference:
        Klambauer et al., "Self-normalizing neural networks", 2017.
    """
    return tf.nn.selu(x)


@symbolic_op
@zeros_stay
def celu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """`max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`: an ELU without a kink.

    Reference:
        Barron, "Continuously differentiable exponential linear units", 2017.
    """
    x = as_tensor(x)
    return tf.maximum(x, 0.0) + alpha * tf.math.expm1(tf.minimum(x, 0.0) / alpha)


@symbolic_op
@zeros_stay
def gelu(x: Any, approximate: bool = True) -> tf.Tensor:
    """`x` times the normal distribution function of `x`.

    Args:
        x: a tensor.
        approximate: whether to use the formula with `tanh`.

    Reference:
        Hendrycks & Gimpel, "Gaussian error linear units", 2016.
    """
    return tf.nn.gelu(x, approximate)


@symbolic_op
@zeros_stay
def silu(x: Any) -> tf.Tensor:
    """`x * sigmoid(x)`.

    Reference:
        Elfwing et al., "Sigmoid-weighted linear units", 2017.
    """
    return tf.nn.silu(as_tensor(x))


swish = silu


@symbolic_op
def glu(x: Any, axis: int = -1) -> tf.Tensor:
    """The first half of `axis` times the sigmoid of the second half.

    Raises:
        ValueError: when the size of the axis is odd.

    Reference:
        Dauphin et al., "Language modeling with gated convolutional networks", 2017.
    """
    x = as_tensor(x)
    if x.shape[axis] is not None and x.shape[axis] % 2:
        raise ValueError(
            f"The axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    value, gate = tf.split(x, 2, axis)
    return value * tf.sigmoid(gate)


@symbolic_op
@made_dense
def squareplus(x: Any, b: float = 4) -> tf.Tensor:
    """`(x + sqrt(x**2 + b)) / 2`.

    Reference:
        Barron, "Squareplus: a softplus-like algebraic rectifier", 2021.
    """
    x = as_tensor(x)
    return (x + tf.sqrt(tf.square(x) + to_dtype(b, x.dtype))) / 2


@symbolic_op
@made_dense
def hard_sigmoid(x: Any) -> tf.Tensor:
    """`relu6(x + 3) / 6`."""
    x = as_tensor(x)
    return tf.nn.relu6(x + 3.0) / 6.0


@symbolic_op
@zeros_stay
def hard_silu(x: Any) -> tf.Tensor:
    """`x * hard_sigmoid(x)`.

    Reference:
        Howard et al., "Searching for MobileNetV3", 2019.
    """
    x = as_tensor(x)
    return x * (tf.nn.relu6(x + 3.0) / 6.0)


hard_swish = hard_silu


@symbolic_op
@zeros_stay
def hard_tanh(x: Any) -> tf.Tensor:
    """`x` limited to the range from -1 to 1."""
    return tf.clip_by_value(as_tensor(x), -1.0, 1.0)


@symbolic_op
@zeros_stay
def hard_shrink(x: Any, threshold: float = 0.5) -> tf.Tensor:
    """`x` where its absolute value is above `threshold`, 0 elsewhere."""
    x = as_tensor(x)
    return tf.where(tf.abs(x) > threshold, x, tf.zeros_like(x))


@symbolic_op
@zeros_stay
def soft_shrink(x: Any, threshold: float = 0.5) -> tf.Tensor:
    """`x` moved towards 0 by `threshold`, and 0 where it would pass it."""
    x = as_tensor(x)
    return tf.where(
        x > threshold,
        x - threshold,
        tf.where(x < -threshold, x + threshold, tf.zeros_like(x)),
    )


@symbolic_op
@zeros_stay
def tanh_shrink(x: Any) -> tf.Tensor:
    """`x - tanh(x)`."""
    x = as_tensor(x)
    return x - tf.tanh(x)


@symbolic_op
@made_dense
def threshold(x: Any, threshold: float, default_value: float) -> tf.Tensor:
    """`x` where it is above `threshold`, `default_value` elsewhere."""
    x = as_tensor(x)
    return tf.where(x > threshold, x, to_dtype(default_value, x.dtype))


@symbolic_op
@made_dense
def sparse_plus(x: Any) -> tf.Tensor:
    """0 up to -1, `x` from 1 on, and `(x + 1)**2 / 4` between them."""
    x = as_tensor(x)
    return tf.where(x <= -1, tf.zeros_like(x), tf.where(x < 1, 0.25 * tf.square(x + 1), x))


@symbolic_op
@made_dense
def sparse_sigmoid(x: Any) -> tf.Tensor:
    """0 up to -1, 1 from 1 on, and `(x + 1) / 2` between them."""
    x = as_tensor(x)
    return tf.where(x <= -1, tf.zeros_like(x), tf.where(x >= 1, tf.ones_like(x), 0.5 * (x + 1)))


@symbolic_op
def sparsemax(x: Any, axis: int = -1) -> tf.Tensor:
    """The probabilities along `axis` that are nearest to `x`; many of them are exactly 0.

    Reference:
        Martins & Astudillo, "From softmax to sparsemax", 2016.
    """
    z = as_tensor(x)
    z_sorted = tf.sort(z, axis, "DESCENDING")
    z_sum = tf.cumsum(z_sorted, axis)
    places = [1] * z.shape.rank
    places[axis] = -1
    k = tf.reshape(tf.range(1, tf.shape(z)[axis] + 1), places)
    support = z_sorted - (z_sum - 1) / tf.cast(k, z.dtype) > 0
    size = tf.reduce_sum(tf.cast(support, z.dtype), axis, keepdims=True)
    threshold = (tf.reduce_sum(tf.where(support, z_sorted, 0), axis, keepdims=True) - 1) / size
    return tf.maximum(z - threshold, 0)
