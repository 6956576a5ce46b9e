"""Crossentropies, and what stands beside them: encodings of labels and CTC."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import config
from tfkit.dtypes import standardize_dtype
from tfkit.frames import warn
from tfkit.ops.promotion import as_tensor, promote_tensors, to_dtype, to_float32
from tfkit.symbolic import symbolic_op


def _find_logits(output: Any, from_logits: bool, activation: str, name: str) -> tuple[Any, bool]:
    """The logits where they are known: crossentropy of logits is exact, of probabilities not.

    They are known when the caller says so, when `sigmoid` or `softmax` of this package left them on
    their result, and in a graph, where the operation that made `output` can be looked at.
    """
    logits = getattr(output, "_keras_logits", None)
    if logits is None and not tf.executing_eagerly() and isinstance(output, tf.Tensor):
        operation = output.op
        logits = operation.inputs[0] if operation.type == activation else None
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


def _clip(output: Any) -> tf.Tensor:
    return tf.clip_by_value(output, config.epsilon(), 1.0 - config.epsilon())


@symbolic_op
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> tf.Tensor:
    """`-target log(output) - (1 - target) log(1 - output)`, element by element.

    Args:
        target: probabilities of the true distribution.
        output: predicted probabilities, of the same shape.
        from_logits: whether `output` is what a sigmoid has still to be applied to.

    Raises:
        ValueError: when the shapes differ.
    """
    target, output = as_tensor(target), as_tensor(output)
    _check_same_shape(target, output)
    output, from_logits = _find_logits(output, from_logits, "Sigmoid", "binary_crossentropy")
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(target, output)
    output = _clip(output)
    return -(target * tf.math.log(output) + (1 - target) * tf.math.log(1 - output))


@symbolic_op
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """`-sum(target * log(output))` over the classes in `axis`.

    Args:
        target: probabilities of the true distribution.
        output: predicted probabilities, of the same shape; scaled to a sum of 1.
        from_logits: whether `output` is what a softmax has still to be applied to.
        axis: the axis of the classes.

    Raises:
        ValueError: when the shapes differ, or there is no axis.
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
    output = _clip(output / tf.reduce_sum(output, axis, keepdims=True))
    return -tf.reduce_sum(target * tf.math.log(output), axis)


@symbolic_op
def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """`-log(output[target])` over the classes in the last axis.

    Args:
        target: numbers of the true classes, of the shape of `output` without its last axis (or with
            a last axis of size 1).
        output: predicted probabilities.
        from_logits: whether `output` is what a softmax has still to be applied to.
        axis: the axis of the classes; only the last one is possible.

    Raises:
        ValueError: for another axis, and when the shapes do not fit.
    """
    output = as_tensor(output)
    target = tf.cast(target, tf.int64)
    if axis not in (-1, output.shape.rank - 1):
        raise ValueError(f"Only axis=-1 is currently supported. Received: axis={axis}")
    if output.shape.rank == 0:
        raise ValueError(
            f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}"
        )
    if target.shape.rank == output.shape.rank and target.shape[-1] == 1:
        target = tf.squeeze(target, -1)
    if target.shape.rank != output.shape.rank - 1 or not target.shape.is_compatible_with(
        output.shape[:-1]
    ):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    output, from_logits = _find_logits(
        output, from_logits, "Softmax", "sparse_categorical_crossentropy"
    )
    if not from_logits:
        output = tf.math.log(_clip(output))
    return sparse_softmax_crossentropy(target, output)


def sparse_softmax_crossentropy(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """`-log(softmax(logits)[labels])`, of the shape of `labels`: that of `logits` without its last axis."""
    sizes = labels.shape[1:]
    num_classes = logits.shape[-1]
    if not sizes.rank or not sizes.is_fully_defined() or num_classes is None:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    # TensorFlow's own reshape forgets how many classes there are, and so does what guards the labels.
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.reshape(labels, [-1]), tf.reshape(logits, [-1, num_classes])
    )
    return tf.reshape(losses, [-1, *sizes])


# --- Encodings of labels --------------------------------------------------------------------------


@symbolic_op
def one_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """Class numbers as vectors with a one at the place of the class, zeros elsewhere.

    Args:
        x: class numbers; those outside the range give zeros alone.
        num_classes: how many classes there are.
        axis: where the new axis stands.
        dtype: float32 unless given.
        sparse: whether to give a sparse tensor.
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
    """Lists of class numbers as vectors with a one at the place of each class in the list.

    Args:
        inputs: class numbers, one list a row.
        num_classes: how many classes there are.
        axis: where the axis of the classes stands.
        dtype: the default float type unless given.
        sparse: whether to give a sparse tensor.

    Raises:
        ValueError: without `num_classes`.
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
    """The loss of connectionist temporal classification, one number a sequence.

    Args:
        target: class numbers, `(batch, labels)`.
        output: logits, `(batch, time, classes)`.
        target_length: how many labels count, `(batch,)`.
        output_length: how many time steps count, `(batch,)`.
        mask_index: the class that stands for "no label".

    Raises:
        ValueError: for another number of axes, and for batches of different sizes.

    Reference:
        Graves et al., "Connectionist temporal classification", 2006.
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
    """The likeliest labellings of sequences of logits.

    Args:
        inputs: logits, `(batch, time, classes)`.
        sequence_lengths: how many time steps count, `(batch,)`.
        strategy: `"greedy"` or `"beam_search"`.
        beam_width: how many labellings a beam search keeps.
        top_paths: how many labellings a beam search gives.
        merge_repeated: whether the greedy strategy merges equal neighbours.
        mask_index: the class that stands for "no label"; `None` for the last one.

    Returns:
        Class numbers, `(paths, batch, time)`, with -1 after the end, and a score for each path.

    Raises:
        ValueError: for another strategy.
    """
    inputs = to_float32(inputs)
    sequence_lengths = tf.cast(sequence_lengths, tf.int32)
    shape = tf.cast(tf.shape(inputs)[:2], tf.int64)
    num_classes = inputs.shape[-1]
    by_time = tf.transpose(inputs, [1, 0, 2])
    if strategy == "greedy":
        paths, scores = tf.nn.ctc_greedy_decoder(
            by_time, sequence_lengths, merge_repeated, mask_index
        )
    elif strategy == "beam_search":
        if mask_index is not None:
            # The beam search takes the last class for "no label".
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
        decoded = tf.where(decoded >= mask_index, decoded + 1, decoded)
    return decoded, scores


@symbolic_op
def psnr(x1: Any, x2: Any, max_val: float) -> tf.Tensor:
    """The peak signal-to-noise ratio of two images, in decibels.

    Args:
        x1: an image.
        x2: an image of the same shape.
        max_val: the greatest value that a pixel can have.

    Raises:
        ValueError: when the shapes differ.
    """
    x1, x2 = promote_tensors(x1, x2)
    if not x1.shape.is_compatible_with(x2.shape):
        raise ValueError(f"Input shapes must match. Received: {x1.shape} and {x2.shape}")
    error = tf.reduce_mean(tf.square(x1 - x2))
    ratio = tf.square(to_dtype(max_val, x1.dtype)) / error
    return 10 * tf.math.log(ratio) / tf.math.log(tf.constant(10, x1.dtype))
