"""Layers that make one tensor of several."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack

import tensorflow as tf

from tfkit.core.layer import Layer
from tfkit.core.typing import LayerOptions
from tfkit.layers.checks import is_integer
from tfkit.masking import get_mask


def _refusal(layer: Layer, expected: str, inputs: Any) -> ValueError:
    shapes = [tuple(x.shape) if hasattr(x, "shape") else x for x in tf.nest.flatten(inputs)]
    return ValueError(
        f"Layer '{layer.path}' (of type {type(layer).__name__}) should be called on {expected}. "
        f"Received: {type(inputs).__name__} of shapes {shapes}"
    )


def _check_list(layer: Layer, inputs: Any, count: int | None = None) -> None:
    expected = f"a list of {count} inputs" if count else "a list of at least 1 input"
    if not isinstance(inputs, (list, tuple)) or not inputs or len(inputs) != (count or len(inputs)):
        raise _refusal(layer, expected, inputs)
    if len({x.shape[0] for x in inputs if x.shape.rank} - {None}) > 1:
        raise _refusal(layer, f"{expected} with the same batch size", inputs)


class Merge(Layer):
    """Base of layers that combine tensors entry by entry; a subclass defines `_merge`.

    Call arguments:
        inputs: a list of tensors whose samples' shapes broadcast; missing axes come after the batch.
    """

    _count: int | None = None

    def __init__(self, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The combined tensor."""
        _check_list(self, inputs, self._count)
        try:
            functools.reduce(tf.broadcast_static_shape, [x.shape[1:] for x in inputs])
        except ValueError:
            raise _refusal(self, "inputs whose shapes broadcast to one shape", inputs) from None
        rank = max(x.shape.rank for x in inputs)
        return self._merge([_with_rank(x, rank) for x in inputs], [_mask(x) for x in inputs])

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Where any input is present, if all inputs have a mask."""
        if previous_mask is None or any(mask is None for mask in previous_mask):
            return None
        return functools.reduce(tf.logical_or, previous_mask)

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        """The combination of tensors of one rank; `masks` broadcast to them."""
        raise NotImplementedError(f"{type(self).__name__} must define `_merge(inputs, masks)`.")


def _with_rank(x: tf.Tensor, rank: int) -> tf.Tensor:
    for _ in range(rank - x.shape.rank):
        x = tf.expand_dims(x, 1)
    return x


def _mask(x: tf.Tensor) -> Any:
    """The mask of `x` with an axis of size 1 for each axis that it lacks."""
    mask = get_mask(x)
    if mask is not None:
        for _ in range(x.shape.rank - mask.shape.rank):
            mask = tf.expand_dims(mask, -1)
    return mask


class Add(Merge):
    """Sum of the inputs."""

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        return functools.reduce(tf.add, inputs)


class Subtract(Merge):
    """First input minus the second."""

    _count = 2

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        return inputs[0] - inputs[1]


class Average(Merge):
    """Mean of the inputs."""

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        return functools.reduce(tf.add, inputs) / len(inputs)


class Multiply(Merge):
    """Product of the inputs; masked entries count as 1, and as 0 where every input is masked."""

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        factors = [
            x if mask is None else tf.where(mask, x, tf.ones_like(x))
            for x, mask in zip(inputs, masks, strict=True)
        ]
        product = functools.reduce(tf.multiply, factors)
        if any(mask is None for mask in masks):
            return product
        return tf.where(functools.reduce(tf.logical_or, masks), product, tf.zeros_like(product))


class _Extremum(Merge):
    """Combines entries with `_choose`; where some inputs are masked, the others decide."""

    _choose: Callable[[Any, Any], tf.Tensor]

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        result, present = inputs[0], masks[0]
        for x, mask in zip(inputs[1:], masks[1:], strict=True):
            if mask is not None:
                x = tf.where(mask, x, result)
            if present is not None:
                result = tf.where(present, result, x)
            present = None if mask is None or present is None else present | mask
            result = type(self)._choose(result, x)
        return result


class Maximum(_Extremum):
    """Greatest of the inputs, entry by entry."""

    _choose = staticmethod(tf.maximum)


class Minimum(_Extremum):
    """Least of the inputs, entry by entry."""

    _choose = staticmethod(tf.minimum)


class Concatenate(Layer):
    """Joins the inputs along an axis.

    Args:
        axis: the axis, the last unless given.

    Call arguments:
        inputs: a list of tensors with equal sizes along the other axes.
    """

    def __init__(self, axis: int = -1, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The joined tensor."""
        _check_list(self, inputs)
        others = [list(x.shape) for x in inputs]
        for sizes in others:
            sizes[self.axis] = None
        try:
            functools.reduce(tf.TensorShape.merge_with, map(tf.TensorShape, others))
        except ValueError:
            wanted = f"inputs of equal shapes apart from axis {self.axis}"
            raise _refusal(self, wanted, inputs) from None
        return tf.concat(inputs, self.axis)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The masks, joined; inputs without one are present everywhere."""
        if previous_mask is None or all(mask is None for mask in previous_mask):
            return None
        masks = []
        for x, mask in zip(inputs, previous_mask, strict=True):
            everywhere = tf.ones_like(x, dtype="bool")
            lacks_axis = mask is not None and mask.shape.rank < x.shape.rank
            mask = tf.expand_dims(mask, -1) if lacks_axis else mask
            masks.append(everywhere if mask is None else everywhere & mask)
        return tf.reduce_any(tf.concat(masks, self.axis), axis=-1)


class Dot(Layer):
    """Products of the samples of two inputs, summed over an axis of each.

    Args:
        axes: the axis to sum over, batch counted; or one for each input.
        normalize: whether vectors along the axes are first scaled to length 1, which makes the
            output the cosine of angles.

    Call arguments:
        inputs: a list of two tensors.

    Output shape: batch, remaining axes of the first input, remaining axes of the second;
        `(batch, 1)` where none remain.

    Example:
        >>> Dot(axes=1)([tf.ones((2, 5)), tf.ones((2, 5))]).numpy().tolist()
        [[5.0], [5.0]]
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Unpack[LayerOptions]) -> None:
        if not is_integer(axes) and not isinstance(axes, (list, tuple)):
            raise TypeError(
                "Invalid type of argument `axes` of layer Dot. Expected an integer or a list of two. "
                f"Received: axes={axes!r}"
            )
        if not is_integer(axes) and (len(axes) != 2 or not all(map(is_integer, axes))):
            raise ValueError(
                "Invalid value for argument `axes` of layer Dot. Expected an integer or a list of "
                f"two. Received: axes={axes!r}"
            )
        super().__init__(**kwargs)
        self.axes = axes
        self.normalize = normalize
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The products."""
        _check_list(self, inputs, 2)
        given = (self.axes, self.axes) if is_integer(self.axes) else self.axes
        axes = [axis % x.shape.rank for axis, x in zip(given, inputs, strict=True)]
        sizes = [x.shape[axis] for axis, x in zip(axes, inputs, strict=True)]
        if 0 in axes:
            raise _refusal(self, "axes other than the batch, axis 0", inputs)
        if None not in sizes and sizes[0] != sizes[1]:
            raise _refusal(self, f"inputs of equal sizes along the axes {self.axes}", inputs)
        if self.normalize:
            inputs = [
                tf.math.l2_normalize(x, axis, epsilon=1e-14)
                for x, axis in zip(inputs, axes, strict=True)
            ]
        # b is the batch, z the axis that is summed over.
        letters = iter("acdefghijklmnopqrstuvwxy")
        names = [["b", *(next(letters) for _ in x.shape[1:])] for x in inputs]
        for name, axis in zip(names, axes, strict=True):
            name[axis] = "z"
        left, right = ("".join(name) for name in names)
        kept = (left + right[1:]).replace("z", "")
        product = tf.einsum(f"{left},{right}->{kept}", *inputs)
        return product[:, tf.newaxis] if kept == "b" else product

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """No mask."""
        return None


def add(inputs: Any, **kwargs: Any) -> Any:
    """`Add(**kwargs)(inputs)`."""
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Any:
    """`Subtract(**kwargs)(inputs)`."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """`Multiply(**kwargs)(inputs)`."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """`Average(**kwargs)(inputs)`."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    """`Maximum(**kwargs)(inputs)`."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    """`Minimum(**kwargs)(inputs)`."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """`Concatenate(axis, **kwargs)(inputs)`."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """`Dot(axes, **kwargs)(inputs)`."""
    return Dot(axes=axes, **kwargs)(inputs)
