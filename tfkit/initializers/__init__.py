"""Initializers: the first values of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit import registry, serialization
from tfkit.dtypes import standardize_dtype
from tfkit.initializers.base import Initializer as Initializer
from tfkit.initializers.constant import STFT as STFT
from tfkit.initializers.constant import Constant as Constant
from tfkit.initializers.constant import Identity as Identity
from tfkit.initializers.constant import Ones as Ones
from tfkit.initializers.constant import Zeros as Zeros
from tfkit.initializers.random import GlorotNormal as GlorotNormal
from tfkit.initializers.random import GlorotUniform as GlorotUniform
from tfkit.initializers.random import HeNormal as HeNormal
from tfkit.initializers.random import HeUniform as HeUniform
from tfkit.initializers.random import LecunNormal as LecunNormal
from tfkit.initializers.random import LecunUniform as LecunUniform
from tfkit.initializers.random import Orthogonal as Orthogonal
from tfkit.initializers.random import RandomNormal as RandomNormal
from tfkit.initializers.random import RandomUniform as RandomUniform
from tfkit.initializers.random import TruncatedNormal as TruncatedNormal
from tfkit.initializers.random import VarianceScaling as VarianceScaling
from tfkit.tracebacks import shortened

constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
identity = IdentityInitializer = Identity
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
ones = Ones
orthogonal = OrthogonalInitializer = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
stft = STFTInitializer = STFT
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros

registry.register_builtins(
    "initializers",
    [
        Constant,
        GlorotNormal,
        GlorotUniform,
        HeNormal,
        HeUniform,
        Identity,
        Initializer,
        LecunNormal,
        LecunUniform,
        Ones,
        Orthogonal,
        RandomNormal,
        RandomUniform,
        STFT,
        TruncatedNormal,
        VarianceScaling,
        Zeros,
    ],
    aliases={
        "IdentityInitializer": Identity,
        "OrthogonalInitializer": Orthogonal,
        "STFTInitializer": STFT,
        "normal": RandomNormal,
        "one": Ones,
        "uniform": RandomUniform,
        "zero": Zeros,
    },
)


@shortened
def get(identifier: Any) -> Any:
    """Returns the initializer that an identifier stands for.

    Args:
        identifier: a name such as `"glorot_uniform"`, a configuration, a class, a callable of
            `(shape, dtype)`, an array or tensor, which stands for its own values, or `None`,
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
                f"another shape. Received: shape={tuple(shape)}"
            )
        return tf.cast(value, standardize_dtype(dtype))

    return initialize


def serialize(initializer: Any) -> Any:
    """Returns the configuration of an initializer.

    Args:
        initializer: an initializer, or a function of `(shape, dtype)`.

    Returns:
        What `deserialize` takes: a dict, in which a function is its name.

    Example:
        >>> serialize(Constant(2.0))["config"]
        {'value': 2.0}
    """
    return serialization.serialize_keras_object(initializer)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the initializer that a configuration describes: the inverse of `serialize`.

    Args:
        config: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name besides
            tfkit's own and registered ones.

    Returns:
        An initializer, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(Constant(2.0)))((1,)).numpy().tolist()
        [2.0]
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="initializers")
