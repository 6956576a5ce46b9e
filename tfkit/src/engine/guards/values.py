"""Checks of values: integer arithmetic, assertions, bounds of random numbers, parameters."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.engine.guards.check import (
    Attributes,
    Check,
    Constants,
    Operation,
    is_integer,
    within,
)


def _never_zero(attr: Attributes, constants: Constants) -> bool:
    # Floats have infinity and NaN for this, in XLA too.
    return not is_integer(attr) or (1 in constants and bool(constants[1].all()))


def _never_negative(attr: Attributes, constants: Constants) -> bool:
    return not is_integer(attr) or (1 in constants and bool((constants[1] >= 0).all()))


def _condition_holds(attr: Attributes, constants: Constants) -> bool:
    return 0 in constants and constants[0].ndim == 0 and bool(constants[0])


def _uniform(low: int) -> Check:
    """Returns a check of two consecutive inputs, for random integers between them."""

    def settled(attr: Attributes, constants: Constants) -> bool:
        bounds = [constants.get(index) for index in (low, low + 1)]
        return None not in bounds and bool((bounds[0] < bounds[1]).all())  # type: ignore[operator]

    return Check(
        "minval that is not less than maxval",
        lambda op: tf.reduce_all(op.inputs[low] < op.inputs[low + 1]),
        settled,
    )


def _truncated_normal(first: int) -> Check:
    """Returns a check of four consecutive inputs: mean, standard deviation, bounds."""

    def accepts(op: Operation) -> tf.Tensor:
        mean, deviation, low, high = op.inputs[first : first + 4]
        finite = tf.math.is_finite
        # One bound may be infinite; NaN is not less and not finite.
        bounds = (low < high) & (finite(low) | finite(high))
        spread = (deviation > 0) & finite(deviation)
        return tf.reduce_all(bounds) & tf.reduce_all(spread) & tf.reduce_all(finite(mean))

    return Check(
        "bounds that are not in order, or a standard deviation that is not positive", accepts
    )


def _proximal_adagrad(op: Operation) -> tf.Tensor:
    _, _, rate, l1, l2, _ = op.inputs
    return (rate > 0) & (l1 >= 0) & (l2 >= 0)


def _overlap(op: Operation) -> tf.Tensor:
    return (op.inputs[3] >= 0) & (op.inputs[3] <= 1)


def _shifts_within(attr: Attributes, constants: Constants) -> bool:
    bits = 8 * tf.as_dtype(attr["T"].type).size
    return 1 in constants and bool(((constants[1] >= 0) & (constants[1] < bits)).all())


# The kernels refuse none of these, but their results differ from XLA's.
_SHIFT = Check(
    "a shift by less than 0, or by all bits of an integer",
    lambda op: within(op.inputs[1], 8 * op.inputs[1].dtype.size),
    settled=_shifts_within,
)
_UPPER_GAMMA = Check(
    "arguments below 0, for which the integral is not defined",
    lambda op: tf.reduce_all(op.inputs[0] > 0) & tf.reduce_all(op.inputs[1] >= 0),
)

_DIVISION = Check(
    "an integer divided by zero",
    lambda op: tf.reduce_all(op.inputs[1] != 0),
    settled=_never_zero,
)
_OVERLAP = Check(
    "iou_threshold outside of [0, 1]",
    _overlap,
    settled=lambda attr, constants: 3 in constants and bool(0 <= constants[3] <= 1),
)

VALUES = {
    **dict.fromkeys(
        ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"), _DIVISION
    ),
    # No integer is 2 ** -1: the kernel refuses it.
    "Pow": Check(
        "an integer to the power of a negative one",
        lambda op: tf.reduce_all(op.inputs[1] >= 0),
        settled=_never_negative,
    ),
    "LeftShift": _SHIFT,
    "RightShift": _SHIFT,
    "Igammac": _UPPER_GAMMA,
    # XLA removes `Assert` without a check of its condition.
    "Assert": Check(
        "a condition that does not hold",
        lambda op: tf.reshape(op.inputs[0], []),
        settled=_condition_holds,
    ),
    "CheckNumerics": Check(
        "NaN or infinity", lambda op: tf.reduce_all(tf.math.is_finite(op.inputs[0]))
    ),
    "RandomUniformInt": _uniform(1),
    "StatelessRandomUniformInt": _uniform(2),
    "StatelessRandomUniformIntV2": _uniform(4),
    "StatefulUniformInt": _uniform(3),
    "ParameterizedTruncatedNormal": _truncated_normal(1),
    "StatelessParameterizedTruncatedNormal": _truncated_normal(2),
    "NonMaxSuppressionV3": _OVERLAP,
    "NonMaxSuppressionV4": _OVERLAP,
    "ResourceApplyProximalAdagrad": Check(
        "a rate that is not positive, or a negative regularization", _proximal_adagrad
    ),
}
