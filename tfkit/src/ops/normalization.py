"""Normalization of activations, and the moments that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.ops.checks import as_axes, positive_axes
from tfkit.src.ops.linalg import vector_norm
from tfkit.src.ops.promotion import as_tensor, to_dtype, to_float, to_float32
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def moments(
    x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the mean and the variance over axes.

    For float16 and bfloat16 they are computed in float32.

    Args:
        x: a tensor of any shape, of a float dtype.
        axes: axis or axes to reduce.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.
        synchronized: whether to count the elements of all replicas of `tf.distribute`, and not of
            this one alone. Default: `False`.

    Returns:
        A pair of tensors of the dtype of `x`, without the axes `axes`. The variance is divided by
        the number of elements.

    Example:
        >>> mean, variance = ops.moments(tf.constant([[1.0, 3.0], [5.0, 7.0]]), axes=[0])
        >>> mean.numpy().tolist(), variance.numpy().tolist()
        ([3.0, 5.0], [4.0, 4.0])
    """
    x = as_tensor(x)
    dtype = x.dtype
    half = dtype in (tf.float16, tf.bfloat16)
    wide = tf.cast(x, tf.float32) if half else x
    replica = tf.distribute.get_replica_context() if synchronized else None
    if replica is None:
        mean, variance = tf.nn.moments(wide, axes, keepdims=keepdims)
    else:
        mean, variance = _moments_of_all_replicas(replica, wide, axes, keepdims)
    if half:
        # For bfloat16 as well, as in Keras.
        low, high = tf.float16.min, tf.float16.max
        mean, variance = (
            tf.cast(tf.clip_by_value(value, low, high), dtype) for value in (mean, variance)
        )
    return mean, variance


def _moments_of_all_replicas(replica: Any, x: Any, axes: Any, keepdims: bool) -> Any:
    sums = (
        tf.reduce_sum(tf.ones_like(x), axes, keepdims),
        tf.reduce_sum(x, axes, keepdims),
        tf.reduce_sum(tf.square(x), axes, keepdims),
    )
    count, total, square = replica.all_reduce(tf.distribute.ReduceOp.SUM, list(sums))
    mean = tf.math.divide_no_nan(total, count)
    # Sums of squares can be added over replicas in one exchange; rounding may make the result
    # negative.
    variance = tf.math.divide_no_nan(square, count) - tf.square(mean)
    return mean, tf.maximum(variance, 0)


@symbolic_op
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    axis: int,
    offset: Any = None,
    scale: Any = None,
    epsilon: float = 1e-3,
) -> tf.Tensor:
    """Returns `(x - mean) / sqrt(variance + epsilon) * scale + offset`, channel by channel.

    It computes no moments: `moments` computes the moments of the batch.

    Args:
        x: a tensor of a float dtype.
        mean: a vector of the size of `axis`.
        variance: a vector of the size of `axis`.
        axis: axis of the channels.
        offset: a vector of the size of `axis`; `None` for 0.
        scale: a vector of the size of `axis`; `None` for 1.
        epsilon: number that keeps the division finite. Default: `0.001`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for a vector of a different size than `axis` of `x`.

    Reference:
        Ioffe & Szegedy, "Batch normalization", 2015.

    Example:
        >>> x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
        >>> mean, variance = ops.moments(x, axes=0)
        >>> ops.batch_normalization(x, mean, variance, axis=-1, epsilon=0.0).numpy().tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
    """
    x = as_tensor(x)
    (axis,) = positive_axes([axis], x.shape.rank)
    vectors: list[Any] = [mean, variance, offset, scale]
    for name, vector in zip(("mean", "variance", "offset", "scale"), vectors, strict=True):
        if vector is not None and not x.shape[axis : axis + 1].is_compatible_with(vector.shape):
            raise ValueError(
                f"`{name}` must be a vector of length x.shape[axis], {x.shape[axis]}. "
                f"Received: {name}.shape={vector.shape}, x.shape={x.shape}, axis={axis}"
            )
    if axis != x.shape.rank - 1:
        shape = [1] * x.shape.rank
        shape[axis] = -1
        vectors = [None if v is None else tf.reshape(v, shape) for v in vectors]
    return tf.nn.batch_normalization(x, *vectors, epsilon)


@symbolic_op
def layer_normalization(
    x: Any,
    gamma: Any = None,
    beta: Any = None,
    axis: int | Sequence[int] = -1,
    epsilon: float | None = None,
    **kwargs: Any,
) -> tf.Tensor:
    """Returns `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, with moments over `axis`.

    Moments are computed in float32 at least.

    Args:
        x: a tensor of a float dtype.
        gamma: scale, a tensor of the sizes of the normalized axes; `None` for 1.
        beta: offset, a tensor of the sizes of the normalized axes; `None` for 0.
        axis: axis or axes to normalize over. Default: `-1`.
        epsilon: number that keeps the division finite; `None` for `settings.epsilon()`.
        **kwargs: `rms_scaling=True`, which is deprecated, leaves out the mean and `beta`:
            `x / sqrt(variance + epsilon) * gamma`. Use `rms_normalization`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for any other keyword.

    Reference:
        Ba et al., "Layer normalization", 2016.

    Example:
        >>> ops.layer_normalization(tf.constant([[1.0, 3.0], [2.0, 6.0]])).numpy().round(4).tolist()
        [[-1.0, 1.0], [-1.0, 1.0]]
    """
    rms_scaling = kwargs.pop("rms_scaling", False)
    if kwargs:
        raise TypeError(f"`layer_normalization` got unexpected arguments. Received: {kwargs}")
    x = as_tensor(x)
    dtype, x = x.dtype, to_float32(x)
    axes = sorted(positive_axes(as_axes(axis), x.shape.rank))
    sizes = static_or_dynamic_shape(x)
    shape = [size if a in axes else 1 for a, size in enumerate(sizes)]

    def aligned(weight: Any) -> Any:
        weight = tf.cast(weight, x.dtype)
        if axes == [x.shape.rank - 1] or weight.shape.rank == x.shape.rank:
            return weight
        return tf.reshape(weight, shape)

    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    # Scale and offset are computed first: two operations on `x` instead of four.
    scale = tf.math.rsqrt(variance + (settings.epsilon() if epsilon is None else epsilon))
    if gamma is not None:
        scale *= aligned(gamma)
    if rms_scaling:
        warn(
            "You passed `rms_scaling=True`, which is deprecated: it divides by the standard deviation, "
            "not by the root of the mean square. Use `ops.rms_normalization`."
        )
        return tf.cast(x * scale, dtype)
    offset = -mean * scale
    if beta is not None:
        offset += aligned(beta)
    return tf.cast(x * scale + offset, dtype)


@symbolic_op
def rms_normalization(
    x: Any, scale: Any = None, axis: int | Sequence[int] | None = -1, epsilon: float | None = None
) -> tf.Tensor:
    """Returns `x / sqrt(mean(x**2) + epsilon) * scale`, with the mean over axes of `x`.

    It differs from `layer_normalization` in that no mean is subtracted; the mean of the squares is computed
    in float32 at least.

    Args:
        x: a tensor of a float dtype.
        scale: a tensor that broadcasts to the shape of `x`; `None` for 1.
        axis: axis or axes to normalize over; `None` for all. Default: `-1`.
        epsilon: number that keeps the division finite; `None` for `settings.epsilon()`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Reference:
        Zhang & Sennrich, "Root mean square layer normalization", 2019.

    Example:
        >>> ops.rms_normalization(tf.constant([[3.0, 4.0]])).numpy().round(4)
        array([[0.8485, 1.1314]], dtype=float32)
    """
    x = as_tensor(x)
    dtype, x = x.dtype, to_float32(x)
    epsilon = settings.epsilon() if epsilon is None else epsilon
    x = tf.reshape(x, [1]) if x.shape.rank == 0 else x
    axes = None if axis is None else as_axes(axis)
    outputs = x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axes, keepdims=True) + epsilon)
    return tf.cast(outputs if scale is None else outputs * tf.cast(scale, x.dtype), dtype)


@symbolic_op
def normalize(
    x: Any, axis: int | Sequence[int] | None = -1, order: int = 2, epsilon: float | None = None
) -> tf.Tensor:
    """Returns vectors divided by their norms: `x / max(norm(x), epsilon)`.

    Args:
        x: a tensor; integers become the default float dtype.
        axis: axis or axes of the vectors; `None` to take all elements as one vector.
            Default: `-1`.
        order: order of the norm, an integer from 1 on. Default: `2`.
        epsilon: smallest number to divide by; `None` for `settings.epsilon()`, in float16 2**-15 at
            least.

    Returns:
        A tensor of the shape and float dtype of `x`; zeros stay zeros, with the gradient of `x / epsilon`.
        Lengths are computed in float32 at least.

    Raises:
        ValueError: when `order` is not an integer from 1 on, and for an axis that `x` does not have.

    Example:
        >>> ops.normalize([[3.0, 4.0], [0.0, 2.0]]).numpy().round(4)
        array([[0.6, 0.8],
               [0. , 1. ]], dtype=float32)
        >>> ops.normalize([[3.0, 1.0]], order=1).numpy().tolist()
        [[0.75, 0.25]]
    """
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"Argument `order` must be an int >= 1. Received: order={order}")
    x = to_float(x)
    x = tf.reshape(x, [1]) if x.shape.rank == 0 else x
    if epsilon is None:
        # The slope at 0 is 1 / epsilon, which float16 must hold.
        epsilon = max(settings.epsilon(), 2.0**-15 if x.dtype == tf.float16 else 0.0)
    axes = range(x.shape.rank) if axis is None else as_axes(axis)
    wide = to_float32(x)
    length = vector_norm(wide, order, positive_axes(axes, x.shape.rank), keepdims=True)
    return tf.cast(wide / tf.maximum(length, to_dtype(epsilon, wide.dtype)), x.dtype)
