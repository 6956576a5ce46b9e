"""Replaces operations that XLA computes unlike TensorFlow's kernels by formulas with the kernels' values.

A program must not give different values because XLA compiles it. In XLA

* gradients of roots and reciprocals are 0 * inf, which is NaN, where the kernels give 0 if they receive a
  gradient of 0, as in `where(d > 0, sqrt(d), 0)`: training would become NaN once it is long enough for XLA;
* the product of a mask that was cast to floats with NaN is 0 where the mask is false;
* the gradient of `selu` at 0 is wrong, and the gradient of `elu` for NaN is NaN;
* the variance of a batch is the difference of two means, of which little is right where the mean is large.

A flag keeps NaN in maxima and minima: `borrowed/xla_flags.py`. `tools/other_values.py` compares all
operations.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import attr_value_pb2, set_attribute, types_pb2
from tfkit.src.engine.function_defs import traced_apart

_FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)


def kernel_of(node: Any) -> Any:
    """Returns a `ConcreteFunction` with the values of a node's kernel; `None` where XLA has the same."""
    if node.op == "Cast" and node.attr["SrcT"].type == types_pb2.DT_BOOL:
        dtype = tf.as_dtype(node.attr["DstT"].type)
        return _traced_of_truths(dtype) if dtype in _FLOATS else None
    if node.op == "FusedBatchNormV3":
        moves = node.attr["exponential_avg_factor"].f != 1 or not node.attr["is_training"].b
        is_plain = (
            node.attr["data_format"].s == b"NHWC" and node.attr["T"].type == types_pb2.DT_FLOAT
        )
        return None if moves or not is_plain else _traced_of_moments(node.attr["epsilon"].f)
    if node.op not in _FORMULAS:
        return None
    dtype = tf.as_dtype(node.attr["T"].type)
    return _traced(_FORMULAS[node.op], dtype) if dtype in _FLOATS else None


def _zero_stays(slope: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
    """Returns the gradient of an operation from its output, 0 where the gradient that it receives is 0."""
    return lambda y, dy: tf.where(dy == 0, tf.zeros([], dy.dtype), slope(y, dy))


_of_reciprocal = _zero_stays(lambda y, dy: -dy * y * y)

# The scales of `selu`, of Klambauer et al., "Self-normalizing neural networks", 2017.
_SCALE = 1.0507009873554804934193349852946
_SCALE_ALPHA = 1.7580993408473768599402175208123

_FORMULAS: dict[str, Callable[..., tf.Tensor]] = {
    "EluGrad": lambda dy, y: tf.where(y < 0, dy * (y + 1), dy),
    "InvGrad": _of_reciprocal,
    "ReciprocalGrad": _of_reciprocal,
    "RsqrtGrad": _zero_stays(lambda y, dy: -0.5 * (dy * y) * (y * y)),
    "SeluGrad": lambda dy, y: tf.where(y < 0, dy * (y + _SCALE_ALPHA), dy * _SCALE),
    "SqrtGrad": _zero_stays(lambda y, dy: 0.5 * dy / y),
}


@functools.cache
def _traced(formula: Callable[..., tf.Tensor], dtype: tf.DType) -> Any:
    return traced_apart(formula, *[tf.TensorSpec(None, dtype)] * 2)


@functools.cache
def _traced_of_truths(dtype: tf.DType) -> Any:
    # XLA turns a product with such a cast into a choice, which is 0 for `False` and NaN. It leaves a product
    # with this choice between 1 and 0 as it is.
    one, zero = dtype.as_numpy_dtype(1), dtype.as_numpy_dtype(0)
    return traced_apart(lambda truths: tf.where(truths, one, zero), tf.TensorSpec(None, tf.bool))


@functools.cache
def _traced_of_moments(epsilon: float) -> Any:
    def normalized(images: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, *_: tf.Tensor) -> Any:
        mean, variance = tf.nn.moments(images, [0, 1, 2])
        outputs = tf.nn.batch_normalization(images, mean, variance, offset, scale, epsilon)
        count = tf.cast(tf.size(images) // tf.size(mean), tf.float32)
        unbiased = variance * (count / tf.maximum(count - 1, 1))
        # The gradient receives the biased variance.
        return outputs, mean, unbiased, mean, variance, tf.zeros([0])

    return traced_apart(normalized, tf.TensorSpec([None] * 4), *[tf.TensorSpec([None])] * 4)


# --- Gradients of compiled calls ------------------------------------------------------------------------


def keep_zeros_in_gradients(graph: tf.Graph) -> None:
    """Gives roots and reciprocals of a graph gradients that keep a zero in XLA.

    For a call that a tape records, TensorFlow itself makes the function of the gradients, which XLA compiles
    without the replacements above.
    """
    for operation in graph.get_operations():
        if operation.type in _SLOPES and operation.outputs[0].dtype in _FLOATS:
            set_attribute(operation, "_gradient_op_type", attr_value_pb2.AttrValue(s=_GRADIENT))


def _zero_from_zero(operation: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
    y = operation.outputs[0]
    # Only y is chosen, not one of two results: the second derivative stays the kernel's where it is finite.
    is_lost = (dy == 0) & ((y == 0) | ~tf.math.is_finite(y))
    return _SLOPES[operation.type](y=tf.where(is_lost, tf.ones([], y.dtype), y), dy=dy)


_GRADIENT = b"TfkitZeroStays"
# TensorFlow has the name already if tfkit is imported a second time in a process.
with contextlib.suppress(KeyError):
    tf.RegisterGradient(_GRADIENT.decode())(_zero_from_zero)
_SLOPES = {
    "Inv": tf.raw_ops.ReciprocalGrad,
    "Reciprocal": tf.raw_ops.ReciprocalGrad,
    "Rsqrt": tf.raw_ops.RsqrtGrad,
    "Sqrt": tf.raw_ops.SqrtGrad,
}
