"""Activation functions, with the names and parameters of Keras's `ops`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.engine import apart
from tfkit.src.ops.arithmetic import hypot
from tfkit.src.ops.checks import as_axes, positive_axes
from tfkit.src.ops.elementwise import erf
from tfkit.src.ops.promotion import as_tensor, to_dtype
from tfkit.src.ops.shaping import moveaxis, static_or_dynamic_shape
from tfkit.src.ops.sparse import made_dense, zeros_stay
from tfkit.src.symbolic import logits
from tfkit.src.symbolic.tensors import symbolic_op

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@zeros_stay
def relu(x: Any) -> tf.Tensor:
    """Returns the rectified linear unit `max(x, 0)`.

    `tfkit.activations.relu` additionally has a slope, an upper limit and a threshold.

    Args:
        x: a real tensor of any shape (no bools).

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Nair & Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.

    Example:
        >>> ops.relu([-1.0, 0.0, 2.0]).numpy().tolist()
        [0.0, 0.0, 2.0]
    """
    return apart.relu(x)


@zeros_stay
def relu6(x: Any) -> tf.Tensor:
    """Returns the rectified linear unit with an upper limit of 6: `min(max(x, 0), 6)`.

    The limit keeps activations in a range that numbers of few bits can hold.

    Args:
        x: a real tensor of any shape (no bools).

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010.

    Example:
        >>> ops.relu6([-1.0, 2.0, 9.0]).numpy().tolist()
        [0.0, 2.0, 6.0]
    """
    return apart.relu6(x)


@zeros_stay
def leaky_relu(x: Any, negative_slope: float = 0.2) -> tf.Tensor:
    """Returns `x` where it is positive and `negative_slope * x` elsewhere.

    The slope keeps a gradient for negative inputs, where the gradient of `relu` is 0.

    Args:
        x: a real tensor of any shape; integers are cast to float32.
        negative_slope: slope for negative inputs. Default: `0.2`.

    Returns:
        A tensor of the shape of `x` and of its float dtype; a `tf.SparseTensor` stays sparse.

    Reference:
        Maas et al., "Rectifier nonlinearities improve neural network acoustic models", 2013.

    Example:
        >>> ops.leaky_relu([-1.0, 0.0, 2.0], negative_slope=0.5).numpy().tolist()
        [-0.5, 0.0, 2.0]
    """
    if (x := as_tensor(x)).dtype == tf.float64:  # The kernel's slope is rounded to float32.
        return tf.where(x > 0, x, negative_slope * x)
    return tf.nn.leaky_relu(x, negative_slope)


@made_dense
def sigmoid(x: Any) -> tf.Tensor:
    """Returns the logistic function `1 / (1 + exp(-x))`, which maps real numbers to (0, 1).

    The result remembers `x` as its logits, so that `binary_crossentropy` of it is exact.

    Args:
        x: a tensor of any shape, of a float or complex dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`.

    Example:
        >>> ops.sigmoid([-1.0, 0.0, 20.0]).numpy().round(4)
        array([0.2689, 0.5   , 1.    ], dtype=float32)
    """
    x = as_tensor(x)
    return logits.note(tf.sigmoid(x), x)


@symbolic_op
def softmax(x: Any, axis: int | Sequence[int] | None = -1) -> tf.Tensor:
    """Returns `exp(x) / sum(exp(x))` over axes: positive numbers whose sum is 1.

    The result remembers `x` as its logits, so that a crossentropy of it is exact.

    Args:
        x: a tensor of any shape, of a real float dtype.
        axis: axis of the sum; a tuple for a sum over several axes together, `None` for all.
            Default: `-1`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Warns:
        UserWarning: when the axis has size 1, where the result is 1 whatever `x` is.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.softmax([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]).numpy().round(4)
        array([[0.09  , 0.2447, 0.6652],
               [0.3333, 0.3333, 0.3333]], dtype=float32)
    """
    x = as_tensor(x)
    if not isinstance(axis, Sequence) and axis is not None and 1 in x.shape:
        _warn_of_size_one(x, axis)
    return logits.note(_over_axes(tf.nn.softmax, x, axis), x)


def _warn_of_size_one(x: Any, axis: int) -> None:
    if -x.shape.rank <= axis < x.shape.rank and x.shape[axis] == 1:
        warn(
            f"You are using a softmax over axis {axis} of a tensor of shape {x.shape}. This axis has "
            "size 1, and the result is 1 whatever the input is. Did you mean a sigmoid?"
        )


# TensorFlow's softmax has one axis: several are moved to the end and flattened to one.
def _over_axes(function: Callable[..., Any], x: Any, axis: Any) -> tf.Tensor:
    """Returns `function` of `x` along one axis, several as if they were one, or all for `None`."""
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
    """Returns `log(softmax(x)) = x - log(sum(exp(x)))`, exact also where the softmax is nearly 0.

    Args:
        x: a tensor of any shape, of a real float dtype.
        axis: axis of the sum; a tuple for a sum over several axes together, `None` for all.
            Default: `-1`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for an axis that `x` does not have.

    Example:
        >>> ops.log_softmax([0.0, 0.0, 200.0]).numpy()
        array([-200., -200.,    0.], dtype=float32)
    """
    return _over_axes(tf.nn.log_softmax, as_tensor(x), axis)


@made_dense
def log_sigmoid(x: Any) -> tf.Tensor:
    """Returns `log(sigmoid(x)) = -softplus(-x)`, exact also where the sigmoid is nearly 0.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`, with values below or equal to 0.

    Example:
        >>> ops.log_sigmoid([-200.0, 0.0, 2.0]).numpy().round(4)
        array([-2.000e+02, -6.931e-01, -1.269e-01], dtype=float32)
    """
    return tf.math.log_sigmoid(x)


@made_dense
def softplus(x: Any) -> tf.Tensor:
    """Returns `log(1 + exp(x))`, a smooth form of `max(x, 0)`, without overflow.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`, with values from 0 on.

    Reference:
        Glorot et al., "Deep sparse rectifier neural networks", 2011.

    Example:
        >>> ops.softplus([-20.0, 0.0, 1.0, 200.0]).numpy().round(4)
        array([  0.    ,   0.6931,   1.3133, 200.    ], dtype=float32)
    """
    return tf.math.softplus(x)


@zeros_stay
def softsign(x: Any) -> tf.Tensor:
    """Returns `x / (1 + abs(x))`, which maps real numbers to (-1, 1).

    It nears its limits more slowly than `tanh`.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.softsign([-3.0, 0.0, 1.0]).numpy().tolist()
        [-0.75, 0.0, 0.5]
    """
    x = as_tensor(x)
    # Infinity divided by itself would be NaN.
    return tf.nn.softsign(tf.clip_by_value(x, x.dtype.min, x.dtype.max))


@zeros_stay
def elu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """Returns the exponential linear unit: `x` where positive, `alpha * (exp(x) - 1)` elsewhere.

    Args:
        x: a tensor of any shape, of a real float dtype.
        alpha: limit for very negative inputs, with a minus. Default: `1.0`.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Clevert et al., "Fast and accurate deep network learning by exponential linear units",
        2016.

    Example:
        >>> ops.elu([-1.0, 0.0, 2.0]).numpy().round(4)
        array([-0.6321,  0.    ,  2.    ], dtype=float32)
    """
    x = as_tensor(x)
    result = tf.nn.elu(x)
    return result if alpha == 1 else tf.where(x > 0, result, alpha * result)


@zeros_stay
def selu(x: Any) -> tf.Tensor:
    """Returns the scaled exponential linear unit `scale * elu(x, alpha)`.

    With `scale = 1.0507` and `alpha = 1.6733` it keeps mean 0 and variance 1 from layer to layer,
    if weights come from `LecunNormal`.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> ops.selu([-1.0, 0.0, 2.0]).numpy().round(4)
        array([-1.1113,  0.    ,  2.1014], dtype=float32)
    """
    x = as_tensor(x)
    # The slope at 0 of `tf.nn.selu` is the right one in kernels and the left one in XLA.
    below = _SELU_ALPHA * tf.math.expm1(tf.minimum(x, 0))
    return _SELU_SCALE * tf.where(x >= 0, x, below)


@zeros_stay
def celu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """Returns `max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`, an `elu` without a kink at 0.

    Args:
        x: a tensor of any shape, of a real float dtype.
        alpha: limit for very negative inputs, with a minus. It must not be 0. Default: `1.0`.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Barron, "Continuously differentiable exponential linear units", 2017.

    Example:
        >>> ops.celu([-1.0, 0.0, 2.0], alpha=2.0).numpy().round(4)
        array([-0.7869,  0.    ,  2.    ], dtype=float32)
    """
    x = as_tensor(x)
    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0.0) / alpha))


@zeros_stay
def gelu(x: Any, approximate: bool = True) -> tf.Tensor:
    """Returns the Gaussian error linear unit: `x` times the normal distribution function of `x`.

    Args:
        x: a tensor of any shape, of a real float dtype.
        approximate: whether to compute
            `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2`, and not the exact
            `x * (1 + erf(x / sqrt(2))) / 2`. Default: `True`.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Hendrycks & Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> ops.gelu(tf.constant([-1.0, 0.0, 1.0])).numpy().round(4)
        array([-0.1588,  0.    ,  0.8412], dtype=float32)
        >>> ops.gelu(tf.constant([-1.0, 0.0, 1.0]), approximate=False).numpy().round(4)
        array([-0.1587,  0.    ,  0.8413], dtype=float32)
    """
    x = as_tensor(x)
    if x.dtype == tf.float64:  # The constants of `tf.nn.gelu` are rounded to float32.
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + (tf.tanh(inner) if approximate else erf(x * math.sqrt(0.5))))
    if approximate and x.dtype == tf.float16:
        # The square in the slope of the cube is infinite from 256 on.
        return tf.cast(tf.nn.gelu(tf.cast(x, tf.float32), approximate), x.dtype)
    return tf.nn.gelu(x, approximate)


@zeros_stay
def silu(x: Any) -> tf.Tensor:
    """Returns the sigmoid linear unit `x * sigmoid(x)`; `swish` is the same function.

    Args:
        x: a tensor of any shape, of a float or complex dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Elfwing et al., "Sigmoid-weighted linear units", 2017.

    Example:
        >>> ops.silu([-1.0, 0.0, 2.0]).numpy().round(4)
        array([-0.2689,  0.    ,  1.7616], dtype=float32)
    """
    return tf.nn.silu(as_tensor(x))


swish = silu


@symbolic_op
def glu(x: Any, axis: int = -1) -> tf.Tensor:
    """Returns the gated linear unit: one half of the channels times the sigmoid of the other half.

    Args:
        x: a tensor of a float or complex dtype.
        axis: axis that is cut into halves; the second half is the gate. Default: `-1`.

    Returns:
        A tensor of the dtype of `x` with half its size along `axis`.

    Raises:
        ValueError: when the size of the axis is odd.

    Reference:
        Dauphin et al., "Language modeling with gated convolutional networks", 2017.

    Example:
        >>> ops.glu([1.0, 2.0, 0.0, 100.0]).numpy().tolist()
        [0.5, 2.0]
    """
    x = as_tensor(x)
    if x.shape[axis] is not None and x.shape[axis] % 2:
        raise ValueError(
            f"The axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    value, gate = tf.split(x, 2, axis)
    return value * tf.sigmoid(gate)


@made_dense
def squareplus(x: Any, b: float = 4) -> tf.Tensor:
    """Returns `(x + sqrt(x**2 + b)) / 2`, a smooth form of `max(x, 0)` without exponentials.

    Args:
        x: a tensor of any shape, of a float or complex dtype.
        b: how smooth the bend at 0 is; 0 gives `relu`. Default: `4`.

    Returns:
        A dense tensor of the shape and dtype of `x`.

    Reference:
        Barron, "Squareplus: a softplus-like algebraic rectifier", 2021.

    Example:
        >>> ops.squareplus([-2.0, 0.0, 2.0]).numpy().round(4)
        array([0.4142, 1.    , 2.4142], dtype=float32)
    """
    x = as_tensor(x)
    if x.dtype.is_complex:
        return (x + tf.sqrt(tf.square(x) + to_dtype(b, x.dtype))) / 2
    # Below 0 it is `b / (root - x) / 2`, without the difference of two almost equal numbers.
    size = tf.where(x >= 0, x, -x)
    above = size / 2 + hypot(size, to_dtype(b**0.5, x.dtype)) / 2
    return tf.where(x >= 0, above, b / 4 / tf.where(above == 0, tf.ones_like(above), above))


@made_dense
def hard_sigmoid(x: Any) -> tf.Tensor:
    """Returns `min(max(x + 3, 0), 6) / 6`, a sigmoid made of three straight lines.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`, with values in [0, 1].

    Example:
        >>> ops.hard_sigmoid([-4.0, -1.5, 0.0, 5.0]).numpy().tolist()
        [0.0, 0.25, 0.5, 1.0]
    """
    x = as_tensor(x)
    return apart.relu6(x + 3.0) / 6.0


@zeros_stay
def hard_silu(x: Any) -> tf.Tensor:
    """Returns `x * hard_sigmoid(x)`, a `silu` without exponentials.

    `hard_swish` is the same function.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Reference:
        Howard et al., "Searching for MobileNetV3", 2019.

    Example:
        >>> ops.hard_silu([-4.0, -1.5, 0.0, 5.0]).numpy().tolist()
        [-0.0, -0.375, 0.0, 5.0]
    """
    x = as_tensor(x)
    return x * (apart.relu6(x + 3.0) / 6.0)


hard_swish = hard_silu


@zeros_stay
def hard_tanh(x: Any) -> tf.Tensor:
    """Returns `min(max(x, -1), 1)`, a `tanh` made of three straight lines.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.hard_tanh([-4.0, -0.5, 0.0, 2.0]).numpy().tolist()
        [-1.0, -0.5, 0.0, 1.0]
    """
    return tf.clip_by_value(as_tensor(x), -1.0, 1.0)


@zeros_stay
def hard_shrink(x: Any, threshold: float = 0.5) -> tf.Tensor:
    """Returns `x` where its absolute value is above a threshold, and 0 elsewhere.

    Args:
        x: a tensor of any shape, of a float or complex dtype.
        threshold: absolute value up to which the result is 0. Default: `0.5`.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.hard_shrink([-2.0, -0.5, 0.3, 1.0]).numpy().tolist()
        [-2.0, 0.0, 0.0, 1.0]
    """
    x = as_tensor(x)
    return tf.where(tf.abs(x) <= threshold, tf.zeros_like(x), x)


@zeros_stay
def soft_shrink(x: Any, threshold: float = 0.5) -> tf.Tensor:
    """Returns `x` moved towards 0 by a threshold, and 0 where it would pass 0.

    It is `sign(x) * max(abs(x) - threshold, 0)`.

    Args:
        x: a tensor of any shape, of a real float dtype.
        threshold: distance by which to move, from 0 on. Default: `0.5`.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.soft_shrink([-2.0, -0.5, 0.25, 1.0]).numpy().tolist()
        [-1.5, 0.0, 0.0, 0.5]
    """
    x = as_tensor(x)
    return tf.where(
        x > threshold, x - threshold, tf.where(x >= -threshold, tf.zeros_like(x), x + threshold)
    )


@zeros_stay
def tanh_shrink(x: Any) -> tf.Tensor:
    """Returns `x - tanh(x)`: nearly 0 around 0, and `x` less 1 for large `x`.

    Args:
        x: a tensor of any shape, of a float or complex dtype.

    Returns:
        A tensor of the shape and dtype of `x`; a `tf.SparseTensor` stays sparse.

    Example:
        >>> ops.tanh_shrink([-1.0, 0.0, 3.0]).numpy().round(4)
        array([-0.2384,  0.    ,  2.0049], dtype=float32)
    """
    x = as_tensor(x)
    return x - tf.tanh(x)


@made_dense
def threshold(x: Any, threshold: float, default_value: float) -> tf.Tensor:
    """Returns `x` where it is above a threshold, and a default value elsewhere.

    Args:
        x: a real tensor of any shape (no bools).
        threshold: value that `x` must exceed.
        default_value: value of the result elsewhere; cast to the dtype of `x`.

    Returns:
        A dense tensor of the shape and dtype of `x`.

    Example:
        >>> ops.threshold([-1.0, 0.5, 2.0], 0.5, -7.0).numpy().tolist()
        [-7.0, -7.0, 2.0]
    """
    x = as_tensor(x)
    return tf.where(x <= threshold, to_dtype(default_value, x.dtype), x)


@made_dense
def sparse_plus(x: Any) -> tf.Tensor:
    """Returns 0 for `x <= -1`, `x` for `x >= 1`, and `(x + 1)**2 / 4` between them.

    It is a smooth form of `max(x, 0)` that is exactly 0 for inputs below -1; its slope is
    `sparse_sigmoid`.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`.

    Example:
        >>> ops.sparse_plus([-2.0, 0.0, 1.0, 3.0]).numpy().tolist()
        [0.0, 0.25, 1.0, 3.0]
    """
    x = as_tensor(x)
    # Squares of large numbers are infinite, and their slopes times 0 would be NaN.
    between = 0.25 * tf.square(tf.clip_by_value(x, -1.0, 1.0) + 1)
    return tf.where(x <= -1, tf.zeros_like(x), tf.where(x < 1, between, x))


@made_dense
def sparse_sigmoid(x: Any) -> tf.Tensor:
    """Returns 0 for `x <= -1`, 1 for `x >= 1`, and `(x + 1) / 2` between them.

    Args:
        x: a tensor of any shape, of a real float dtype.

    Returns:
        A dense tensor of the shape and dtype of `x`, with values in [0, 1].

    Example:
        >>> ops.sparse_sigmoid([-2.0, 0.0, 0.5, 3.0]).numpy().tolist()
        [0.0, 0.5, 0.75, 1.0]
    """
    x = as_tensor(x)
    return tf.where(x <= -1, tf.zeros_like(x), tf.where(x >= 1, tf.ones_like(x), 0.5 * (x + 1)))


@symbolic_op
def sparsemax(x: Any, axis: int = -1) -> tf.Tensor:
    """Returns the probabilities along an axis that are nearest to `x`; many of them are exactly 0.

    It is `max(x - t, 0)` with the `t` for which the sum is 1. Unlike `softmax` it returns exactly
    0 for small elements.

    Args:
        x: a tensor of any shape, of a real float dtype.
        axis: axis along which probabilities sum to 1. Default: `-1`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Reference:
        Martins & Astudillo, "From softmax to sparsemax", 2016.

    Example:
        >>> ops.sparsemax([1.0, 0.5, -1.0]).numpy().tolist()
        [0.75, 0.25, 0.0]
    """
    x = as_tensor(x)
    # A row with NaN or infinity is NaN, wherever they are sorted to.
    z = x + 0 * tf.reduce_max(x, axis, keepdims=True)
    # Martins and Astudillo (2016), algorithm 1: the support are the largest k entries for which 1
    # + k z_k > sum of the first k.
    z_sorted = tf.sort(z, axis, "DESCENDING")
    z_sum = tf.cumsum(z_sorted, axis)
    places = [1] * z.shape.rank
    places[axis] = -1
    k = tf.reshape(tf.range(1, tf.shape(z)[axis] + 1), places)
    support = z_sorted - (z_sum - 1) / tf.cast(k, z.dtype) > 0
    size = tf.reduce_sum(tf.cast(support, z.dtype), axis, keepdims=True)
    threshold = (tf.reduce_sum(tf.where(support, z_sorted, 0), axis, keepdims=True) - 1) / size
    return tf.maximum(z - threshold, 0)
