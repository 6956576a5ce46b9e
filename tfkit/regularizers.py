"""Regularizers: penalties on weights or outputs, added to the loss."""

from __future__ import annotations

import math
from typing import Any, Self

import tensorflow as tf

from tfkit import config, registry, serialization
from tfkit.tracebacks import shortened


class Regularizer:
    """Base class of regularizers.

    A subclass defines `__call__(x)`, which returns a scalar tensor, and `get_config()` where its
    constructor takes arguments.

    Example:
        >>> class Cubic(Regularizer):
        ...     def __call__(self, x):
        ...         return tf.reduce_sum(tf.abs(x) ** 3)
        >>> float(Cubic()(tf.constant([1.0, -2.0])))
        9.0
    """

    def __call__(self, x: Any) -> Any:
        """The penalty for `x`: none, unless a subclass says otherwise."""
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments; the base class has none to give.

        Raises:
            NotImplementedError: where a subclass that is to be saved does not define it.
        """
        raise NotImplementedError(
            f"Regularizer {type(self).__name__} must define `get_config(self)` to be saved: the "
            "constructor's arguments as a dict."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A regularizer from what `get_config()` gave."""
        return cls(**config)


def _penalty_factor(value: Any, name: str) -> float:
    if not isinstance(value, (float, int)) or not math.isfinite(value) or value < 0:
        raise ValueError(
            f"`{name}` must be a finite number of 0 or more. Received: {name}={value!r}"
        )
    return float(value)


class L1L2(Regularizer):
    """`l1 * sum(abs(x)) + l2 * sum(x ** 2)`.

    Args:
        l1: factor of the first term; `None` is 0.
        l2: factor of the second term; `None` is 0.

    Raises:
        ValueError: for a factor that is negative, infinite or no number.
    """

    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0) -> None:
        self.l1 = _penalty_factor(0.0 if l1 is None else l1, "l1")
        self.l2 = _penalty_factor(0.0 if l2 is None else l2, "l2")

    def __call__(self, x: Any) -> tf.Tensor:
        """The penalty for `x`, a scalar."""
        x = tf.convert_to_tensor(x)
        penalty = tf.zeros((), x.dtype)
        if self.l1:
            penalty += self.l1 * tf.reduce_sum(tf.abs(x))
        if self.l2:
            penalty += self.l2 * tf.reduce_sum(tf.square(x))
        return penalty

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l1": self.l1, "l2": self.l2}


class L1(Regularizer):
    """`l1 * sum(abs(x))`.

    Args:
        l1: factor; `None` is 0.01.

    Raises:
        ValueError: for a factor that is negative, infinite or no number.
    """

    def __init__(self, l1: float | None = 0.01) -> None:
        self.l1 = _penalty_factor(0.01 if l1 is None else l1, "l1")

    def __call__(self, x: Any) -> tf.Tensor:
        """The penalty for `x`, a scalar."""
        return self.l1 * tf.reduce_sum(tf.abs(x))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l1": self.l1}


class L2(Regularizer):
    """`l2 * sum(x ** 2)`.

    Args:
        l2: factor; `None` is 0.01.

    Raises:
        ValueError: for a factor that is negative, infinite or no number.
    """

    def __init__(self, l2: float | None = 0.01) -> None:
        self.l2 = _penalty_factor(0.01 if l2 is None else l2, "l2")

    def __call__(self, x: Any) -> tf.Tensor:
        """The penalty for `x`, a scalar."""
        return self.l2 * tf.reduce_sum(tf.square(x))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l2": self.l2}


class OrthogonalRegularizer(Regularizer):
    """`factor` times the mean absolute cosine between different rows (or columns) of a matrix.

    Args:
        factor: factor.
        mode: `"rows"` or `"columns"`: which are pushed towards being orthogonal.

    Raises:
        ValueError: for a bad `factor` or `mode`, and when called with anything but a matrix.
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor = _penalty_factor(factor, "factor")
        if mode not in ("rows", "columns"):
            raise ValueError(f'`mode` must be "rows" or "columns". Received: mode={mode!r}')
        self.mode = mode

    def __call__(self, inputs: Any) -> tf.Tensor:
        """The penalty for a matrix, a scalar."""
        vectors = tf.convert_to_tensor(inputs)
        if vectors.shape.rank != 2:
            raise ValueError(
                "`OrthogonalRegularizer` takes matrices only. "
                f"Received: inputs of shape {tuple(vectors.shape)}"
            )
        if self.mode == "columns":
            vectors = tf.transpose(vectors)
        vectors = tf.math.l2_normalize(vectors, axis=1, epsilon=config.epsilon() ** 2)
        cosines = tf.matmul(vectors, vectors, transpose_b=True)
        size = tf.shape(cosines)[0]
        off_diagonal = tf.linalg.set_diag(cosines, tf.zeros(size, cosines.dtype))
        num_pairs = tf.cast(size * (size - 1), cosines.dtype) / 2
        return self.factor * 0.5 * tf.reduce_sum(tf.abs(off_diagonal)) / num_pairs

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"factor": self.factor, "mode": self.mode}


l1 = L1
l2 = L2
l1_l2 = L1L2
orthogonal_regularizer = OrthogonalRegularizer

registry.register_builtins(
    "regularizers",
    [L1, L1L2, L2, OrthogonalRegularizer, Regularizer],
    aliases={"l1_l2": L1L2},
)


@shortened
def get(identifier: Any) -> Any:
    """The regularizer that a name, a configuration, a class or a callable stands for.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.
    """
    return serialization.resolve(identifier, "regularizers")


def serialize(regularizer: Any) -> Any:
    """The configuration of a regularizer."""
    return serialization.serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The regularizer that a configuration describes."""
    return serialization.deserialize_keras_object(config, custom_objects, kind="regularizers")
