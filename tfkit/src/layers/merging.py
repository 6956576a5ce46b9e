"""Layers that combine several tensors into one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check, is_integer
from tfkit.src.layers.sparse import combined, dense, is_sparse
from tfkit.src.ops.promotion import promote
from tfkit.src.ops.sparse import with_shape
from tfkit.src.symbolic.masking import get_mask


def _refusal(layer: Layer, expected: str, inputs: Any) -> ValueError:
    shapes = [tuple(x.shape) if hasattr(x, "shape") else x for x in tf.nest.flatten(inputs)]
    if tf.is_tensor(inputs):
        return ValueError(
            f"Layer {layer._tfkit.title} should be called on {expected}, such as `layer([a, b])`. Received: "
            f"a single tensor of shape {shapes[0]}"
        )
    return ValueError(
        f"Layer {layer._tfkit.title} should be called on {expected}. Received: {type(inputs).__name__} of "
        f"shapes {shapes}"
    )


def _check_list(layer: Layer, inputs: Any, count: int | None = None) -> None:
    expected = f"exactly {count} inputs, in a list" if count else "a list of at least 1 input"
    if not isinstance(inputs, (list, tuple)) or not inputs or len(inputs) != (count or len(inputs)):
        raise _refusal(layer, expected, inputs)
    if not all(hasattr(x, "shape") for x in inputs):
        raise _refusal(layer, f"{expected}, not nested in further lists", inputs)
    if len({x.shape[0] for x in inputs if x.shape.rank} - {None}) > 1:
        raise _refusal(layer, f"{expected} with the same batch size", inputs)


def _check_masks(layer: Layer, inputs: Any, masks: Any) -> None:
    """Raises an error unless `masks` is a list of the length of the inputs."""
    for name, value in (("inputs", inputs), ("mask", masks)):
        if not isinstance(value, (list, tuple)):
            raise ValueError(
                f"`{name}` should be a list. `compute_mask()` of layer '{layer.path}' (of type "
                f"{type(layer).__name__}) expects a list of inputs and a list of their masks. Received: "
                f"{name}={value!r}"
            )
    if len(inputs) != len(masks):
        raise ValueError(
            "The lists `inputs` and `mask` should have the same length in `compute_mask()` of layer "
            f"{layer._tfkit.title}. Received: {len(inputs)} inputs, {len(masks)} masks"
        )


class Merge(Layer):
    """Base of layers that combine tensors entry by entry; a subclass defines `_merge_function`, or `_merge`.

    Call arguments:
        inputs: a list of tensors whose samples' shapes broadcast; missing axes come after the batch.
    """

    _count: int | None = None

    def __init__(self, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the combined tensor."""
        _check_list(self, inputs, self._count)
        try:
            # Without the batch, whose size may be unknown in one input and known in another.
            functools.reduce(tf.broadcast_static_shape, [x.shape[1:] for x in inputs])
        except ValueError:
            raise _refusal(self, "inputs whose shapes broadcast to one shape", inputs) from None
        masks = [_mask(x) for x in inputs]
        inputs = promote(*inputs)
        if any(map(is_sparse, inputs)):
            if self._combines_sparse(inputs, masks):
                return combined(lambda entries: self._merge(entries, masks), inputs)
            inputs = [dense(x) for x in inputs]
        rank = max(x.shape.rank for x in inputs)
        return self._merge([_with_rank(x, rank) for x in inputs], masks)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the mask of entries that are present in any input, if all inputs have a mask."""
        if mask is None:
            return None
        _check_masks(self, inputs, mask)
        if any(each is None for each in mask):
            return None
        return functools.reduce(tf.logical_or, [tf.cast(each, "bool") for each in mask])

    def _combines_sparse(self, inputs: Any, masks: list[Any]) -> bool:
        """Whether the output is sparse: all inputs are, and of one shape."""
        alike = all(is_sparse(x) and inputs[0].shape.is_compatible_with(x.shape) for x in inputs)
        return alike and all(mask is None for mask in masks)

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        """Returns the combination of tensors of one rank; `masks` broadcast to them."""
        return self._merge_function(inputs)

    def _merge_function(self, inputs: list[tf.Tensor]) -> tf.Tensor:
        """Returns the combination of tensors of one rank."""
        raise NotImplementedError(f"{type(self).__name__} must define `_merge_function(inputs)`.")


def _with_rank(x: tf.Tensor, rank: int) -> tf.Tensor:
    for _ in range(rank - x.shape.rank):
        # After the batch axis: samples broadcast from their last axis, as in Keras.
        x = tf.expand_dims(x, 1)
    return x


def _mask(x: tf.Tensor) -> Any:
    """Returns the mask of `x` with an axis of size 1 for each axis that it lacks."""
    mask = get_mask(x)
    if mask is not None:
        for _ in range(x.shape.rank - mask.shape.rank):
            mask = tf.expand_dims(mask, -1)
    return mask


class Add(Merge):
    """The sum of the inputs, entry by entry: `inputs[0] + inputs[1] + ...`.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of tensors.

    Input shape: A list of tensors whose samples' shapes broadcast; missing axes are inserted after
    the batch.

    Output shape: The shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> Add()([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [11.0, 22.0]
    """

    def _merge_function(self, inputs: list[tf.Tensor]) -> tf.Tensor:
        return functools.reduce(tf.add, inputs)


class Subtract(Merge):
    """The difference of two inputs, entry by entry: `inputs[0] - inputs[1]`.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of two tensors.

    Input shape: A list of two tensors whose samples' shapes broadcast; missing axes are inserted
    after the batch.

    Output shape: The shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of two tensors, or if their shapes do not
            broadcast.

    Example:
        >>> Subtract()([tf.constant([11.0, 22.0]), tf.constant([1.0, 2.0])]).numpy().tolist()
        [10.0, 20.0]
    """

    _count = 2

    def _merge_function(self, inputs: list[tf.Tensor]) -> tf.Tensor:
        return inputs[0] - inputs[1]


class Average(Merge):
    """The mean of the inputs, entry by entry: `(inputs[0] + inputs[1] + ...) / n`.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of tensors.

    Input shape: A list of tensors whose samples' shapes broadcast; missing axes are inserted after
    the batch.

    Output shape: The shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> Average()([tf.constant([1.0, 2.0]), tf.constant([3.0, 6.0])]).numpy().tolist()
        [2.0, 4.0]
    """

    def _merge_function(self, inputs: list[tf.Tensor]) -> tf.Tensor:
        return functools.reduce(tf.add, inputs) / len(inputs)


class Multiply(Merge):
    """The product of the inputs, entry by entry: `inputs[0] * inputs[1] * ...`.

    Where some inputs are masked, they count as 1; where all are, the output is 0.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of tensors.

    Input shape: A list of tensors whose samples' shapes broadcast; missing axes are inserted after
    the batch.

    Output shape: The shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> Multiply()([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [10.0, 40.0]
    """

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        factors = [
            # A masked entry is the neutral element of the product.
            x if mask is None else tf.where(mask, x, tf.ones_like(x))
            for x, mask in zip(inputs, masks, strict=True)
        ]
        product = functools.reduce(tf.multiply, factors)
        if any(mask is None for mask in masks):
            return product
        return tf.where(functools.reduce(tf.logical_or, masks), product, tf.zeros_like(product))


class _Extremum(Merge):
    """Combines entries with `_choose`; if some inputs are masked, only the others count."""

    _choose: Callable[[Any, Any], tf.Tensor]

    def _merge(self, inputs: list[tf.Tensor], masks: list[Any]) -> tf.Tensor:
        result, present = inputs[0], masks[0]
        for x, mask in zip(inputs[1:], masks[1:], strict=True):
            if mask is not None:
                x = tf.where(mask, x, result)
            if present is not None:
                result = tf.where(present, result, x)
            # An input without a mask is present everywhere, and so is the result.
            present = None if mask is None or present is None else present | mask
            result = type(self)._choose(result, x)
        return result


class Maximum(_Extremum):
    """The maximum of the inputs, entry by entry.

    Where some inputs are masked, the others decide.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of tensors.

    Input shape: A list of tensors whose samples' shapes broadcast; missing axes are inserted after
    the batch.

    Output shape: The shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> Maximum()([tf.constant([1.0, 5.0]), tf.constant([3.0, 2.0])]).numpy().tolist()
        [3.0, 5.0]
    """

    _choose = staticmethod(tf.maximum)


class Minimum(_Extremum):
    """The minimum of the inputs, entry by entry.

    Where some inputs are masked, the others decide.

    Args:
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of tensors.

    Input shape: A list of tensors whose samples' shapes broadcast; missing axes are inserted after
    the batch.

    Output shape: The shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> Minimum()([tf.constant([1.0, 5.0]), tf.constant([3.0, 2.0])]).numpy().tolist()
        [1.0, 2.0]
    """

    _choose = staticmethod(tf.minimum)


class Concatenate(Merge):
    """Joins the inputs along an axis.

    Args:
        axis: integer, the axis along which the inputs follow each other. Default: `-1`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of tensors.

    Input shape: A list of tensors with equal sizes along all other axes.

    Output shape: The shape of the inputs, with the sum of their sizes along `axis`.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if they differ along another axis.

    Example:
        >>> Concatenate()([tf.ones((2, 3)), tf.ones((2, 4))]).shape
        TensorShape([2, 7])
    """

    def __init__(self, axis: int = -1, **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the joined tensor."""
        _check_list(self, inputs)
        others = [list(x.shape) for x in inputs]
        if any(not -len(sizes) <= self.axis < len(sizes) for sizes in others):
            raise ValueError(
                f"Layer {self._tfkit.title} concatenates along axis {self.axis}, which inputs do not have. "
                f"Received: shapes {[tuple(x.shape) for x in inputs]}"
            )
        # The sizes along the axis may differ, all others must agree.
        for sizes in others:
            sizes[self.axis] = None
        try:
            functools.reduce(tf.TensorShape.merge_with, map(tf.TensorShape, others))
        except ValueError:
            raise ValueError(
                f"Layer {self._tfkit.title} requires inputs with matching shapes except for the "
                f"concatenation axis, {self.axis}. Received: shapes {[tuple(x.shape) for x in inputs]}"
            ) from None
        inputs = promote(*inputs)
        if all(map(is_sparse, inputs)):
            return tf.sparse.concat(self.axis, list(inputs))
        return tf.concat([dense(x) for x in inputs], self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the joined masks; inputs without one are present everywhere."""
        if mask is None:
            return None
        _check_masks(self, inputs, mask)
        if all(each is None for each in mask):
            return None
        # The mask of the output has no features, so the features of a mask are not used.
        masks = [_with_one_feature(x, each) for x, each in zip(inputs, mask, strict=True)]
        return tf.reduce_any(tf.concat(masks, self.axis), axis=-1)


def _with_one_feature(x: Any, mask: Any) -> tf.Tensor:
    """Returns the mask of `x`, true everywhere for `None`, with a last axis of size 1."""
    if mask is None:
        return tf.ones_like(dense(x)[..., :1], dtype="bool")
    mask = tf.cast(mask, "bool")
    if mask.shape.rank < len(x.shape):
        return tf.expand_dims(mask, -1)
    return tf.reduce_any(mask, axis=-1, keepdims=True)


class Dot(Merge):
    """The products of the samples of two inputs, summed over an axis of each.

    For vectors it is the dot product of each pair of samples, for matrices a matrix product.

    Args:
        axes: integer, the axis to sum over, with the batch as axis 0; or a tuple of one for each
            input.
        normalize: whether vectors along the axes are first scaled to length 1, which makes the
            outputs cosines. Default: `False`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        inputs: a list of two tensors.

    Input shape: A list of two tensors with equal sizes along the summed axes.

    Output shape: The batch, the remaining axes of the first input, then the remaining axes of the
    second; `(batch, 1)` where none remain.

    Raises:
        TypeError: if `axes` is neither an integer nor a tuple.
        ValueError: if `axes` has a different form or names the batch, or if the inputs are not two
            tensors of equal sizes along it.

    Example:
        >>> Dot(axes=1)([tf.ones((2, 5)), tf.ones((2, 5))]).numpy().tolist()
        [[5.0], [5.0]]
        >>> Dot(axes=(2, 1))([tf.ones((2, 3, 4)), tf.ones((2, 4, 5))]).shape
        TensorShape([2, 3, 5])
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Unpack[LayerOptions]) -> None:
        if not is_integer(axes) and not isinstance(axes, (list, tuple)):
            raise TypeError(
                "Invalid type of argument `axes` of layer Dot. Expected an integer or a list of two. "
                f"Received: axes={axes!r}"
            )
        holds = is_integer(axes) or (len(axes) == 2 and all(map(is_integer, axes)))
        check(self, holds, "axes", "an integer or a list of two", axes)
        super().__init__(**kwargs)
        self.axes = axes
        self.normalize = normalize

    def call(self, inputs: Any) -> tf.Tensor:
        """Returns the products."""
        _check_list(self, inputs, 2)
        both_sparse = all(map(is_sparse, inputs))
        inputs = promote(*map(dense, inputs))
        given = (self.axes, self.axes) if is_integer(self.axes) else self.axes
        axes = [axis % x.shape.rank for axis, x in zip(given, inputs, strict=True)]
        sizes = [x.shape[axis] for axis, x in zip(axes, inputs, strict=True)]
        if 0 in axes:
            raise _refusal(self, "axes other than the batch, axis 0", inputs)
        if None not in sizes and sizes[0] != sizes[1]:
            raise _refusal(self, f"inputs of equal sizes along the axes {self.axes}", inputs)
        if self.normalize:
            inputs = [_of_length_one(x, axis) for x, axis in zip(inputs, axes, strict=True)]
        # b is the batch, z the axis of the sum.
        letters = iter("acdefghijklmnopqrstuvwxy")
        names = [["b", *(next(letters) for _ in x.shape[1:])] for x in inputs]
        for name, axis in zip(names, axes, strict=True):
            name[axis] = "z"
        left, right = ("".join(name) for name in names)
        kept = (left + right[1:]).replace("z", "")
        dtype = inputs[0].dtype
        # The sum is cast back below, so it may wrap around, as in NumPy.
        if dtype.is_bool or (dtype.is_integer and dtype.size < 4):
            inputs = [tf.cast(x, "int32") for x in inputs]  # TensorFlow has no products of these.
        product = tf.cast(tf.einsum(f"{left},{right}->{kept}", *inputs), dtype)
        # Two vectors give one number for each sample, of shape (batch, 1), as in Keras.
        product = product[:, tf.newaxis] if kept == "b" else product
        return with_shape(tf.sparse.from_dense(product), product.shape) if both_sparse else product

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Returns `None`, since the outputs have no mask."""
        return None


def add(inputs: Any, **kwargs: Any) -> Any:
    """Returns the sum of tensors, entry by entry, as `Add` does.

    Args:
        inputs: list of tensors whose samples' shapes broadcast.
        **kwargs: arguments of the layer `Add`, such as `name`.

    Returns:
        A tensor of the shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> add([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [11.0, 22.0]
    """
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Any:
    """Returns the first tensor minus the second, entry by entry, as `Subtract` does.

    Args:
        inputs: list of two tensors whose samples' shapes broadcast.
        **kwargs: arguments of the layer `Subtract`, such as `name`.

    Returns:
        A tensor of the shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> subtract([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [-9.0, -18.0]
    """
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """Returns the product of tensors, entry by entry, as `Multiply` does.

    Args:
        inputs: list of tensors whose samples' shapes broadcast.
        **kwargs: arguments of the layer `Multiply`, such as `name`.

    Returns:
        A tensor of the shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> multiply([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [10.0, 40.0]
    """
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """Returns the mean of tensors, entry by entry, as `Average` does.

    Args:
        inputs: list of tensors whose samples' shapes broadcast.
        **kwargs: arguments of the layer `Average`, such as `name`.

    Returns:
        A tensor of the shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> average([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [5.5, 11.0]
    """
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    """Returns the maximum of tensors, entry by entry, as `Maximum` does.

    Args:
        inputs: list of tensors whose samples' shapes broadcast.
        **kwargs: arguments of the layer `Maximum`, such as `name`.

    Returns:
        A tensor of the shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> maximum([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [10.0, 20.0]
    """
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    """Returns the minimum of tensors, entry by entry, as `Minimum` does.

    Args:
        inputs: list of tensors whose samples' shapes broadcast.
        **kwargs: arguments of the layer `Minimum`, such as `name`.

    Returns:
        A tensor of the shape to which the inputs broadcast.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if their shapes do not broadcast.

    Example:
        >>> minimum([tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]).numpy().tolist()
        [1.0, 2.0]
    """
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Returns tensors joined along an axis, as `Concatenate` does.

    Args:
        inputs: list of tensors with equal sizes along all other axes.
        axis: integer, the axis along which they follow each other. Default: `-1`.
        **kwargs: arguments of the layer `Concatenate`, such as `name`.

    Returns:
        A tensor with the sum of the sizes along `axis`.

    Raises:
        ValueError: if the inputs are not a list of tensors, or if they differ along another axis.

    Example:
        >>> concatenate([tf.ones((2, 3)), tf.ones((2, 4))]).shape
        TensorShape([2, 7])
    """
    return Concatenate(axis=axis, **kwargs)(inputs)


def _of_length_one(x: tf.Tensor, axis: int) -> tf.Tensor:
    # The square of Keras's epsilon, with which TensorFlow compares the squared norm. It is 0 in float16.
    wide = tf.cast(x, "float32") if x.dtype in (tf.float16, tf.bfloat16) else x
    return tf.cast(tf.math.l2_normalize(wide, axis, epsilon=1e-14), x.dtype)


def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """Returns the products of the samples of two tensors, summed over an axis of each, as `Dot` does.

    Args:
        inputs: list of two tensors with equal sizes along the summed axes.
        axes: integer, the axis to sum over, or a tuple of one for each tensor. Default: `-1`.
        **kwargs: arguments of the layer `Dot`: `normalize` and `name`, for example.

    Returns:
        A tensor whose axes are the batch, the remaining axes of the first tensor, then of the second.

    Raises:
        ValueError: if the inputs are not two tensors of equal sizes along the axes.

    Example:
        >>> dot([tf.ones((2, 5)), tf.ones((2, 5))]).numpy().tolist()
        [[5.0], [5.0]]
    """
    return Dot(axes=axes, **kwargs)(inputs)
