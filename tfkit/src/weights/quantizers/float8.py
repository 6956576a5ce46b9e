"""8-bit floats with a scale that follows the largest recent values (Micikevicius et al., 2022)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.dtypes import standardize_dtype

# The largest values of the dtypes.
LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def compute_float8_scale(amax: Any, scale: Any, dtype_max: Any, margin: int = 0) -> tf.Tensor:
    """Returns the scale `amax / dtype_max * 2 ** margin`, or the old one if `amax` is 0 or not finite.

    Args:
        amax: the largest absolute value that is expected.
        scale: the old scale.
        dtype_max: the largest number of the dtype, such as 448 for `float8_e4m3fn`.
        margin: powers of two that are left free above `amax`. Default: `0`.

    Returns:
        A tensor of the shape and dtype of `scale`.

    Example:
        >>> compute_float8_scale(224.0, 1.0, 448.0).numpy()
        np.float32(0.5)
    """
    scale = tf.convert_to_tensor(scale)
    amax = tf.cast(amax, scale.dtype)
    new = amax / tf.cast(dtype_max, scale.dtype) * 2.0**margin
    return tf.where((amax > 0) & tf.math.is_finite(amax), new, scale)


def compute_float8_amax_history(x: Any, amax_history: Any) -> tf.Tensor:
    """Returns a history of largest absolute values that starts with the value of `x` and lacks the oldest.

    Args:
        x: a tensor.
        amax_history: the earlier values, the latest of which come first from the second on.

    Returns:
        A tensor of the shape and dtype of `amax_history`.

    Example:
        >>> compute_float8_amax_history(
        ...     tf.constant([-7.0, 2.0]), tf.constant([1.0, 2.0, 3.0])
        ... ).numpy()
        array([7., 3., 1.], dtype=float32)
    """
    history = tf.convert_to_tensor(amax_history)
    largest = tf.cast(tf.reduce_max(tf.abs(x)), history.dtype)
    # As in Transformer Engine: the roll moves the oldest to the front, where the newest replaces
    # it.
    return tf.concat([largest[None], tf.roll(history, -1, 0)[1:]], 0)


@shortened
def quantize_and_dequantize(
    inputs: Any, scale: Any, quantized_dtype: Any, compute_dtype: Any
) -> tf.Tensor:
    """Returns `inputs` rounded to what `quantized_dtype` can hold, times `scale`.

    Args:
        inputs: floats.
        scale: a number that the inputs are divided by before they are rounded.
        quantized_dtype: `"float8_e4m3fn"` or `"float8_e5m2"`.
        compute_dtype: dtype of the result.

    Returns:
        A tensor of the inputs' shape.

    Raises:
        ValueError: for any other dtype.

    Example:
        >>> quantize_and_dequantize(
        ...     tf.constant([1.0, 1.03, 500.0]), 1.0, "float8_e4m3fn", "float32"
        ... ).numpy()
        array([  1.,   1., 448.], dtype=float32)
    """
    name = tf.as_dtype(quantized_dtype).name
    if name not in LARGEST:
        raise ValueError(
            f"`quantized_dtype` must be one of {sorted(LARGEST)}. Received: {quantized_dtype!r}"
        )
    dtype = standardize_dtype(compute_dtype)
    scale, largest = tf.cast(scale, dtype), tf.cast(LARGEST[name], dtype)
    # A cast of a value beyond the largest one would give NaN.
    x = tf.clip_by_value(tf.cast(inputs, dtype) / scale, -largest, largest)
    return tf.cast(tf.cast(x, name), dtype) * scale
