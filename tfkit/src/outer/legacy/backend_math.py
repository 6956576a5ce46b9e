"""Functions of `tf.keras.backend` that compute: elementwise, over axes, products, comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings

Axis = int | Sequence[int] | None


def _numbers(x: Any) -> tf.Tensor:
    """Returns a tensor, of the float dtype if `x` has truth values."""
    x = tf.convert_to_tensor(x)
    return tf.cast(x, settings.floatx()) if x.dtype == tf.bool else x


def abs(x: Any) -> tf.Tensor:
    """Returns `|x|`."""
    return tf.abs(x)


def all(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns whether all entries along `axis` are nonzero; `None` for all axes."""
    return tf.reduce_all(tf.cast(x, tf.bool), axis, keepdims)


def any(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns whether one of the entries along `axis` is nonzero; `None` for all axes."""
    return tf.reduce_any(tf.cast(x, tf.bool), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> tf.Tensor:
    """Returns the index of the largest entry along an axis, as int64."""
    return tf.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> tf.Tensor:
    """Returns the index of the smallest entry along an axis, as int64."""
    return tf.argmin(x, axis)


def batch_dot(x: Any, y: Any, axes: int | Sequence[int] | None = None) -> tf.Tensor:
    """Returns the products of the entries of two batches, summed over one axis of each.

    Args:
        x: a tensor of shape `(batch, ...)`.
        y: a tensor of shape `(batch, ...)`.
        axes: the axis of `x` and the axis of `y`, or one for both; neither is the batch. `None` for the
            last of `x`,
            and the second-to-last of `y`, or the last of a matrix.

    Returns:
        A tensor whose shape has the other axes of `x`, then those of `y` without the batch;
        `(batch, 1)` if none is left.

    Raises:
        ValueError: when `axes` names the batch, or more than one axis for each.
    """
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    rank_x, rank_y = len(x.shape), len(y.shape)
    if rank_x < 2 or rank_y < 2:
        raise ValueError(
            f"`x` and `y` must have a batch and more. Received: shapes {x.shape}, {y.shape}"
        )
    if axes is None:
        # As in a product of matrices: the last axis of x, the last but one of y.
        pair = [rank_x - 1, rank_y - 2 if rank_y > 2 else 1]
    else:
        pair = [axes, axes] if isinstance(axes, int) else list(axes)
    if len(pair) != 2 or not (-rank_x < pair[0] < rank_x and -rank_y < pair[1] < rank_y):
        raise ValueError(f"`axes` must have one axis of `x` and one of `y`. Received: axes={axes}")
    if 0 in pair:
        raise ValueError(f"`axes` must not name the batch, axis 0. Received: axes={axes}")
    # A letter for each axis: "b" is the batch, "a" the axis of each that is summed.
    of_x = ["b", *(f"{chr(ord('c') + i)}" for i in range(rank_x - 1))]
    of_y = ["b", *(f"{chr(ord('C') + i)}" for i in range(rank_y - 1))]
    of_x[pair[0]] = of_y[pair[1]] = "a"
    left = [letter for letter in (*of_x, *of_y[1:]) if letter != "a"]
    product = tf.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(left)}", x, y)
    # Products of vectors are numbers, for which an axis of size 1 is kept: (batch, 1).
    return product if len(left) > 1 else tf.expand_dims(product, 1)


def clip(x: Any, min_value: Any, max_value: Any) -> tf.Tensor:
    """Returns `x` limited to the range from `min_value` to `max_value`; `None` for no limit.

    An upper limit below the lower one is raised to it.
    """
    x = tf.convert_to_tensor(x)
    if isinstance(min_value, (int, float)) and isinstance(max_value, (int, float)):
        max_value = max_value if max_value >= min_value else min_value
    low = x.dtype.min if min_value is None else tf.cast(min_value, x.dtype)
    high = x.dtype.max if max_value is None else tf.cast(max_value, x.dtype)
    return tf.clip_by_value(x, low, high)


def cos(x: Any) -> tf.Tensor:
    """Returns the cosine of `x`, in radians."""
    return tf.cos(x)


def cumprod(x: Any, axis: int = 0) -> tf.Tensor:
    """Returns the product of the entries up to each one along an axis."""
    return tf.math.cumprod(x, axis)


def cumsum(x: Any, axis: int = 0) -> tf.Tensor:
    """Returns the sum of the entries up to each one along an axis."""
    return tf.cumsum(x, axis)


def dot(x: Any, y: Any) -> tf.Tensor:
    """Returns the product over the last axis of `x` and the second-to-last of `y`, or its only one."""
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    last_but_one = len(y.shape) - 2 if len(y.shape) > 1 else 0
    return tf.tensordot(x, y, [[len(x.shape) - 1], [last_but_one]])


def elu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """Returns `x` where it is positive, `alpha (e^x - 1)` elsewhere."""
    x = tf.nn.elu(x)
    # Where `x` was negative it is e^x - 1 now, which is still negative.
    return x if alpha == 1 else tf.where(x > 0, x, alpha * x)


def equal(x: Any, y: Any) -> tf.Tensor:
    """Returns `x == y`."""
    return tf.equal(x, y)


def exp(x: Any) -> tf.Tensor:
    """Returns `e^x`."""
    return tf.exp(x)


def greater(x: Any, y: Any) -> tf.Tensor:
    """Returns `x > y`."""
    return tf.greater(x, y)


def greater_equal(x: Any, y: Any) -> tf.Tensor:
    """Returns `x >= y`."""
    return tf.greater_equal(x, y)


def hard_sigmoid(x: Any) -> tf.Tensor:
    """Returns `0.2 x + 0.5`, limited to the range from 0 to 1.

    It is not the hard sigmoid of Keras 3, whose slope is 1/6.
    """
    return tf.clip_by_value(0.2 * tf.convert_to_tensor(x) + 0.5, 0.0, 1.0)


def l2_normalize(x: Any, axis: Axis = None) -> tf.Tensor:
    """Returns `x` divided by its Euclidean norm along `axis`; `None` for the norm of all entries."""
    return tf.math.l2_normalize(x, axis)


def less(x: Any, y: Any) -> tf.Tensor:
    """Returns `x < y`."""
    return tf.less(x, y)


def less_equal(x: Any, y: Any) -> tf.Tensor:
    """Returns `x <= y`."""
    return tf.less_equal(x, y)


def log(x: Any) -> tf.Tensor:
    """Returns the natural logarithm of `x`."""
    return tf.math.log(x)


def max(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the largest entries along `axis`; `None` for the largest of all."""
    return tf.reduce_max(x, axis, keepdims)


def maximum(x: Any, y: Any) -> tf.Tensor:
    """Returns the larger of `x` and `y`, entry by entry."""
    return tf.maximum(x, y)


def mean(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the means along `axis`, `None` for the mean of all; means of integers are rounded down."""
    return tf.reduce_mean(_numbers(x), axis, keepdims)


def min(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the smallest entries along `axis`; `None` for the smallest of all."""
    return tf.reduce_min(x, axis, keepdims)


def minimum(x: Any, y: Any) -> tf.Tensor:
    """Returns the smaller of `x` and `y`, entry by entry."""
    return tf.minimum(x, y)


def not_equal(x: Any, y: Any) -> tf.Tensor:
    """Returns `x != y`."""
    return tf.not_equal(x, y)


def pow(x: Any, a: Any) -> tf.Tensor:
    """Returns `x^a`."""
    return tf.pow(x, a)


def prod(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the products along `axis`; `None` for the product of all entries."""
    return tf.reduce_prod(x, axis, keepdims)


def relu(
    x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> tf.Tensor:
    """Returns `x` from `threshold` on, at most `max_value`, and `alpha (x - threshold)` below."""
    x = tf.convert_to_tensor(x)
    positive = tf.where(x > threshold, x, tf.zeros_like(x))
    if max_value is not None:
        positive = tf.minimum(positive, tf.cast(max_value, x.dtype))
    return positive - alpha * tf.nn.relu(threshold - x) if alpha else positive


def round(x: Any) -> tf.Tensor:
    """Returns the nearest whole numbers; of two equally near ones, the even one."""
    return tf.round(x)


def sigmoid(x: Any) -> tf.Tensor:
    """Returns `1 / (1 + e^-x)`."""
    return tf.sigmoid(x)


def sign(x: Any) -> tf.Tensor:
    """Returns -1, 0 or 1."""
    return tf.sign(x)


def sin(x: Any) -> tf.Tensor:
    """Returns the sine of `x`, in radians."""
    return tf.sin(x)


def softmax(x: Any, axis: int = -1) -> tf.Tensor:
    """Returns `e^x` divided by its sum along an axis."""
    return tf.nn.softmax(x, axis)


def softplus(x: Any) -> tf.Tensor:
    """Returns `log(1 + e^x)`."""
    return tf.nn.softplus(x)


def softsign(x: Any) -> tf.Tensor:
    """Returns `x / (1 + |x|)`."""
    return tf.nn.softsign(x)


def sqrt(x: Any) -> tf.Tensor:
    """Returns the square root of `x`, 0 for negative entries."""
    return tf.sqrt(tf.maximum(x, tf.zeros((), tf.convert_to_tensor(x).dtype)))


def square(x: Any) -> tf.Tensor:
    """Returns `x^2`."""
    return tf.square(x)


def std(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the standard deviations along `axis`; `None` for the deviation of all entries."""
    return tf.math.reduce_std(_numbers(x), axis, keepdims)


def sum(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the sums along `axis`; `None` for the sum of all entries."""
    return tf.reduce_sum(x, axis, keepdims)


def tanh(x: Any) -> tf.Tensor:
    """Returns the hyperbolic tangent of `x`."""
    return tf.tanh(x)


def var(x: Any, axis: Axis = None, keepdims: bool = False) -> tf.Tensor:
    """Returns the variances along `axis`; `None` for the variance of all entries."""
    return tf.math.reduce_variance(_numbers(x), axis, keepdims)
