"""Transposed convolutions of images with channels last.

TensorFlow computes them with its kernels for the gradients of convolutions. On CPU these support no dilation
unless they are oneDNN's, and refuse some output paddings; with strides of one they are slower than a
convolution if `convolution_gradients` applies. In these cases a convolution does the same: with stride
`s`, the outputs at every `s`-th position, from a first one on, are a convolution with every `s`-th point of
the kernel. So one convolution with `s` times as many filters gives them all, next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from tfkit.src.engine.tensorflow_faults import without_empty_outputs
from tfkit.src.ops import convolution_gradients
from tfkit.src.ops.shaping import static_or_dynamic_shape

# Without them the gradients of 3D kernels fail.
_LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


class Span(NamedTuple):
    """The relation of outputs to inputs along one axis: `size` positions become `size * stride + added`.

    Attributes:
        points: number of points of the kernel.
        stride: distance in the outputs between the contributions of neighbouring inputs.
        dilation: distance in the outputs of neighbouring points of the kernel.
        added: the number added to `size * stride`.
        dropped: how many outputs of the first window are before the first that is kept.
        same: whether the padding is "same".
    """

    points: int
    stride: int
    dilation: int
    added: int
    dropped: int
    same: bool

    @property
    def reach(self) -> int:
        """The number of outputs that the kernel covers, from its first point to its last."""
        return (self.points - 1) * self.dilation + 1

    @property
    def refused(self) -> bool:
        """Whether kernels refuse it, because a convolution of the outputs would not give the inputs' size."""
        if self.same:
            return not -self.stride < self.added <= 0
        return not 0 <= self.added + self.stride - self.reach < self.stride


def spans(
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    extras: Sequence[int | None],
    padding: str,
) -> list[Span]:
    """Returns one `Span` for each axis.

    Args:
        sizes: sizes of the kernel.
        strides: strides of the convolution that is transposed.
        dilations: distances between the kernel's points.
        extras: what is added to the smallest size that the convolution maps to the inputs'; `None` for the
            usual size.
        padding: `"VALID"` or `"SAME"`.
    """
    found = []
    for points, stride, dilation, extra in zip(sizes, strides, dilations, extras, strict=True):
        reach = (points - 1) * dilation + 1
        same = padding == "SAME"
        if extra is None:
            added = 0 if same else max(reach - stride, 0)
        else:
            added = reach - stride + extra - (2 * (reach // 2) if same else 0)
        # What is cut off of the full result is cut at both ends, the odd one at the end.
        dropped = max(reach - stride - added, 0) // 2 if same else 0
        found.append(Span(points, stride, dilation, added, dropped, same))
    return found


def convolve(images: tf.Tensor, kernel: tf.Tensor, axes: Sequence[Span]) -> tf.Tensor:
    """Returns the transpose of a convolution.

    Args:
        images: `(batch, *sizes, channels)`.
        kernel: `(*sizes, filters, channels)`.
        axes: a `Span` for each size.
    """
    strides = [axis.stride for axis in axes]
    by_convolution = (
        any(axis.refused or axis.dilation > 1 for axis in axes)
        or convolution_gradients.applies(images, kernel, strides, 1)
    )  # fmt: skip
    function = _by_convolution if by_convolution else _by_gradient

    def transposed(x: tf.Tensor) -> tf.Tensor:
        return function(x, kernel, axes)

    # In any case: if there are no positions, XLA returns one too many.
    outputs = without_empty_outputs(transposed, images, strides=strides, always=True)
    # With dilation, one unknown size makes all sizes unknown to TensorFlow.
    if None in outputs.shape[1:-1]:
        sizes = zip(images.shape[1:-1], axes, strict=True)
        known = [None if size is None else size * axis.stride + axis.added for size, axis in sizes]
        outputs.set_shape([None, *known, None])
    return outputs


def _by_gradient(images: tf.Tensor, kernel: tf.Tensor, axes: Sequence[Span]) -> tf.Tensor:
    """Returns the result of TensorFlow's kernel."""
    batch, *sizes, _ = static_or_dynamic_shape(images)
    output_sizes = [size * axis.stride + axis.added for size, axis in zip(sizes, axes, strict=True)]
    return tf.nn.conv_transpose(
        images,
        kernel,
        [batch, *output_sizes, kernel.shape[-2]],
        [axis.stride for axis in axes],
        "SAME" if axes[0].same else "VALID",
        _LAYOUTS[len(axes)],
    )


def _by_convolution(images: tf.Tensor, kernel: tf.Tensor, axes: Sequence[Span]) -> tf.Tensor:
    """Returns the result of a convolution with strides of one: a filter for each position between inputs."""
    ndim = len(axes)
    rates = [axis.dilation for axis in axes]
    if max(axis.stride for axis in axes) > 1:
        kernel, rates = with_zeros_between(kernel, rates), [1] * ndim
    strides = [axis.stride for axis in axes]
    # As many points as there are whole strides in the kernel.
    counts = [-(-size // stride) for size, stride in zip(kernel.shape, strides, strict=False)]
    *_, filters, channels = kernel.shape
    borders, kept = [[0, 0]], [slice(None)]
    for axis, count, rate in zip(axes, counts, rates, strict=True):
        # The range of the outputs, counted in strides, from the first that is kept to the last.
        first, last = axis.dropped // axis.stride, -(-(axis.dropped + axis.added) // axis.stride)
        borders.append([(count - 1) * rate - first, last])
        before = axis.dropped - first * axis.stride
        after = last * axis.stride - axis.dropped - axis.added
        kept.append(slice(before, -after or None))
    images = tf.pad(images, [*borders, [0, 0]])
    # Outputs between two inputs are each a convolution with the points of the kernel that meet
    # them. All are computed at once, as channels, and interleaved afterwards (sub-pixel
    # convolution, Shi et al., 2016).
    kernel = tf.reverse(_by_place(kernel, counts, strides), list(range(ndim)))
    kernel = tf.reshape(kernel, [*counts, channels, -1])
    if convolution_gradients.applies(images, kernel, 1, rates):
        outputs = convolution_gradients.convolve(images, kernel, "VALID")
    else:
        outputs = tf.nn.convolution(images, kernel, 1, "VALID", _LAYOUTS[ndim], rates)
    return _interleaved(outputs, strides, filters)[tuple(kept)]


def with_zeros_between(kernel: tf.Tensor, rates: Sequence[int]) -> tf.Tensor:
    """Returns a kernel for dilations of one that is equivalent to `kernel` for `rates`."""
    for axis, rate in enumerate(rates):
        if rate == 1:
            continue
        shape = kernel.shape.as_list()
        spread = tf.expand_dims(kernel, axis + 1)
        paddings = [[0, 0]] * len(spread.shape)
        paddings[axis + 1] = [0, rate - 1]
        shape[axis] *= rate
        kernel = tf.reshape(tf.pad(spread, paddings), shape)
        kernel = kernel[(*[slice(None)] * axis, slice(0, shape[axis] - rate + 1))]
    return kernel


def _by_place(kernel: tf.Tensor, counts: Sequence[int], strides: Sequence[int]) -> tf.Tensor:
    """Returns `kernel` as `(*counts, channels, *strides, filters)`: its points by their strides."""
    ndim = len(counts)
    parts = list(zip(counts, strides, strict=True))
    missing = [[0, n * s - size] for (n, s), size in zip(parts, kernel.shape, strict=False)]
    kernel = tf.pad(kernel, [*missing, [0, 0], [0, 0]])
    kernel = tf.reshape(kernel, [*(size for part in parts for size in part), *kernel.shape[-2:]])
    whole = range(0, 2 * ndim, 2)
    return tf.transpose(kernel, [*whole, 2 * ndim + 1, *(axis + 1 for axis in whole), 2 * ndim])


def _interleaved(outputs: tf.Tensor, strides: Sequence[int], filters: int) -> tf.Tensor:
    """Returns `(batch, *sizes, strides * filters)` as `(batch, *(size * stride), filters)`."""
    if max(strides) == 1:
        return outputs
    ndim = len(strides)
    batch, *sizes, _ = static_or_dynamic_shape(outputs)
    parted = tf.reshape(outputs, [batch, *sizes, *strides, filters])
    places = [axis for i in range(1, ndim + 1) for axis in (i, i + ndim)]
    parted = tf.transpose(parted, [0, *places, 2 * ndim + 1])
    whole = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    return tf.reshape(parted, [batch, *whole, filters])
