"""Constraints: projections of weights after each update."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings, watching
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.constructors import Axes, Configured, own_arguments


class Constraint(Configured, watching.Watched):
    """The base of constraints: functions that project a variable's value after each update.

    A subclass defines `__call__(w)`, which returns the projected value, and `get_config()` where
    its constructor takes arguments.

    Call arguments:
        w: the variable's value after an update.

    Output shape: The shape of `w`.

    Example:
        >>> class Rounded(Constraint):
        ...     def __call__(self, w):
        ...         return tf.round(w)
        >>> Rounded()(tf.constant([0.2, 1.7])).numpy()
        array([0., 2.], dtype=float32)
    """

    def __call__(self, w: Any) -> Any:
        """Returns the projected weight: `w` itself, unless overridden."""
        return w

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments.

        Example:
            >>> tfkit.constraints.MaxNorm(2, axis=0).get_config()
            {'max_value': 2, 'axis': 0}
        """
        return own_arguments(self) or {}


def _norms(w: tf.Tensor, axis: Axes) -> tf.Tensor:
    return tf.sqrt(tf.reduce_sum(tf.square(w), axis, keepdims=True))


def _check_norms(max_value: float, min_value: float = 0) -> None:
    if not 0 <= min_value <= max_value:
        raise ValueError(
            "Limits of a norm must be 0 or above, and `min_value` not above `max_value`. "
            f"Received: min_value={min_value}, max_value={max_value}"
        )


class MaxNorm(Constraint):
    """Scales down weight vectors whose Euclidean norm is greater than `max_value`.

    Args:
        max_value: largest norm. Default: `2`.
        axis: axis or axes that make up one vector: 0 for the kernel of `Dense`, `[0, 1, 2]` for
            the kernel of `Conv2D`. Default: `0`.

    Call arguments:
        w: the variable's value after an update.

    Output shape: The shape of `w`.

    Example:
        >>> MaxNorm(1.0)(tf.constant([[3.0, 0.3], [4.0, 0.4]])).numpy().round(3)
        array([[0.6, 0.3],
               [0.8, 0.4]], dtype=float32)
    """

    def __init__(self, max_value: float = 2, axis: Axes = 0) -> None:
        _check_norms(max_value)
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Any) -> tf.Tensor:
        """Returns the projected weight."""
        w = tf.convert_to_tensor(w)
        norms = _norms(w, self.axis)
        # Epsilon is added, and not the maximum taken, as in Keras: norms within the limit shrink
        # by 1e-7.
        return w * (tf.clip_by_value(norms, 0, self.max_value) / (settings.epsilon() + norms))


class NonNeg(Constraint):
    """Sets negative weights to zero: `max(w, 0)`.

    Call arguments:
        w: the variable's value after an update.

    Output shape: The shape of `w`.

    Example:
        >>> NonNeg()(tf.constant([-1.0, 2.0])).numpy()
        array([0., 2.], dtype=float32)
    """

    def __call__(self, w: Any) -> tf.Tensor:
        """Returns the projected weight."""
        return tf.maximum(w, 0)


class UnitNorm(Constraint):
    """Scales weight vectors to Euclidean norm 1: `w / norm(w)`.

    Args:
        axis: axis or axes that make up one vector: 0 for the kernel of `Dense`, `[0, 1, 2]` for
            the kernel of `Conv2D`. Default: `0`.

    Call arguments:
        w: the variable's value after an update.

    Output shape: The shape of `w`.

    Example:
        >>> UnitNorm()(tf.constant([[3.0, 0.3], [4.0, 0.4]])).numpy().round(3)
        array([[0.6, 0.6],
               [0.8, 0.8]], dtype=float32)
    """

    def __init__(self, axis: Axes = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> tf.Tensor:
        """Returns the projected weight."""
        w = tf.convert_to_tensor(w)
        return w / (settings.epsilon() + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    """Moves Euclidean norms of weight vectors that are outside of two bounds towards these bounds.

    Args:
        min_value: smallest norm. Default: `0.0`.
        max_value: largest norm. Default: `1.0`.
        rate: fraction of the distance to the nearest bound by which each update moves a norm, from 0 to 1.
            Default: `1.0`.
        axis: axis or axes that make up one vector: 0 for the kernel of `Dense`, `[0, 1, 2]` for
            the kernel of `Conv2D`. Default: `0`.

    Call arguments:
        w: the variable's value after an update.

    Output shape: The shape of `w`.

    Example:
        >>> MinMaxNorm(1.0, 2.0)(tf.constant([[3.0, 0.3], [4.0, 0.4]])).numpy().round(3)
        array([[1.2, 0.6],
               [1.6, 0.8]], dtype=float32)
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Axes = 0
    ) -> None:
        _check_norms(max_value, min_value)
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Any) -> tf.Tensor:
        """Returns the projected weight."""
        w = tf.convert_to_tensor(w)
        norms = _norms(w, self.axis)
        inside = tf.clip_by_value(norms, self.min_value, self.max_value)
        # With a rate below 1 the bound is approached, a part of the way in each step.
        desired = self.rate * inside + (1 - self.rate) * norms
        return w * (desired / (settings.epsilon() + norms))


@shortened
def get(identifier: Any) -> Any:
    """Returns the constraint for an identifier.

    Args:
        identifier: a name such as `"non_neg"`, a configuration, a class, a callable of one
            tensor, or `None`, which is returned.

    Returns:
        A callable of a weight that returns the weight in its limits.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.

    Example:
        >>> get("non_neg")(tf.constant([-1.0, 2.0])).numpy().tolist()
        [0.0, 2.0]
    """
    return serialization.resolve(identifier, "constraints")


@shortened
def serialize(constraint: Any) -> Any:
    """Returns the configuration of a constraint.

    Args:
        constraint: a constraint, or a function of one tensor.

    Returns:
        The input of `deserialize`: a dict in which a function is its name.

    Example:
        >>> serialize(MaxNorm(2.0))["config"]
        {'max_value': 2.0, 'axis': 0}
    """
    return serialization.serialize_keras_object(constraint)


@shortened
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the constraint that a configuration describes: the inverse of `serialize`.

    Args:
        config: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.

    Returns:
        A constraint, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(MaxNorm(2.0))).max_value
        2.0
    """
    return serialization.deserialize_keras_object(config, custom_objects, kind="constraints")
