"""Formulas for operations that are gradients, in JAX and PyTorch: most differentiate the operation's formula.

Such a gradient is computed by its operation's formula, `forward`, whose attributes it has as well.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from tfkit.src.export.convert.host import with_attributes_of
from tfkit.src.export.convert.kit import Formula, Kit

SELU, SELU_SLOPE = 1.0507009873554805, 1.7580993408473768


def gradients(formulas: Mapping[str, Formula], kit: Kit) -> dict[str, Formula]:
    """Returns the formulas of gradients by type.

    Args:
        formulas: formulas of other operations, by type.
        kit: the functions of the framework.
    """
    found = _elementwise(kit)
    for kind, (rule, name) in _PULLED.items():
        forward = formulas[name]
        found[kind] = with_attributes_of(forward)(functools.partial(rule, kit, forward))
    return found


def _of_kernel(
    kit: Kit, forward: Formula, x: Any, shape: list[int], dy: Any, **options: Any
) -> Any:
    # A convolution is linear in its kernel: its gradient is the same everywhere.
    return kit.pull(lambda kernel: forward(x, kernel, **options), dy, kit.zeros(shape, x))[0]


def _of_input(
    kit: Kit, forward: Formula, shape: list[int], kernel: Any, dy: Any, **options: Any
) -> Any:
    return kit.pull(lambda x: forward(x, kernel, **options), dy, kit.zeros(shape, dy))[0]


def _of_maximum(kit: Kit, forward: Formula, x: Any, y: Any, dy: Any, **options: Any) -> Any:
    # `y` is not used: the formula finds the largest entries again.
    return kit.pull(lambda x: forward(x, **options), dy, x)[0]


def _of_mean(kit: Kit, forward: Formula, shape: list[int], dy: Any, **options: Any) -> Any:
    return kit.pull(lambda x: forward(x, **options), dy, kit.zeros(shape, dy))[0]


def _of_images(kit: Kit, forward: Formula, dy: Any, x: Any, **options: Any) -> Any:
    return kit.pull(lambda x: forward(x, list(dy.shape[1:3]), **options), dy, x)[0]


def _of_images_by_size(kit: Kit, forward: Formula, dy: Any, size: list[int], **options: Any) -> Any:
    return _of_images(
        kit, forward, dy, kit.zeros((dy.shape[0], *size, dy.shape[-1]), dy), **options
    )


def _of_spans(
    kit: Kit,
    forward: Formula,
    dy: Any,
    x: Any,
    scale: list[float],
    translation: list[float],
    **options: Any,
) -> Any:
    size = list(dy.shape[1:3])
    return kit.pull(lambda x: forward(x, size, scale, translation, **options), dy, x)[0]


def _of_mirror(kit: Kit, forward: Formula, dy: Any, paddings: list[Any], **options: Any) -> Any:
    shape = [size - sum(pair) for size, pair in zip(dy.shape, paddings, strict=True)]
    return kit.pull(lambda x: forward(x, paddings, **options), dy, kit.zeros(shape, dy))[0]


def _of_slice(
    kit: Kit,
    forward: Formula,
    shape: list[int],
    begin: Any,
    end: Any,
    strides: Any,
    dy: Any,
    **options: Any,
) -> Any:
    zeros = kit.zeros(shape, dy)
    return kit.pull(lambda x: forward(x, begin, end, strides, **options), dy, zeros)[0]


def _of_normalization(
    kit: Kit,
    forward: Formula,
    dy: Any,
    x: Any,
    gamma: Any,
    mean: Any,
    variance: Any,
    rest: Any,
    **options: Any,
) -> list[Any]:
    options["exponential_avg_factor"] = 1.0  # A gradient does not have it.

    def normalized(x: Any, gamma: Any, beta: Any) -> Any:
        return forward(x, gamma, beta, mean, variance, **options)[0]

    beta, empty = kit.np.zeros_like(gamma), kit.zeros((0,), gamma)
    # TensorFlow's operation has two further results, which are empty.
    return [*kit.pull(normalized, dy, x, gamma, beta), empty, empty]


# The formula of a gradient, and the type of the operation that it is the gradient of.
_PULLED: dict[str, tuple[Formula, str]] = {
    "AvgPoolGrad": (_of_mean, "AvgPool"),
    "AvgPool3DGrad": (_of_mean, "AvgPool3D"),
    "Conv2DBackpropFilter": (_of_kernel, "Conv2D"),
    "Conv3DBackpropFilterV2": (_of_kernel, "Conv3D"),
    "DepthwiseConv2dNativeBackpropFilter": (_of_kernel, "DepthwiseConv2dNative"),
    "DepthwiseConv2dNativeBackpropInput": (_of_input, "DepthwiseConv2dNative"),
    "FusedBatchNormGradV3": (_of_normalization, "FusedBatchNormV3"),
    "MaxPoolGrad": (_of_maximum, "MaxPool"),
    "MaxPool3DGrad": (_of_maximum, "MaxPool3D"),
    "MirrorPadGrad": (_of_mirror, "MirrorPad"),
    "ResizeBicubicGrad": (_of_images, "ResizeBicubic"),
    "ResizeBilinearGrad": (_of_images, "ResizeBilinear"),
    "ResizeNearestNeighborGrad": (_of_images_by_size, "ResizeNearestNeighbor"),
    "ScaleAndTranslateGrad": (_of_spans, "ScaleAndTranslate"),
    "StridedSliceGrad": (_of_slice, "StridedSlice"),
}


def _elementwise(kit: Kit) -> dict[str, Formula]:
    """Returns the formulas of gradients that are formulas of the output, or of the input, and of `dy`."""
    np = kit.np
    where = np.where

    def bias(dy: Any, *, data_format: str) -> Any:
        channel = 1 if data_format == "NCHW" else dy.ndim - 1
        return np.sum(dy, [axis for axis in range(dy.ndim) if axis != channel])

    def unless_zero(dy: Any, gradient: Any) -> Any:
        """Returns a gradient, or zero where `dy` is zero, also where the derivative is infinite."""
        return where(dy == 0, np.zeros_like(dy), gradient)

    def inverse(y: Any, dy: Any) -> Any:
        return unless_zero(dy, -dy * y * y)

    return {
        "BiasAddGrad": bias,
        "EluGrad": lambda dy, y: where(y < 0, dy * (y + 1), dy),
        "InvGrad": inverse,
        "LeakyReluGrad": lambda dy, x, *, alpha: where(x > 0, dy, dy * alpha),
        "ReciprocalGrad": inverse,
        "Relu6Grad": lambda dy, x: where((x > 0) & (x < 6), dy, np.zeros_like(dy)),
        "ReluGrad": lambda dy, x: where(x > 0, dy, np.zeros_like(dy)),
        "RsqrtGrad": lambda y, dy: unless_zero(dy, dy * -0.5 * y * y * y),
        "SeluGrad": lambda dy, y: where(y < 0, dy * (y + SELU_SLOPE), dy * SELU),
        "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
        "SoftplusGrad": lambda dy, x: dy * kit.nn.sigmoid(x),
        "SoftsignGrad": lambda dy, x: dy / np.square(1 + np.abs(x)),
        "SqrtGrad": lambda y, dy: unless_zero(dy, dy * 0.5 / y),
        "TanhGrad": lambda y, dy: dy * (1 - y * y),
    }
