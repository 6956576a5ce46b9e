"""TensorFlow's operations of gradients in PyTorch: those of a `tf.GradientTape` or a gradient in a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tfkit.src.export.convert.host import index_of
from tfkit.src.export.convert.pytorch import convolutions, images

SELU, SELU_SLOPE = 1.0507009873554805, 1.7580993408473768


def _pulled(function: Callable[[Tensor], Tensor], x: Tensor, dy: Tensor) -> Tensor:
    """Returns the gradient of a function at `x`, for the gradient `dy` of its result."""
    y, back = torch.func.vjp(function, x)
    found: Tensor = back(dy.to(y.dtype))[0]
    return found


def _bias(dy: Tensor, *, data_format: str) -> Tensor:
    channel = 1 if data_format == "NCHW" else dy.ndim - 1
    return dy.sum([axis for axis in range(dy.ndim) if axis != channel])


def _of_kernel(forward: Callable[..., Any]) -> Callable[..., Any]:
    def formula(
        x: Tensor,
        shape: list[int],
        dy: Tensor,
        *,
        strides: Any,
        padding: str,
        dilations: Any,
        explicit_paddings: Any,
        data_format: str,
    ) -> Tensor:
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilations": dilations}
        options |= {"explicit_paddings": explicit_paddings, "data_format": data_format}
        return _pulled(lambda kernel: forward(x, kernel, **options), x.new_zeros(shape), dy)

    return formula


def _depthwise_input(
    shape: list[int],
    kernel: Tensor,
    dy: Tensor,
    *,
    strides: Any,
    padding: str,
    dilations: Any,
    explicit_paddings: Any,
    data_format: str,
) -> Tensor:
    options: dict[str, Any] = {"strides": strides, "padding": padding, "dilations": dilations}
    options |= {"explicit_paddings": explicit_paddings, "data_format": data_format}
    forward = convolutions.depthwise
    return _pulled(lambda x: forward(x, kernel, **options), dy.new_zeros(shape), dy)


def _max_pool(
    x: Tensor,
    y: Tensor,
    dy: Tensor,
    *,
    ksize: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
) -> Tensor:
    options: dict[str, Any] = {"ksize": ksize, "strides": strides, "padding": padding}
    options |= {"explicit_paddings": explicit_paddings, "data_format": data_format}
    return _pulled(lambda x: convolutions.maximum(x, **options), x, dy)


def _average_pool(
    shape: list[int], dy: Tensor, *, ksize: Any, strides: Any, padding: str, data_format: str
) -> Tensor:
    options: dict[str, Any] = {
        "ksize": ksize,
        "strides": strides,
        "padding": padding,
        "data_format": data_format,
    }
    return _pulled(lambda x: convolutions.mean(x, **options), dy.new_zeros(shape), dy)


def _resized(forward: Callable[..., Any]) -> Callable[..., Any]:
    def formula(dy: Tensor, x: Tensor, *, align_corners: bool, half_pixel_centers: bool) -> Tensor:
        options: dict[str, Any] = {
            "align_corners": align_corners,
            "half_pixel_centers": half_pixel_centers,
        }
        return _pulled(lambda x: forward(x, list(dy.shape[1:3]), **options), x, dy)

    return formula


def _nearest(
    dy: Tensor, size: list[int], *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    zeros = dy.new_zeros((dy.shape[0], *size, dy.shape[-1]))
    return _resized(images.resized_nearest)(
        dy, zeros, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


def _spanned(
    dy: Tensor,
    x: Tensor,
    scale: list[float],
    translation: list[float],
    *,
    kernel_type: str,
    antialias: bool,
) -> Tensor:
    size = list(dy.shape[1:3])
    options: dict[str, Any] = {"kernel_type": kernel_type, "antialias": antialias}
    return _pulled(lambda x: images.spanned(x, size, scale, translation, **options), x, dy)


def _mirrored(dy: Tensor, paddings: list[Any], *, mode: str) -> Tensor:
    shape = [size - sum(pair) for size, pair in zip(dy.shape, paddings, strict=True)]
    return _pulled(lambda x: images.mirrored(x, paddings, mode=mode), dy.new_zeros(shape), dy)


def _strided(
    shape: list[int],
    begin: Any,
    end: Any,
    strides: Any,
    dy: Tensor,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Tensor:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    index = index_of(begin, end, strides, *masks)
    return _pulled(lambda x: convolutions.taken(x, index), dy.new_zeros(shape), dy)


def _normalized(
    dy: Tensor,
    x: Tensor,
    gamma: Tensor,
    mean: Tensor,
    variance: Tensor,
    rest: Tensor,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> list[Tensor]:
    options: dict[str, Any] = {"epsilon": epsilon, "exponential_avg_factor": 1.0}
    options |= {"data_format": data_format, "is_training": is_training}

    def forward(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        y: Tensor = convolutions.normalized(x, gamma, beta, mean, variance, **options)[0]
        return y

    y, back = torch.func.vjp(forward, x, gamma, torch.zeros_like(gamma))
    empty = gamma.new_zeros(0)
    return [*back(dy.to(y.dtype)), empty, empty]


def _inverse(y: Tensor, dy: Tensor) -> Tensor:
    return torch.where(dy == 0, torch.zeros_like(dy), -dy * y * y)


GRADIENTS: dict[str, Callable[..., Any]] = {
    "AvgPoolGrad": _average_pool,
    "AvgPool3DGrad": _average_pool,
    "BiasAddGrad": _bias,
    "Conv2DBackpropFilter": _of_kernel(convolutions.convolution),
    "Conv3DBackpropFilterV2": _of_kernel(convolutions.convolution),
    "DepthwiseConv2dNativeBackpropFilter": _of_kernel(convolutions.depthwise),
    "DepthwiseConv2dNativeBackpropInput": _depthwise_input,
    "EluGrad": lambda dy, y: torch.where(y < 0, dy * (y + 1), dy),
    "FusedBatchNormGradV3": _normalized,
    "InvGrad": _inverse,
    "LeakyReluGrad": lambda dy, x, *, alpha: torch.where(x > 0, dy, dy * alpha),
    "MaxPoolGrad": _max_pool,
    "MaxPool3DGrad": _max_pool,
    "MirrorPadGrad": _mirrored,
    "ReciprocalGrad": _inverse,
    "Relu6Grad": lambda dy, x: torch.where((x > 0) & (x < 6), dy, torch.zeros_like(dy)),
    "ReluGrad": lambda dy, x: torch.where(x > 0, dy, torch.zeros_like(dy)),
    "ResizeBicubicGrad": _resized(images.resized_bicubic),
    "ResizeBilinearGrad": _resized(images.resized_bilinear),
    "ResizeNearestNeighborGrad": _nearest,
    # A gradient of zero stays zero where the derivative is infinite.
    "RsqrtGrad": lambda y, dy: torch.where(dy == 0, torch.zeros_like(dy), dy * -0.5 * y * y * y),
    "ScaleAndTranslateGrad": _spanned,
    "SeluGrad": lambda dy, y: torch.where(y < 0, dy * (y + SELU_SLOPE), dy * SELU),
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "SoftplusGrad": lambda dy, x: dy * torch.sigmoid(x),
    "SoftsignGrad": lambda dy, x: dy / torch.square(1 + torch.abs(x)),
    "SqrtGrad": lambda y, dy: torch.where(dy == 0, torch.zeros_like(dy), dy * 0.5 / y),
    "StridedSliceGrad": _strided,
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
}
