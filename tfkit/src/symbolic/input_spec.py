"""The specification of a layer's inputs, and the check that precedes each call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base.protocols import HasPath
from tfkit.src.base.registry.constructors import Configured
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.base.registry.tables import is_builtin

ADD_BATCH = "If it is a single sample, add the batch axis: `images[:1]` instead of `images[0]`, or `x[None]`."


class Specified(HasPath, Protocol):
    """A layer that specifies its inputs."""

    input_spec: Any


class InputSpec(Configured):
    """The dtype, number of axes and sizes that a layer expects of an input.

    A layer checks its inputs against its attribute `input_spec` at each call.

    Args:
        dtype: expected dtype; `None` for any.
        shape: tuple of expected sizes, batch included; `None` in it for any size, `None` for any
            shape.
        ndim: expected number of axes; `None` for any.
        max_ndim: largest number of axes; `None` for no limit.
        min_ndim: smallest number of axes; `None` for no limit.
        axes: dict from an axis to its expected size; `None` for no expectation.
        allow_last_axis_squeeze: whether a last axis of size 1 may be missing or added. Default:
            `False`.
        name: key of the input if the inputs are a dict; `None` for inputs by position.
        optional: whether `None` may be passed. Default: `False`.

    Raises:
        TypeError: if `axes` is not a dict with integers as keys.
        ValueError: if an axis is out of range for `ndim` or `max_ndim`.

    Example:
        >>> InputSpec(min_ndim=2, axes={-1: 8})
        InputSpec(min_ndim=2, axes={-1: 8})
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype = None if dtype is None else standardize_dtype(dtype)
        self.shape = None if shape is None else tuple(shape)
        # A shape says how many axes there are, whatever `ndim` is.
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (AttributeError, TypeError, ValueError):
            raise TypeError(
                f"Argument `axes` must be a dict with integer keys. Received: axes={axes}"
            ) from None
        largest = self.ndim if self.ndim is not None else self.max_ndim
        if self.axes and largest is not None and max(self.axes) > largest - 1:
            raise ValueError(
                f"Axis {max(self.axes)} is greater than the maximum allowed value: {largest - 1}"
            )
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name = name
        self.optional = optional

    def __repr__(self) -> str:
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        given = [f"{field}={getattr(self, field)}" for field in fields if getattr(self, field)]
        return f"InputSpec({', '.join(given)})"

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes", "optional")
        return {field: getattr(self, field) for field in fields}

    def violation(self, value: Any) -> str | None:
        """Returns what is wrong with `value`, as `expected ..., found ...`, or `None`."""
        shape = tuple(value.shape) if value.shape is not None else ()
        found = len(shape)
        if self.ndim is not None and not self.allow_last_axis_squeeze and found != self.ndim:
            return f"expected ndim={self.ndim}, found ndim={found}"
        if self.max_ndim is not None and found > self.max_ndim:
            return f"expected max_ndim={self.max_ndim}, found ndim={found}"
        if self.min_ndim is not None and found < self.min_ndim:
            return f"expected min_ndim={self.min_ndim}, found ndim={found}"
        if self.dtype is not None and standardize_dtype(value.dtype) != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={standardize_dtype(value.dtype)}"
        for axis, size in self.axes.items():
            # An unknown size is not an error: the call on values checks it again.
            if size is not None and shape[axis] not in (size, None):
                return (
                    f"expected axis {axis} of input shape to have value {size}, found {shape[axis]}"
                )
        if self.shape is not None and not self._same_sizes(shape):
            return f"expected shape={self.shape}, found shape={shape}"
        return None

    def lacks_axis(self, value: Any) -> bool:
        """Whether `value` has one axis less than it needs, such as a sample without the batch axis."""
        return len(value.shape or ()) + 1 == (self.min_ndim if self.ndim is None else self.ndim)

    def _same_sizes(self, shape: tuple[int | None, ...]) -> bool:
        expected: tuple[int | None, ...] = self.shape or ()
        if self.allow_last_axis_squeeze:
            shape = shape[:-1] if shape and shape[-1] == 1 else shape
            expected = expected[:-1] if expected and expected[-1] == 1 else expected
        # `strict=False`: with `allow_last_axis_squeeze` the ranks may differ.
        return all(a is None or b is None or a == b for a, b in zip(expected, shape, strict=False))


def check_inputs(layer: Specified, inputs: Any) -> None:
    """Raises an error for inputs that do not fit a layer's `input_spec`.

    Args:
        layer: the layer; its `input_spec` is an `InputSpec`, a nest of them, or `None`.
        inputs: the layer's first argument.

    Raises:
        ValueError: with the layer, the input, and the expected and found properties.
    """
    if layer.input_spec is None:
        return
    specs = tf.nest.flatten(layer.input_spec)
    # A dict may contain more than the layer needs: what belongs to it is found by name.
    if isinstance(inputs, Mapping) and all(spec.name for spec in specs):
        names = [spec.name for spec in specs]
        missing = [name for name in names if name not in inputs]
        if missing:
            raise ValueError(
                f"Missing data for input \"{missing[0]}\" of layer '{layer.path}'. You passed a dict with "
                f"keys {list(inputs)}. Expected the keys: {names}"
            )
        inputs = [inputs[name] for name in names]
    elif (
        isinstance(inputs, Mapping)
        and isinstance(layer.input_spec, InputSpec)
        and is_builtin(type(layer))
    ):
        raise ValueError(
            f"Layer '{layer.path}' expects a tensor. Received: a dict with the keys {list(inputs)}. Pass its "
            "value, or begin the model with an `Input` of this name."
        )
    # A ragged or sparse tensor is one input, not the tensors that it is made of.
    values = tf.nest.flatten(inputs, expand_composites=False)
    if len(values) != len(specs):
        names = [spec.name for spec in specs if spec is not None and spec.name]
        expected = f"{len(specs)} input(s){f' {names}' if names else ''}"
        if isinstance(layer.input_spec, Mapping) and names:
            expected = f"{len(specs)} named input(s) with keys {names}"
        few = len(values) < len(specs)
        raise ValueError(
            f'Layer "{layer.path}" expects {expected}, but it '
            f"received {len(values)} input tensors. Shapes received: "
            f"{[getattr(value, 'shape', value) for value in values]}"
            f"{'. Pass all as one list or dict; in a dataset, as `((first, second), y)`' if few else ''}"
        )
    for index, (value, spec) in enumerate(zip(values, specs, strict=True)):
        if spec is None or (value is None and spec.optional):
            continue
        if value is None and spec.name:
            raise ValueError(
                f"The input '{spec.name}' of layer '{layer.path}' is not optional, but None was passed. Pass "
                "a tensor, or make the input with `Input(..., optional=True)`."
            )
        if not hasattr(value, "shape"):
            raise ValueError(
                f"Inputs to a layer should be tensors. Layer '{layer.path}' received {value!r} (of type "
                f"{type(value).__name__}) as input {index}."
            )
        wrong = spec.violation(value)
        if wrong is not None:
            named = f" with name '{spec.name}'" if spec.name else ""
            raise ValueError(
                f"Input {index}{named} of layer '{layer.path}' is incompatible with the layer: {wrong}. "
                f"Full shape received: {tuple(value.shape)}"
                f"{f'. {_advice(layer, value)}' if spec.lacks_axis(value) else ''}"
            )


def _advice(layer: Specified, value: Any) -> str:
    """Returns what to do about a missing axis: of time after a recurrent layer, otherwise of the batch."""
    if hasattr(layer, "return_sequences") and value.shape[0] is None:
        return f"If the layer before is recurrent, it needs `return_sequences=True`. {ADD_BATCH}"
    return ADD_BATCH
