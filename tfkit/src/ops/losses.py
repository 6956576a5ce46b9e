"""Crossentropies, encodings of labels, and CTC."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.ops.checks import one_axis
from tfkit.src.ops.promotion import as_tensor, promote_tensors, to_dtype, to_float, to_float32
from tfkit.src.ops.shaping import moveaxis
from tfkit.src.symbolic.logits import find
from tfkit.src.symbolic.tensors import symbolic_op


def _find_logits(output: Any, from_logits: bool, activation: str, name: str) -> tuple[Any, bool]:
    """Returns the logits if they are known: crossentropy is exact for logits, but not for probabilities.

    They are known when the caller says so, when `sigmoid` or `softmax` of this package left them on
    their result, and in a graph, where the operation that made `output` can be examined.
    """
    logits = find(output, activation)
    if logits is None:
        return output, from_logits
    if from_logits:
        warn(
            f"`{name}` received `from_logits=True`, but `output` was produced by a {activation} "
            "activation and thus does not represent logits. Was this intended?"
        )
    return logits, True


def _check_same_shape(target: Any, output: Any) -> None:
    if target.shape.rank != output.shape.rank or not target.shape.is_compatible_with(output.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )


def clip_probabilities(probabilities: tf.Tensor) -> tf.Tensor:
    """Returns probabilities clipped away from 0 and 1, so that logarithms are finite."""
    return tf.clip_by_value(probabilities, settings.epsilon(), 1.0 - settings.epsilon())


@symbolic_op
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> tf.Tensor:
    """Returns `-target * log(output) - (1 - target) * log(1 - output)`, element by element.

    Probabilities are kept `settings.epsilon()` away from 0 and 1. The logits of an `output` that
    comes from `sigmoid` are used in its place, since they are exact.

    Args:
        target: true probabilities, a float tensor of the shape and dtype of `output`.
        output: predicted probabilities, or logits.
        from_logits: whether `output` holds logits, to which a sigmoid has still to be applied.
            Default: `False`.

    Returns:
        A tensor of the shape and dtype of `output`: no mean is taken.

    Warns:
        UserWarning: when `from_logits` is true for an `output` that comes from `sigmoid`.

    Raises:
        ValueError: when the shapes differ.

    Example:
        >>> ops.binary_crossentropy([1.0, 0.0], [0.9, 0.2]).numpy().round(4)
        array([0.1054, 0.2231], dtype=float32)
    """
    target, output = as_tensor(target), as_tensor(output)
    _check_same_shape(target, output)
    output, from_logits = _find_logits(output, from_logits, "Sigmoid", "binary_crossentropy")
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(target, output)
    output = clip_probabilities(output)
    return -(target * tf.math.log(output) + (1 - target) * tf.math.log(1 - output))


@symbolic_op
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """Returns `-sum(target * log(output))` over the classes.

    Probabilities are divided by their sum and kept `settings.epsilon()` away from 0 and 1. The
    logits of an `output` that comes from `softmax` are used in its place, since they are exact.

    Args:
        target: true probabilities, a float tensor of the shape and dtype of `output`.
        output: predicted probabilities, or logits, with at least one axis.
        from_logits: whether `output` holds logits, to which a softmax has still to be applied.
            Default: `False`.
        axis: axis of the classes. Default: `-1`.

    Returns:
        A tensor of the shape of `output` without the axis `axis`, and of its dtype.

    Warns:
        UserWarning: when `from_logits` is true for an `output` that comes from `softmax`.

    Raises:
        ValueError: when the shapes differ, or there is no axis.

    Example:
        >>> target, output = [[0.0, 1.0, 0.0]], [[0.1, 0.8, 0.1]]
        >>> ops.categorical_crossentropy(target, output).numpy().round(4)
        array([0.2231], dtype=float32)
    """
    target, output = as_tensor(target), as_tensor(output)
    if target.shape.rank == 0:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    _check_same_shape(target, output)
    output, from_logits = _find_logits(output, from_logits, "Softmax", "categorical_crossentropy")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(target, output, axis)
    output = clip_probabilities(output / tf.reduce_sum(output, axis, keepdims=True))
    return -tf.reduce_sum(target * tf.math.log(output), axis)


@symbolic_op
def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """Returns `-log(output[target])` over the classes in one axis.

    Probabilities are kept `settings.epsilon()` away from 0 and 1 and then divided by their sum. The
    logits of an `output` that comes from `softmax` are used in its place, since they are exact.

    Args:
        target: ids of the true classes, a tensor of the shape of `output` without the axis of
            classes, or with size 1 there.
        output: predicted probabilities, or logits, with at least one axis.
        from_logits: whether `output` holds logits, to which a softmax has still to be applied.
            Default: `False`.
        axis: axis of the classes. Default: `-1`.

    Returns:
        A tensor of the shape of `output` without the axis of classes, and of its dtype.

    Warns:
        UserWarning: when `from_logits` is true for an `output` that comes from `softmax`.

    Raises:
        ValueError: for an axis that `output` does not have, and when the shapes do not fit.
        InvalidArgumentError: for the number of a class that does not exist.

    Example:
        >>> output = [[0.1, 0.8, 0.1], [0.5, 0.25, 0.25]]
        >>> ops.sparse_categorical_crossentropy([1, 0], output).numpy().round(4)
        array([0.2231, 0.6931], dtype=float32)
    """
    output = as_tensor(output)
    target = tf.cast(target, tf.int64)
    if output.shape.rank == 0:
        raise ValueError(
            f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}"
        )
    place = one_axis(axis, output.shape.rank)
    if target.shape.rank == output.shape.rank and target.shape[place] == 1:
        target = tf.squeeze(target, place)
    if not target.shape.is_compatible_with(output.shape[:place] + output.shape[place + 1 :]):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape but for the axis of classes. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}, axis={axis}"
        )
    output, from_logits = _find_logits(
        output, from_logits, "Softmax", "sparse_categorical_crossentropy"
    )
    if place != output.shape.rank - 1:
        output = moveaxis(output, place, -1)
    if not from_logits:
        # `sparse_softmax_crossentropy` accepts logits: log(p) are logits of p.
        output = tf.math.log(clip_probabilities(output))
    return sparse_softmax_crossentropy(target, output)


def sparse_softmax_crossentropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Returns `-log(softmax(logits)[labels])`, of the shape of `labels`."""
    sizes = labels.shape[1:]
    num_classes = logits.shape[-1]
    if not sizes.rank or not sizes.is_fully_defined() or num_classes is None:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    # TensorFlow's own reshape loses the static number of classes, and so would the guard of the labels.
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.reshape(labels, [-1]), tf.reshape(logits, [-1, num_classes])
    )
    return tf.reshape(losses, [-1, *sizes])


# --- Encodings of labels --------------------------------------------------------------------------


@symbolic_op
def one_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """Returns class ids as vectors with a one at the index of the class and zeros elsewhere.

    Args:
        x: class ids, a tensor of integers of any shape; an id outside of [0, num_classes) gives
            only zeros.
        num_classes: number of classes.
        axis: position of the class axis in the result. Default: `-1`.
        dtype: dtype of the result; `None` for float32.
        sparse: whether to return a `tf.SparseTensor`. Default: `False`.

    Returns:
        A tensor of the shape of `x` with a new axis of size `num_classes`.

    Example:
        >>> ops.one_hot([0, 2, -1], 3).numpy().tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
        >>> ops.one_hot([0, 2], 3, axis=0, dtype="int32").numpy().tolist()
        [[1, 0], [0, 0], [0, 1]]
    """
    dtype = tf.float32 if dtype is None else tf.as_dtype(standardize_dtype(dtype))
    x = tf.cast(x, tf.int64)
    if dtype == tf.bool:
        result = tf.one_hot(x, num_classes, True, False, axis, dtype)
    else:
        result = tf.one_hot(x, num_classes, axis=axis, dtype=dtype)
    return tf.sparse.from_dense(result) if sparse else result


@symbolic_op
def multi_hot(
    inputs: Any,
    num_classes: int | None = None,
    axis: int = -1,
    dtype: Any = None,
    sparse: bool = False,
) -> Any:
    """Returns lists of class ids as vectors with a one at the index of each class in the list.

    Args:
        inputs: class ids, a tensor of integers of shape `(batch, ..., n)` or `(n,)`; ids outside
            of [0, num_classes) are left out.
        num_classes: number of classes; it must be given.
        axis: position of the class axis. Default: `-1`.
        dtype: dtype of the result; `None` for the default float dtype.
        sparse: whether to return a `tf.SparseTensor`. Default: `False`.

    Returns:
        A tensor in which an axis of size `num_classes` replaces the axis of the lists.

    Raises:
        ValueError: without `num_classes`.

    Example:
        >>> ops.multi_hot([[0, 2], [1, 1]], 3).numpy().tolist()
        [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if num_classes is None:
        raise ValueError("Argument `num_classes` must be specified. Received: num_classes=None")
    inputs = as_tensor(inputs)
    dtype = tf.as_dtype(standardize_dtype(dtype))
    result = one_hot(inputs, num_classes, axis, dtype)
    fold = tf.reduce_any if dtype == tf.bool else tf.reduce_max
    result = fold(result, 1 if inputs.shape.rank > 1 else 0)
    return tf.sparse.from_dense(result) if sparse else result


# --- Sequences ------------------------------------------------------------------------------------


@symbolic_op
def ctc_loss(
    target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0
) -> tf.Tensor:
    """Returns the loss of connectionist temporal classification.

    It is `-log` of the probability of all alignments of a sequence of labels with the time steps.

    Args:
        target: labels, integers of shape `(batch, labels)`.
        output: logits, a tensor of shape `(batch, time, classes)`; half precision is cast to
            float32.
        target_length: number of labels that count, integers of shape `(batch,)`.
        output_length: number of time steps that count, integers of shape `(batch,)`.
        mask_index: number of the class that means "no label". Default: `0`.

    Returns:
        A tensor of shape `(batch,)`, of float32 or float64; very large where there are too few
        time steps for the labels.

    Raises:
        ValueError: for a different number of axes, and for batches of different sizes.

    Reference:
        Graves et al., "Connectionist temporal classification", 2006.

    Example:
        >>> ops.ctc_loss([[1, 2]], tf.zeros((1, 4, 3)), [2], [4]).numpy().round(4)
        array([1.6864], dtype=float32)
    """
    output = to_float32(output)
    arguments = {
        "target": (as_tensor(target), 2),
        "output": (output, 3),
        "target_length": (as_tensor(target_length), 1),
        "output_length": (as_tensor(output_length), 1),
    }
    shapes = ", ".join(f"{name}.shape={x.shape}" for name, (x, _) in arguments.items())
    if any(x.shape.rank not in (rank, None) for x, rank in arguments.values()):
        raise ValueError(
            "`ctc_loss` needs `target` of the shape (batch, labels), `output` of "
            f"(batch, time, classes), and two lengths of (batch,). Received: {shapes}"
        )
    if len({x.shape[0] for x, _ in arguments.values()} - {None}) > 1:
        raise ValueError(
            f"The arguments of `ctc_loss` must have the same first dimension. Received: {shapes}"
        )
    # The kernel has no float64.
    computed = tf.cast(output, tf.float32) if output.dtype == tf.float64 else output
    loss = tf.nn.ctc_loss(
        tf.cast(target, tf.int32),
        computed,
        target_length,
        output_length,
        logits_time_major=False,
        blank_index=mask_index,
    )
    return tf.cast(loss, output.dtype)


@symbolic_op
def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the likeliest sequences of labels for sequences of logits.

    Args:
        inputs: logits, a tensor of shape `(batch, time, classes)`; half precision is cast to
            float32.
        sequence_lengths: number of time steps that count, integers of shape `(batch,)`.
        strategy: `"greedy"` (the likeliest class of each step) or `"beam_search"`.
            Default: `"greedy"`.
        beam_width: number of sequences that the beam search keeps. Default: `100`.
        top_paths: number of sequences that the beam search returns, at most `beam_width`.
            Default: `1`.
        merge_repeated: whether the greedy strategy merges equal neighbours. Default: `True`.
        mask_index: number of the class that means "no label"; `None` for the last one.
            Default: `0`.

    Returns:
        A pair of int32 labels of shape `(paths, batch, time)`, with -1 after the end, and scores
        of shape `(batch, paths)`: negative sums of logits for the greedy strategy, logarithms of
        probabilities for the beam search.

    Raises:
        ValueError: for any other strategy.

    Reference:
        Graves et al., "Connectionist temporal classification", 2006.

    Example:
        >>> logits = tf.constant([[[0.0, 5.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 5.0]]])
        >>> labels, scores = ops.ctc_decode(logits, [3])
        >>> labels.numpy().tolist(), scores.numpy().tolist()
        ([[[1, 2, -1]]], [[-15.0]])
    """
    inputs = to_float32(inputs)
    sequence_lengths = tf.cast(sequence_lengths, tf.int32)
    shape = tf.cast(tf.shape(inputs)[:2], tf.int64)
    num_classes = inputs.shape[-1]
    by_time = tf.transpose(inputs, [1, 0, 2])  # (time, batch, classes)
    if strategy == "greedy":
        paths, scores = tf.nn.ctc_greedy_decoder(
            by_time, sequence_lengths, merge_repeated, mask_index
        )
    elif strategy == "beam_search":
        if mask_index is not None:
            # The beam search uses the last class for "no label".
            mask_index %= num_classes
            others = [by_time[..., :mask_index], by_time[..., mask_index + 1 :]]
            by_time = tf.concat([*others, by_time[..., mask_index : mask_index + 1]], -1)
        paths, scores = tf.nn.ctc_beam_search_decoder(
            by_time, sequence_lengths, beam_width, top_paths
        )
    else:
        raise ValueError(
            f"Invalid strategy: expected 'greedy' or 'beam_search'. Received: strategy={strategy!r}"
        )
    dense = [
        tf.sparse.to_dense(tf.SparseTensor(path.indices, path.values, shape), -1) for path in paths
    ]
    decoded = tf.cast(tf.stack(dense), tf.int32)
    if strategy == "beam_search" and mask_index is not None:
        # Undoes the move of the blank class to the end.
        decoded = tf.where(decoded >= mask_index, decoded + 1, decoded)
    return decoded, scores


@symbolic_op
def psnr(x1: Any, x2: Any, max_val: float) -> tf.Tensor:
    """Returns the peak signal-to-noise ratio of two tensors, in decibels.

    It is `10 * log10(max_val**2 / mean((x1 - x2)**2))`: the larger, the more alike they are.

    Args:
        x1: a tensor of any shape; integers become the default float dtype.
        x2: a tensor of the same shape.
        max_val: largest value that an element can have: 1.0 or 255.0 for most images.

    Returns:
        A scalar of the common dtype of both; infinity for equal tensors.

    Raises:
        ValueError: when the shapes differ.

    Example:
        >>> round(float(ops.psnr([0.0, 1.0], [0.0, 0.5], max_val=1.0)), 3)
        9.031
    """
    x1, x2 = map(to_float, promote_tensors(x1, x2))
    if not x1.shape.is_compatible_with(x2.shape):
        raise ValueError(f"Input shapes must match. Received: {x1.shape} and {x2.shape}")
    # 255 * 255 / 0.9 is more than float16 has.
    error = tf.reduce_mean(tf.square(to_float32(x1) - to_float32(x2)))
    ratio = tf.square(to_dtype(max_val, error.dtype)) / error
    return tf.cast(10 * tf.math.log(ratio) / tf.math.log(tf.constant(10, error.dtype)), x1.dtype)
