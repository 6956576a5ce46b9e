"""Finds initializers by name or configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.base.registry.tables import register_equals
from tfkit.src.weights.initializers.constant import Constant, Ones, Zeros
from tfkit.src.weights.initializers.random import RandomNormal, RandomUniform

# `Conv2D(..., kernel_initializer=tf.random_normal_initializer(0.0, 0.02))` can be saved, as in Keras.
register_equals(
    {
        tf.constant_initializer: Constant,
        tf.ones_initializer: Ones,
        tf.random_normal_initializer: RandomNormal,
        tf.random_uniform_initializer: RandomUniform,
        tf.zeros_initializer: Zeros,
    }
)


@shortened
def get(identifier: Any) -> Any:
    """Returns the initializer for an identifier.

    Args:
        identifier: a name such as `"glorot_uniform"`, a configuration, a class, a callable of
            `(shape, dtype)`, an array or tensor, for its own values, or `None`,
            which is returned.

    Returns:
        A callable of `(shape, dtype)` that returns a tensor.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.

    Example:
        >>> get("zeros")((2,)).numpy().tolist()
        [0.0, 0.0]
        >>> get(np.array([3.0, 4.0]))((2,)).numpy().tolist()
        [3.0, 4.0]
    """
    if isinstance(identifier, (np.generic, np.ndarray)) or tf.is_tensor(identifier):
        return _value_initializer(identifier)
    return serialization.resolve(identifier, "initializers")


def _value_initializer(value: Any) -> Callable[..., tf.Tensor]:
    def initialize(shape: Any, dtype: Any = None) -> tf.Tensor:
        if tuple(shape) != tuple(value.shape):
            raise ValueError(
                f"An array of shape {tuple(value.shape)} was given as initializer of a variable of "
                f"a different shape. Received: shape={tuple(shape)}"
            )
        return tf.cast(value, standardize_dtype(dtype))

    return initialize


def serialize(initializer: Any) -> Any:
    """Returns the configuration of an initializer.

    Args:
        initializer: an initializer, or a function of `(shape, dtype)`.

    Returns:
        The input of `deserialize`: a dict in which a function is its name.

    Example:
        >>> serialize(tfkit.initializers.Constant(2.0))["config"]
        {'value': 2.0}
    """
    return serialization.serialize_keras_object(initializer)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the initializer that a configuration describes: the inverse of `serialize`.

    Args:
        config: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        An initializer, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(tfkit.initializers.Constant(2.0)))((1,)).numpy().tolist()
        [2.0]
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="initializers")
