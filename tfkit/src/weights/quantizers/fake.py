"""Floats rounded to the steps of an integer, for training that takes the rounding into account."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.symbolic.tensors import symbolic_op


@symbolic_op
def fake_quant_with_min_max_vars(
    inputs: Any,
    min_vals: Any,
    max_vals: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    axis: int | None = None,
) -> tf.Tensor:
    """Returns `inputs` rounded to the nearest of `2 ** num_bits` steps from `min_vals` to `max_vals`.

    The range is shifted a little, so that 0 is a step. Gradients pass where the inputs are in the range; at
    its ends they go to `min_vals` and `max_vals`, which can therefore be trained.

    Args:
        inputs: floats.
        min_vals: the lower end of the range, one number; with `axis`, one for each entry along it, or one
            for all.
        max_vals: the upper end.
        num_bits: number of bits, from 2 to 16. Default: `8`.
        narrow_range: whether to have one step less, as many below 0 as above it. Default: `False`.
        axis: the axis along which each entry has its own range; `None` for one range.

    Returns:
        A tensor of the inputs' shape and dtype.

    Raises:
        ValueError: for a different number of bits.

    Reference:
        Jacob et al., "Quantization and training of neural networks for efficient integer-arithmetic-only
        inference", 2018.

    Example:
        >>> fake_quant_with_min_max_vars(
        ...     tf.constant([-2.0, 0.4, 1.0]), 0.0, 3.0, num_bits=2
        ... ).numpy()
        array([0., 0., 1.], dtype=float32)
    """
    if not 2 <= num_bits <= 16:
        raise ValueError(f"`num_bits` must be from 2 to 16. Received: num_bits={num_bits}")
    inputs = tf.convert_to_tensor(inputs)
    # TensorFlow's kernels exist only for float32.
    x, low, high = (tf.cast(value, tf.float32) for value in (inputs, min_vals, max_vals))
    options = {"num_bits": num_bits, "narrow_range": narrow_range}
    if axis is None:
        low, high = tf.reshape(low, ()), tf.reshape(high, ())
        outputs = tf.quantization.fake_quant_with_min_max_vars(x, low, high, **options)
        return tf.cast(outputs, inputs.dtype)
    rank = x.shape.rank
    axis %= rank
    order = [*(each for each in range(rank) if each != axis), axis]
    # The kernel expects channels last.
    x = tf.transpose(x, order)
    channels = tf.shape(x)[-1:]
    low, high = tf.broadcast_to(low, channels), tf.broadcast_to(high, channels)
    outputs = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high, **options)
    back = [order.index(each) for each in range(rank)]
    return tf.cast(tf.transpose(outputs, back), inputs.dtype)
