"""Regularizers: penalties on weights or outputs, added to the loss."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings, watching
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.constructors import Configured, own_arguments


class Regularizer(Configured, watching.Watched):
    """The base of regularizers: functions from a tensor to a penalty that is added to the loss.

    A subclass defines `__call__(x)`, which returns a scalar tensor, and `get_config()` where its
    constructor takes arguments.

    Call arguments:
        x: a tensor, such as a layer's kernel.

    Output shape: A scalar.

    Example:
        >>> class Cubic(Regularizer):
        ...     def __call__(self, x):
        ...         return tf.reduce_sum(tf.abs(x) ** 3)
        >>> float(Cubic()(tf.constant([1.0, -2.0])))
        9.0
    """

    def __call__(self, x: Any) -> Any:
        """Returns the penalty for `x`: none, unless overridden."""
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments. A subclass that is saved defines it.

        Raises:
            NotImplementedError: if a subclass does not define it, and is saved.

        Example:
            >>> tfkit.regularizers.L2(0.25).get_config()
            {'l2': 0.25}
        """
        config = own_arguments(self)
        if config is None:
            raise NotImplementedError(
                f"Regularizer {type(self).__name__} must define `get_config(self)` to be saved: the "
                "constructor's arguments as a dict."
            )
        return config


class L1L2(Regularizer):
    """A penalty on absolute values and squares: `l1 * sum(abs(x)) + l2 * sum(x**2)`.

    Args:
        l1: factor of the absolute values, not negative; `None` for 0. Default: `0.0`.
        l2: factor of the squares, not negative; `None` for 0. Default: `0.0`.

    Call arguments:
        x: a tensor, such as a layer's kernel.

    Output shape: A scalar.

    Raises:
        ValueError: if a factor is negative, infinite or not a number.

    Example:
        >>> float(L1L2(l1=0.5, l2=0.5)(tf.constant([1.0, -2.0])))
        4.0
    """

    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0) -> None:
        self.l1 = settings.finite_number("l1", 0.0 if l1 is None else l1)
        self.l2 = settings.finite_number("l2", 0.0 if l2 is None else l2)

    def __call__(self, x: Any) -> tf.Tensor:
        """Returns the penalty for `x`, a scalar."""
        x = tf.convert_to_tensor(x)
        penalty = tf.zeros((), x.dtype)
        # Factors of 0 add no operations to the graph.
        if self.l1:
            penalty += self.l1 * tf.reduce_sum(tf.abs(x))
        if self.l2:
            penalty += self.l2 * tf.reduce_sum(tf.square(x))
        return penalty


class L1(Regularizer):
    """A penalty on absolute values: `l1 * sum(abs(x))`.

    Args:
        l1: factor, not negative; `None` for 0.01. Default: `0.01`.

    Call arguments:
        x: a tensor, such as a layer's kernel.

    Output shape: A scalar.

    Raises:
        ValueError: if a factor is negative, infinite or not a number.

    Example:
        >>> float(L1(0.5)(tf.constant([1.0, -2.0])))
        1.5
    """

    def __init__(self, l1: float | None = 0.01) -> None:
        self.l1 = settings.finite_number("l1", 0.01 if l1 is None else l1)

    def __call__(self, x: Any) -> tf.Tensor:
        """Returns the penalty for `x`, a scalar."""
        return self.l1 * tf.reduce_sum(tf.abs(x))


class L2(Regularizer):
    """A penalty on squares: `l2 * sum(x**2)`.

    Args:
        l2: factor, not negative; `None` for 0.01. Default: `0.01`.

    Call arguments:
        x: a tensor, such as a layer's kernel.

    Output shape: A scalar.

    Raises:
        ValueError: if a factor is negative, infinite or not a number.

    Example:
        >>> float(L2(0.5)(tf.constant([1.0, -2.0])))
        2.5
    """

    def __init__(self, l2: float | None = 0.01) -> None:
        self.l2 = settings.finite_number("l2", 0.01 if l2 is None else l2)

    def __call__(self, x: Any) -> tf.Tensor:
        """Returns the penalty for `x`, a scalar."""
        return self.l2 * tf.reduce_sum(tf.square(x))


class OrthogonalRegularizer(Regularizer):
    """A penalty on angles: `factor` times the mean absolute cosine between rows, or columns, of a matrix.

    It is 0 where all of them are orthogonal.

    Args:
        factor: factor, not negative. Default: `0.01`.
        mode: `"rows"` or `"columns"`: which are drawn towards being orthogonal. Default: `"rows"`.

    Call arguments:
        inputs: a matrix, `(rows, columns)`.

    Output shape: A scalar.

    Raises:
        ValueError: if `factor` or `mode` is out of range, or when called with anything but a
            matrix.

    Example:
        >>> round(float(OrthogonalRegularizer(1.0)(tf.constant([[1.0, 0.0], [3.0, 4.0]]))), 4)
        0.6
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor = settings.finite_number("factor", factor)
        if mode not in ("rows", "columns"):
            raise ValueError(f'`mode` must be "rows" or "columns". Received: mode={mode!r}')
        self.mode = mode

    def __call__(self, inputs: Any) -> tf.Tensor:
        """Returns the penalty for a matrix, a scalar."""
        vectors = tf.convert_to_tensor(inputs)
        if vectors.shape.rank != 2:
            raise ValueError(
                "`OrthogonalRegularizer` accepts matrices only. "
                f"Received: inputs of shape {tuple(vectors.shape)}"
            )
        if self.mode == "columns":
            vectors = tf.transpose(vectors)
        # TensorFlow compares epsilon with the squared norm.
        vectors = tf.math.l2_normalize(vectors, axis=1, epsilon=settings.epsilon() ** 2)
        cosines = tf.matmul(vectors, vectors, transpose_b=True)
        size = tf.shape(cosines)[0]
        off_diagonal = tf.linalg.set_diag(cosines, tf.zeros(size, cosines.dtype))
        # Each pair is in the matrix twice, hence the factor 0.5 below.
        num_pairs = tf.cast(size * (size - 1), cosines.dtype) / 2
        return self.factor * 0.5 * tf.reduce_sum(tf.abs(off_diagonal)) / num_pairs


@shortened
def get(identifier: Any) -> Any:
    """Returns the regularizer for an identifier.

    Args:
        identifier: a name such as `"l2"`, a configuration, a class, a callable of one tensor, or
            `None`, which is returned.

    Returns:
        A callable of a weight that returns a penalty.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.

    Example:
        >>> get("l2").l2
        0.01
    """
    return serialization.resolve(identifier, "regularizers")


@shortened
def serialize(regularizer: Any) -> Any:
    """Returns the configuration of a regularizer.

    Args:
        regularizer: a regularizer, or a function of one tensor.

    Returns:
        The input of `deserialize`: a dict in which a function is its name.

    Example:
        >>> serialize(L2(0.5))["config"]
        {'l2': 0.5}
    """
    return serialization.serialize_keras_object(regularizer)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the regularizer that a configuration describes: the inverse of `serialize`.

    Args:
        config: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A regularizer, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(L2(0.5))).l2
        0.5
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="regularizers")
