"""Convolutions whose gradients are convolutions.

On CPUs where oneDNN does not take over, TensorFlow's kernels for the gradients of a convolution take two
to three times as long as its kernel for the convolution itself. With strides of one, both gradients are
convolutions. The gradient of the inputs convolves the outputs' gradient with the kernel rotated by 180
degrees; the gradient of the kernel convolves the inputs with the outputs' gradient as a large kernel, summed
over the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.engine import machine, tensorflow_faults
from tfkit.src.engine.derivatives import derivative
from tfkit.src.engine.known_rows import has_rows
from tfkit.src.symbolic.tensors import is_described

# If the sum of its first step has fewer terms, a convolution is slower than TensorFlow's gradient.
_MIN_CHANNELS, _MIN_BATCH = 8, 8


def applies(
    images: tf.Tensor,
    kernel: tf.Tensor,
    strides: int | Sequence[int],
    dilations: int | Sequence[int],
) -> bool:
    """Whether `convolve` supports it, and is faster than TensorFlow on this machine."""
    return (
        images.shape.rank < 5
        and kernel.shape.is_fully_defined()
        and _is_one(strides)
        and _is_one(dilations)
        and _pays()
        and not is_described()
    )


def convolve(images: tf.Tensor, kernel: tf.Tensor, padding: str) -> tf.Tensor:
    """Returns a convolution of images with channels last, with strides of one.

    Args:
        images: `(batch, *sizes, channels)`, with one or two sizes.
        kernel: `(*sizes, channels, filters)`.
        padding: `"VALID"` or `"SAME"`.
    """
    if images.shape.rank == 3:
        return tf.squeeze(convolve(images[:, None], kernel[None], padding), [1])

    @tf.custom_gradient
    def run(images: tf.Tensor, kernel: tf.Tensor) -> Any:
        @derivative
        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return (
                _image_gradient(images, kernel, upstream, padding),
                _kernel_gradient(images, kernel, upstream, padding),
            )

        return tf.nn.conv2d(images, kernel, 1, padding), gradient

    return run(images, kernel)


def _is_one(numbers: int | Sequence[int]) -> bool:
    return set([numbers] if isinstance(numbers, int) else numbers) == {1}


def _pays() -> bool:
    """Whether TensorFlow's own gradients are slower: on a CPU without oneDNN."""
    return machine.device() == "CPU" and not machine.onednn_is_on()


def _image_gradient(
    images: tf.Tensor, kernel: tf.Tensor, upstream: tf.Tensor, padding: str
) -> tf.Tensor:
    height, width, channels, filters = kernel.shape
    if channels < _MIN_CHANNELS:
        return tf.raw_ops.Conv2DBackpropInput(
            input_sizes=tf.shape(images),
            filter=kernel,
            out_backprop=upstream,
            strides=[1, 1, 1, 1],
            padding=padding,
        )
    # Reversed by `gather`: the general kernel for strides of -1 is slower than the convolution.
    points = tf.reshape(kernel, [height * width, channels, filters])
    turned = tf.transpose(tf.gather(points, range(height * width)[::-1]), [0, 2, 1])
    borders = [
        [size - 1 - before, size - 1 - after]
        for size, (before, after) in zip((height, width), _borders(kernel, padding), strict=True)
    ]
    # The gradient for the images is a convolution with the kernel rotated by 180 degrees, and inputs and
    # outputs swapped.
    turned = tf.reshape(turned, [height, width, filters, channels])
    return tf.nn.conv2d(upstream, turned, 1, [[0, 0], *borders, [0, 0]])


def _kernel_gradient(
    images: tf.Tensor, kernel: tf.Tensor, upstream: tf.Tensor, padding: str
) -> tf.Tensor:
    batch = images.shape[0]

    def by_convolution() -> tf.Tensor:
        some_images, some_upstream = images, upstream
        if batch is None and not has_rows(images):
            some_images, some_upstream = map(tensorflow_faults.at_least_one_row, (images, upstream))
        # The gradient for the kernel is a convolution of the images with the upstream gradient, in
        # which the batch plays the role of the channels.
        gradient = tf.nn.conv2d(
            tf.transpose(some_images, [3, 1, 2, 0]),  # (channels, height, width, batch)
            tf.transpose(some_upstream, [1, 2, 0, 3]),  # (height, width, batch, filters)
            1,
            [[0, 0], *_borders(kernel, padding), [0, 0]],
        )
        return tf.ensure_shape(tf.transpose(gradient, [1, 2, 0, 3]), kernel.shape)

    def by_kernel() -> tf.Tensor:
        return tf.raw_ops.Conv2DBackpropFilter(
            input=images,
            filter_sizes=tf.shape(kernel),
            out_backprop=upstream,
            strides=[1, 1, 1, 1],
            padding=padding,
        )

    if kernel.shape[0] * kernel.shape[1] == 1 or (batch is not None and batch < _MIN_BATCH):
        return by_kernel()
    if batch is not None:
        return by_convolution()
    # The batch size is known only at run time; the last batch of an epoch may be small.
    return tf.cond(tf.shape(images)[0] < _MIN_BATCH, by_kernel, by_convolution)


def _borders(kernel: tf.Tensor, padding: str) -> list[list[int]]:
    """Returns the numbers of zeros before and after the images, in each of the two directions."""
    if padding == "VALID":
        return [[0, 0], [0, 0]]
    return [[(size - 1) // 2, size // 2] for size in kernel.shape[:2]]
