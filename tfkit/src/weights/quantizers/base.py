"""Quantizers: functions from floats to integers and a scale, with a configuration."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import Configured, attributes
from tfkit.src.weights.quantizers.abs_max import abs_max_quantize, check_range


class Quantizer(Configured):
    """The base of quantizers; a subclass defines `__call__` and `get_config`.

    Args:
        output_dtype: dtype of the quantized values. Default: `"int8"`.

    Call arguments:
        x: floats.

    Output shape: `x`, unchanged; a subclass returns integers of the same shape, and a scale.

    Example:
        >>> class Halves(Quantizer):
        ...     def __call__(self, x, axis=None, to_numpy=False):
        ...         return tf.cast(tf.round(2 * x), self.output_dtype), tf.constant(2.0)
        >>> Halves()(tf.constant([1.4]))[0].numpy().tolist()
        [3]
    """

    def __init__(self, output_dtype: str = "int8") -> None:
        self.output_dtype = output_dtype

    def __call__(self, x: Any) -> Any:
        """Returns `x`; a subclass returns integers and a scale."""
        return x

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments.

        Example:
            >>> tfkit.quantizers.AbsMaxQuantizer(axis=-1).get_config()["axis"]
            (-1,)
        """
        raise NotImplementedError(
            f"Quantizer {type(self).__name__} must define `get_config(self)` to be saved."
        )


class AbsMaxQuantizer(Quantizer):
    """A quantizer whose scale makes the largest absolute value the largest integer.

    Args:
        axis: axis or axes along which the maximum is taken; `None` for the last, or for the call's `axis`.
        value_range: smallest and largest integer. Default: `(-127, 127)`.
        epsilon: number that is added to the maximum, so that zeros have a scale. Default: `1e-7`.
        output_dtype: dtype of the integers. Default: `"int8"`.

    Call arguments:
        x: floats.
        axis: axis or axes that replace the constructor's; `None` to keep these.
        to_numpy: whether to compute on the CPU. Default: `False`.

    Output shape: Integers of the shape of `x`, and the scale, with size 1 along the axes.

    Raises:
        ValueError: for a range without positive numbers.

    Example:
        >>> quantized, scale = AbsMaxQuantizer(axis=-1)(tf.constant([[1.0, -2.0]]))
        >>> quantized.numpy().tolist(), scale.numpy().tolist()
        ([[64, -127]], [[63.5]])
    """

    def __init__(
        self,
        axis: Any = None,
        value_range: tuple[int, int] = (-127, 127),
        epsilon: float = 1e-7,
        output_dtype: str = "int8",
    ) -> None:
        super().__init__(output_dtype)
        self.axis = (axis,) if isinstance(axis, int) else axis and tuple(axis)
        self.value_range = check_range(value_range, output_dtype)
        self.epsilon = epsilon

    def __call__(
        self, x: Any, axis: Any = None, to_numpy: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the integers and the scale."""
        return abs_max_quantize(
            x,
            # The axis of the call, of the constructor, or the last one.
            next((it for it in (axis, self.axis) if it is not None), -1),
            self.value_range,
            self.output_dtype,
            self.epsilon,
            to_numpy,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments; `axis` only if it was given."""
        config = attributes(self, "value_range", "epsilon", "output_dtype")
        return config if self.axis is None else {**config, "axis": self.axis}
