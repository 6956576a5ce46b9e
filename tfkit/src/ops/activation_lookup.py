"""Activation functions by name, for layers: `Dense(8, activation="relu")`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.tables import is_builtin, own_form, register_equals
from tfkit.src.engine import apart
from tfkit.src.ops.activations import celu as celu
from tfkit.src.ops.activations import elu as elu
from tfkit.src.ops.activations import gelu as _gelu
from tfkit.src.ops.activations import glu as glu
from tfkit.src.ops.activations import hard_shrink as hard_shrink
from tfkit.src.ops.activations import hard_sigmoid as hard_sigmoid
from tfkit.src.ops.activations import hard_silu as hard_silu
from tfkit.src.ops.activations import hard_tanh as hard_tanh
from tfkit.src.ops.activations import leaky_relu as leaky_relu
from tfkit.src.ops.activations import log_sigmoid as log_sigmoid
from tfkit.src.ops.activations import log_softmax as log_softmax
from tfkit.src.ops.activations import relu6 as relu6
from tfkit.src.ops.activations import selu as selu
from tfkit.src.ops.activations import sigmoid as sigmoid
from tfkit.src.ops.activations import silu as silu
from tfkit.src.ops.activations import soft_shrink as soft_shrink
from tfkit.src.ops.activations import softmax as softmax
from tfkit.src.ops.activations import softplus as softplus
from tfkit.src.ops.activations import softsign as softsign
from tfkit.src.ops.activations import sparse_plus as sparse_plus
from tfkit.src.ops.activations import sparse_sigmoid as sparse_sigmoid
from tfkit.src.ops.activations import sparsemax as sparsemax
from tfkit.src.ops.activations import squareplus as squareplus
from tfkit.src.ops.activations import tanh_shrink as tanh_shrink
from tfkit.src.ops.activations import threshold as threshold
from tfkit.src.ops.elementwise import tanh as tanh
from tfkit.src.ops.promotion import as_tensor, to_float
from tfkit.src.symbolic.tensors import symbolic_op

swish = silu
hard_swish = hard_silu


@symbolic_op
def linear(x: Any) -> Any:
    """Returns `x` unchanged.

    Args:
        x: a tensor of any shape.

    Returns:
        `x`.

    Example:
        >>> linear(tf.constant([-1.0, 2.0])).numpy().tolist()
        [-1.0, 2.0]
    """
    return x


@symbolic_op
def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> tf.Tensor:
    """Returns the rectifier `max(x, 0)`, with an optional slope, upper limit and threshold.

    It is `max_value` where `x >= max_value`, `x` where `threshold <= x < max_value`, and
    `negative_slope * (x - threshold)` below.

    Args:
        x: a tensor of any shape.
        negative_slope: slope below the threshold. Default: `0.0`.
        max_value: largest value of the result; `None` for no limit.
        threshold: smallest value of `x` that is returned unchanged. Default: `0.0`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Reference:
        Nair & Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.

    Example:
        >>> relu([-2.0, 1.0, 8.0], negative_slope=0.5, max_value=6.0).numpy().tolist()
        [-1.0, 1.0, 6.0]
    """
    x = as_tensor(x)
    if threshold == 0.0:
        if max_value is None:
            # The usual cases have their own kernels, which keep less for the gradient.
            return tf.nn.leaky_relu(x, negative_slope) if negative_slope else apart.relu(x)
        if max_value == 6.0 and not negative_slope:
            return apart.relu6(x)
    result = tf.where(x > threshold, x, tf.zeros_like(x))
    if max_value is not None:
        result = tf.clip_by_value(result, 0, tf.cast(max_value, x.dtype))
    if negative_slope:
        # Below the threshold the line passes through (threshold, 0), as in Keras.
        result -= negative_slope * apart.relu(threshold - x)
    return result


@symbolic_op
def gelu(x: Any, approximate: bool = False) -> tf.Tensor:
    """Returns `x` times the standard normal distribution function of `x`.

    Args:
        x: a tensor of any shape.
        approximate: whether to compute `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2`;
            unlike in `ops.gelu`, this is not the default. Default: `False`.

    Returns:
        A tensor of the shape of `x`.

    Reference:
        Hendrycks & Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> gelu(tf.constant([-1.0, 0.0, 1.0])).numpy().round(4)
        array([-0.1587,  0.    ,  0.8413], dtype=float32)
    """
    return _gelu(x, approximate)


@symbolic_op
def exponential(x: Any) -> tf.Tensor:
    """Returns e to the power of `x`.

    Args:
        x: a tensor of any shape; integers are cast to floats.

    Returns:
        A tensor of the shape of `x`.

    Example:
        >>> exponential(tf.constant([0.0, 1.0])).numpy().round(4)
        array([1.    , 2.7183], dtype=float32)
    """
    return tf.exp(to_float(x))


@symbolic_op
def mish(x: Any) -> tf.Tensor:
    """Returns `x * tanh(softplus(x))`.

    Args:
        x: a tensor of any shape.

    Returns:
        A tensor of the shape of `x`.

    Reference:
        Misra, "Mish: a self regularized non-monotonic activation function", 2019.

    Example:
        >>> mish(tf.constant([0.0, 1.0])).numpy().round(4)
        array([0.    , 0.8651], dtype=float32)
    """
    x = as_tensor(x)
    return x * tf.tanh(tf.math.softplus(x))


@shortened
def get(identifier: Any) -> Callable[..., Any]:
    """Returns the activation for an identifier.

    Args:
        identifier: a name, a configuration as `serialize` returns it, a callable, or `None` for
            `linear`.

    Returns:
        A function of a tensor.

    Raises:
        ValueError: for a name that is not known.

    Example:
        >>> get("relu") is relu, get(None) is linear
        (True, True)
    """
    return linear if identifier is None else serialization.resolve(identifier, "activations")


def serialize(activation: Callable[..., Any]) -> Any:
    """Returns the name of one of tfkit's activations, or a configuration of any other callable.

    Args:
        activation: a function, or a layer that is used as an activation.

    Returns:
        A string, or a dict that `deserialize` accepts.

    Raises:
        TypeError: for a lambda and for a callable without `get_config()`.

    Example:
        >>> serialize(relu)
        'relu'
    """
    # One of tfkit's own is a plain name in files, as Keras writes it.
    config = serialization.serialize_keras_object(activation)
    if inspect.isfunction(activation) and is_builtin(own_form(activation)):
        return config["config"]
    return config


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the activation for a name or a configuration: the inverse of `serialize`.

    Args:
        config: a string, or a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A function of a tensor, or a layer.

    Raises:
        ValueError: for a name that is not known.

    Example:
        >>> deserialize("relu") is relu
        True
    """
    if isinstance(config, str):
        return serialization.resolve(config, "activations", custom_objects)
    return serialization.deserialize_keras_object(config, custom_objects, kind="activations")


# `Dense(8, activation=tf.nn.relu)` can be saved, as in Keras: its file names `relu`.
register_equals(
    {
        tf.exp: exponential,
        tf.identity: linear,
        tf.nn.elu: elu,
        tf.nn.gelu: gelu,
        tf.nn.leaky_relu: leaky_relu,
        tf.nn.log_softmax: log_softmax,
        tf.nn.relu: relu,
        tf.nn.relu6: relu6,
        tf.nn.selu: selu,
        tf.nn.silu: silu,
        tf.nn.softmax: softmax,
        tf.nn.softplus: softplus,
        tf.nn.softsign: softsign,
        tf.nn.swish: silu,
        tf.sigmoid: sigmoid,
        tf.tanh: tanh,
    }
)
