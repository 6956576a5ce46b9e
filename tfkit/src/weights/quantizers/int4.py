"""Two 4-bit integers in each byte."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened

_DTYPES = ("int8", "uint8")


@shortened
def pack_int4(
    arr: Any, axis: int = 0, dtype: str = "int8"
) -> tuple[tf.Tensor, tuple[int, ...], int]:
    """Returns 4-bit integers, two in each byte, the shape of the bytes, and the size along the axis.

    Of two neighbours along the axis, the first is in the lower bits. A missing last neighbour is 0.

    Args:
        arr: integers from -8 to 7 (`uint8`: from 0 to 15), of dtype `dtype`.
        axis: the axis along which neighbours are joined. Default: `0`.
        dtype: `"int8"` or `"uint8"`. Default: `"int8"`.

    Returns:
        The bytes, their shape, and the size of `arr` along `axis`.

    Raises:
        ValueError: for any other `dtype`.
        TypeError: if `arr` has a different dtype.

    Example:
        >>> packed, shape, size = pack_int4(tf.constant([[-3], [2], [1]], "int8"))
        >>> packed.numpy().tolist(), shape, size
        ([[45], [1]], (2, 1), 3)
    """
    x = _checked(arr, dtype, "packing")
    axis %= x.shape.rank
    size = x.shape[axis]
    # An odd size gets one value more, which `unpack_int4` removes by `orig_len`.
    paddings = [[0, size % 2 if each == axis else 0] for each in range(x.shape.rank)]
    # As unsigned bytes, whose bits can be combined without regard to signs.
    pairs = _by_last_axis(tf.bitcast(tf.pad(x, paddings), tf.uint8), axis)
    low, high = pairs[..., 0::2], pairs[..., 1::2]
    packed = tf.bitwise.bitwise_or(tf.bitwise.bitwise_and(low, 15), tf.bitwise.left_shift(high, 4))
    packed = tf.bitcast(_from_last_axis(packed, axis), dtype)
    return packed, tuple(packed.shape), size


@shortened
def unpack_int4(packed: Any, orig_len: int, axis: int = 0, dtype: str = "int8") -> tf.Tensor:
    """Returns the integers that `pack_int4` has packed: its inverse.

    Args:
        packed: bytes of dtype `dtype`.
        orig_len: size of the result along the axis.
        axis: the axis along which neighbours were joined. Default: `0`.
        dtype: `"int8"` for integers from -8 to 7, `"uint8"` for those from 0 to 15. Default: `"int8"`.

    Returns:
        Integers of dtype `dtype`.

    Raises:
        ValueError: for any other `dtype`.
        TypeError: if `packed` has a different dtype.

    Example:
        >>> unpack_int4(tf.constant([[45], [1]], "int8"), 3).numpy().tolist()
        [[-3], [2], [1]]
    """
    x = _checked(packed, dtype, "unpacking")
    axis %= x.shape.rank
    byte = _by_last_axis(x, axis)
    # A shift of signed bytes to the right keeps the sign.
    low = tf.bitwise.right_shift(tf.bitwise.left_shift(byte, 4), 4)
    pairs = tf.stack([low, tf.bitwise.right_shift(byte, 4)], -1)
    joined = tf.reshape(pairs, tf.concat([tf.shape(byte)[:-1], [2 * byte.shape[-1]]], 0))
    return _from_last_axis(joined[..., :orig_len], axis)


def _checked(values: Any, dtype: str, doing: str) -> tf.Tensor:
    if dtype not in _DTYPES:
        raise ValueError(f"Expected dtype to be 'int8' or 'uint8'. Received: dtype={dtype!r}")
    x = tf.convert_to_tensor(values)
    if x.dtype != dtype:
        raise TypeError(
            f"Expected a tensor of dtype {dtype} for {doing}. Received: a tensor of dtype {x.dtype.name}"
        )
    return x


def _by_last_axis(x: tf.Tensor, axis: int) -> tf.Tensor:
    order = [each for each in range(x.shape.rank) if each != axis]
    return x if axis == x.shape.rank - 1 else tf.transpose(x, [*order, axis])


def _from_last_axis(x: tf.Tensor, axis: int) -> tf.Tensor:
    order = list(range(x.shape.rank - 1))
    order.insert(axis, x.shape.rank - 1)
    return x if axis == x.shape.rank - 1 else tf.transpose(x, order)
