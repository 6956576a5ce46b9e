"""Functions of `tf.keras.backend` for layers and losses: convolutions, pooling, padding, CTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.losses import binary, categorical
from tfkit.src.ops import convolution, losses, pooling, transposed_convolution

Sizes = int | Sequence[int]


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> tf.Tensor:
    """Returns `gamma (x - mean) / sqrt(var + epsilon) + beta`, with the parameters along an axis."""
    x = tf.convert_to_tensor(x)
    # Vectors of parameters get axes of size 1, so that they broadcast along `axis`.
    sizes = [1] * len(x.shape)
    sizes[axis] = -1
    wide = [
        None if each is None else each if len(each.shape) == len(sizes) else tf.reshape(each, sizes)
        for each in (mean, var, beta, gamma)
    ]
    return tf.nn.batch_normalization(x, *wide, epsilon)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> tf.Tensor:
    """Returns `x + bias`, with the bias along the channels, or with one entry for each entry of a row."""
    x, bias = tf.convert_to_tensor(x), tf.convert_to_tensor(bias)
    rank = len(x.shape)
    if len(bias.shape) not in (1, rank - 1):
        raise ValueError(
            f"`bias` must have 1 axis or {rank - 1}, one fewer than `x`. Received: shape {bias.shape}"
        )
    if _layout(data_format) == "channels_first" and rank > 2:
        # The channels of x come after the batch: those of the bias move to its front.
        order = (
            [*bias.shape, *[1] * (rank - 2)]
            if len(bias.shape) == 1
            else [bias.shape[-1], *bias.shape[:-1]]
        )
        return x + tf.reshape(bias, [1, *order])
    return x + bias


def _layout(data_format: str | None) -> str:
    return data_format or settings.image_data_format()


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> tf.Tensor:
    """Returns the binary crossentropy, entry by entry."""
    return losses.binary_crossentropy(tf.convert_to_tensor(target), output, from_logits)


def binary_focal_crossentropy(
    target: Any,
    output: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> tf.Tensor:
    """Returns the binary focal crossentropy, entry by entry."""
    # The loss takes a mean over its last axis, which is of size 1 here.
    return binary.binary_focal_crossentropy(
        tf.expand_dims(target, -1),
        tf.expand_dims(output, -1),
        apply_class_balancing,
        alpha,
        gamma,
        from_logits,
    )


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """Returns the categorical crossentropy along an axis."""
    return losses.categorical_crossentropy(target, output, from_logits, axis)


def categorical_focal_crossentropy(
    target: Any,
    output: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> tf.Tensor:
    """Returns the categorical focal crossentropy along an axis."""
    return categorical.categorical_focal_crossentropy(
        target, output, alpha, gamma, from_logits, axis=axis
    )


def sparse_categorical_crossentropy(
    target: Any,
    output: Any,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> tf.Tensor:
    """Returns the crossentropy with class indices; 0 where the index is `ignore_class`."""
    return categorical.sparse_categorical_crossentropy(
        target, output, from_logits, ignore_class, axis
    )


def conv1d(
    x: Any,
    kernel: Any,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> tf.Tensor:
    """Returns a convolution over one axis; `padding` may be `"causal"`."""
    if padding == "causal":
        # Zeros on the left only: a step sees itself and earlier ones.
        left = dilation_rate * (tf.convert_to_tensor(kernel).shape[0] - 1)
        sides = [[0, 0], [0, 0], [left, 0]] if _layout(data_format) == "channels_first" else None
        x, padding = tf.pad(x, sides or [[0, 0], [left, 0], [0, 0]]), "valid"
    return convolution.conv(x, kernel, strides, padding, data_format, dilation_rate)


def conv2d(
    x: Any,
    kernel: Any,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> tf.Tensor:
    """Returns a convolution over two axes."""
    return convolution.conv(x, kernel, strides, padding, data_format, dilation_rate)


def conv3d(
    x: Any,
    kernel: Any,
    strides: Sizes = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1, 1),
) -> tf.Tensor:
    """Returns a convolution over three axes."""
    return convolution.conv(x, kernel, strides, padding, data_format, dilation_rate)


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> tf.Tensor:
    """Returns a convolution of each channel alone, over two axes."""
    return convolution.depthwise_conv(
        x, depthwise_kernel, strides, padding, data_format, dilation_rate
    )


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> tf.Tensor:
    """Returns a convolution of each channel alone, followed by one of size 1."""
    return convolution.separable_conv(
        x, depthwise_kernel, pointwise_kernel, strides, padding, data_format, dilation_rate
    )


def pool2d(
    x: Any,
    pool_size: Sizes,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> tf.Tensor:
    """Returns the largest entries of windows over two axes, or with `pool_mode="avg"` their means."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Sizes,
    strides: Sizes = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> tf.Tensor:
    """Returns the largest entries of windows over three axes, or with `pool_mode="avg"` their means."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode)


def _pool(
    x: Any, size: Sizes, strides: Sizes, padding: str, data_format: str | None, mode: str
) -> tf.Tensor:
    if mode not in ("max", "avg"):
        raise ValueError(f'`pool_mode` must be "max" or "avg". Received: pool_mode={mode!r}')
    pool = pooling.max_pool if mode == "max" else pooling.average_pool
    return pool(x, size, strides, padding, data_format)


def dropout(x: Any, level: float, noise_shape: Any = None, seed: int | None = None) -> tf.Tensor:
    """Returns `x` with a fraction `level` of its entries set to 0, the others divided by `1 - level`."""
    # From NumPy's generator, as in `tf.keras`: `np.random.seed` makes it repeatable.
    seed = int(np.random.randint(10_000_000)) if seed is None else seed
    return tf.nn.dropout(x, level, noise_shape, seed)


def in_top_k(predictions: Any, targets: Any, k: int) -> tf.Tensor:
    """Returns whether each class index is among the `k` classes with the largest predictions."""
    return tf.math.in_top_k(targets, predictions, k)


def temporal_padding(x: Any, padding: Sequence[int] = (1, 1)) -> tf.Tensor:
    """Returns steps `(batch, steps, features)` with zeros before and after them."""
    return tf.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: Any, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1)), data_format: str | None = None
) -> tf.Tensor:
    """Returns images with zeros around them."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: Any,
    padding: Sequence[Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
    data_format: str | None = None,
) -> tf.Tensor:
    """Returns volumes with zeros around them."""
    return _padded(x, padding, data_format)


def _padded(x: Any, padding: Sequence[Sequence[int]], data_format: str | None) -> tf.Tensor:
    sides = [list(pair) for pair in padding]
    outer: list[list[int]] = [[0, 0]]
    channels_first = _layout(data_format) == "channels_first"
    return tf.pad(x, [*outer, *outer, *sides] if channels_first else [*outer, *sides, *outer])


def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> tf.Tensor:
    """Returns volumes with each entry repeated along the three axes."""
    first = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = tf.repeat(x, factor, axis)
    return x


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> tf.Tensor:
    """Returns images enlarged by whole factors, by `"nearest"`, `"bilinear"`, `"bicubic"`, ..."""
    x = tf.convert_to_tensor(x)
    channels_first = data_format == "channels_first"
    if channels_first:
        x = tf.transpose(x, [0, 2, 3, 1])
    height, width = (
        tf.shape(x)[axis] if x.shape[axis] is None else x.shape[axis] for axis in (1, 2)
    )
    x = tf.image.resize(x, [height * height_factor, width * width_factor], interpolation)
    return tf.transpose(x, [0, 3, 1, 2]) if channels_first else x


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Sizes = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = (1, 1),
) -> tf.Tensor:
    """Returns the gradient of a convolution over two axes: from its outputs to its inputs of `output_shape`.

    The first entry of `output_shape` may be `None`, for the batch size.
    """
    x = tf.convert_to_tensor(x)
    channels_first = _layout(data_format) == "channels_first"
    sizes = list(output_shape)
    if channels_first:
        # TensorFlow's CPU kernels need the channels last.
        x, sizes = tf.transpose(x, [0, 2, 3, 1]), [sizes[i] for i in (0, 2, 3, 1)]
    sizes[0] = tf.shape(x)[0] if sizes[0] is None else sizes[0]
    strides, rates = (
        [each] * 2 if isinstance(each, int) else list(each) for each in (strides, dilation_rate)
    )
    # TensorFlow's function for dilations has one rate for both axes, and no strides.
    kernel = transposed_convolution.with_zeros_between(tf.convert_to_tensor(kernel), rates)
    x = tf.nn.conv2d_transpose(x, kernel, tf.stack(sizes), strides, padding.upper())
    return tf.transpose(x, [0, 3, 1, 2]) if channels_first else x


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> tf.SparseTensor:
    """Returns rows of labels as a sparse tensor, without the labels beyond the length of each row."""
    labels = tf.convert_to_tensor(labels)
    inside = tf.sequence_mask(tf.cast(label_lengths, tf.int64), tf.shape(labels)[1])
    indices = tf.where(inside)
    return tf.SparseTensor(indices, tf.gather_nd(labels, indices), tf.shape(labels, tf.int64))


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> tf.Tensor:
    """Returns the CTC loss of each sequence of a batch; the last class is the blank.

    Args:
        y_true: labels of shape `(batch, labels)`.
        y_pred: probabilities of shape `(batch, steps, classes)`.
        input_length: the number of steps that count in each row, of shape `(batch, 1)`.
        label_length: the number of labels that count in each row, of shape `(batch, 1)`.

    Returns:
        The losses, of shape `(batch, 1)`.
    """
    y_pred = tf.convert_to_tensor(y_pred)
    loss = tf.nn.ctc_loss(
        tf.cast(y_true, tf.int32),
        # Logarithms serve as logits: the softmax of the
        # loss turns them into the probabilities again.
        tf.math.log(y_pred + settings.epsilon()),
        tf.cast(tf.squeeze(label_length, [-1]), tf.int32),
        tf.cast(tf.squeeze(input_length, [-1]), tf.int32),
        logits_time_major=False,
        blank_index=y_pred.shape[-1] - 1,
    )
    return tf.expand_dims(loss, 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Returns the most likely labels for probabilities of steps; the last class is the blank.

    Args:
        y_pred: probabilities of shape `(batch, steps, classes)`.
        input_length: the number of steps that count in each row, of shape `(batch,)`.
        greedy: whether the most likely class of each step is chosen. Otherwise a beam search is used.
            Default: `True`.
        beam_width: number of beams. Default: `100`.
        top_paths: how many results the beam search returns. Default: `1`.

    Returns:
        A list of `top_paths` tensors of shape `(batch, labels)`, with -1 after the labels; and
        their scores of shape
        `(batch, top_paths)`: log probabilities for beam search, otherwise negative sums of logarithms.
    """
    y_pred = tf.convert_to_tensor(y_pred)
    batch, steps = tf.shape(y_pred)[0], tf.shape(y_pred)[1]
    # Shape (steps, batch, classes), as the decoders need it.
    logits = tf.math.log(tf.transpose(y_pred, [1, 0, 2]) + settings.epsilon())
    lengths = tf.cast(input_length, tf.int32)
    if greedy:
        decoded, scores = tf.nn.ctc_greedy_decoder(logits, lengths)
    else:
        decoded, scores = tf.nn.ctc_beam_search_decoder(logits, lengths, beam_width, top_paths)
    dense = [
        # All paths get as many columns as the inputs have steps, filled up with -1.
        tf.sparse.to_dense(
            tf.SparseTensor(each.indices, each.values, tf.cast([batch, steps], tf.int64)), -1
        )
        for each in decoded
    ]
    return dense, scores
