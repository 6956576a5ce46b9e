"""TensorFlow's operations of gradients in JAX: those of a `tf.GradientTape` or a gradient in a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tfkit.src.export.convert.host import index_of
from tfkit.src.export.convert.jax import images, neighbours

SELU, SELU_SLOPE = 1.0507009873554805, 1.7580993408473768


def _pulled(function: Callable[[Any], Any], x: Any, dy: Any) -> Any:
    """Returns the gradient of a function at `x`, for the gradient `dy` of its result."""
    y, back = jax.vjp(function, x)
    return back(jnp.asarray(dy, y.dtype))[0]


def _bias(dy: Any, *, data_format: str) -> Any:
    channel = 1 if data_format == "NCHW" else jnp.ndim(dy) - 1
    return jnp.sum(dy, [axis for axis in range(jnp.ndim(dy)) if axis != channel])


def _of_kernel(forward: Callable[..., Any]) -> Callable[..., Any]:
    def formula(
        x: Any,
        shape: list[int],
        dy: Any,
        *,
        strides: list[int],
        padding: str,
        dilations: list[int] | None,
        explicit_paddings: list[int] | None,
        data_format: str,
    ) -> Any:
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilations": dilations}
        options |= {"explicit_paddings": explicit_paddings, "data_format": data_format}
        return _pulled(lambda kernel: forward(x, kernel, **options), jnp.zeros(shape, x.dtype), dy)

    return formula


def _depthwise_input(
    shape: list[int],
    kernel: Any,
    dy: Any,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int] | None,
    explicit_paddings: list[int] | None,
    data_format: str,
) -> Any:
    options: dict[str, Any] = {"strides": strides, "padding": padding, "dilations": dilations}
    options |= {"explicit_paddings": explicit_paddings, "data_format": data_format}
    forward = neighbours.depthwise_convolution
    return _pulled(lambda x: forward(x, kernel, **options), jnp.zeros(shape, dy.dtype), dy)


def _max_pool(
    x: Any,
    y: Any,
    dy: Any,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: list[int] | None,
    data_format: str,
) -> Any:
    options: dict[str, Any] = {"ksize": ksize, "strides": strides, "padding": padding}
    options |= {"explicit_paddings": explicit_paddings, "data_format": data_format}
    return _pulled(lambda x: neighbours.max_pool(x, **options), x, dy)


def _average_pool(
    shape: list[int],
    dy: Any,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    data_format: str,
) -> Any:
    options: dict[str, Any] = {
        "ksize": ksize,
        "strides": strides,
        "padding": padding,
        "data_format": data_format,
    }
    return _pulled(lambda x: neighbours.average_pool(x, **options), jnp.zeros(shape, dy.dtype), dy)


def _resized(forward: Callable[..., Any]) -> Callable[..., Any]:
    def formula(dy: Any, x: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
        size = list(dy.shape[1:3])
        return _pulled(
            lambda x: forward(
                x, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
            ),
            x,
            dy,
        )

    return formula


def _nearest(dy: Any, size: list[int], *, align_corners: bool, half_pixel_centers: bool) -> Any:
    zeros = jnp.zeros((dy.shape[0], *size, dy.shape[-1]), dy.dtype)
    return _resized(images.resized_nearest)(
        dy, zeros, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


def _spanned(
    dy: Any,
    x: Any,
    scale: list[float],
    translation: list[float],
    *,
    kernel_type: str,
    antialias: bool,
) -> Any:
    size = list(dy.shape[1:3])
    options: dict[str, Any] = {"kernel_type": kernel_type, "antialias": antialias}
    return _pulled(lambda x: images.spanned(x, size, scale, translation, **options), x, dy)


def _mirrored(dy: Any, paddings: list[Any], *, mode: str) -> Any:
    pairs = [tuple(pair) for pair in paddings]
    shape = [size - sum(pair) for size, pair in zip(dy.shape, pairs, strict=True)]
    return _pulled(lambda x: jnp.pad(x, pairs, mode=mode.lower()), jnp.zeros(shape, dy.dtype), dy)


def _strided(
    shape: list[int],
    begin: list[int],
    end: list[int],
    strides: list[int],
    dy: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    index = index_of(begin, end, strides, *masks)
    return _pulled(lambda x: x[index], jnp.zeros(shape, dy.dtype), dy)


def _normalized(
    dy: Any,
    x: Any,
    gamma: Any,
    mean: Any,
    variance: Any,
    rest: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> list[Any]:
    options: dict[str, Any] = {"epsilon": epsilon, "exponential_avg_factor": 1.0}
    options |= {"data_format": data_format, "is_training": is_training}

    def forward(x: Any, gamma: Any, beta: Any) -> Any:
        return neighbours.normalized(x, gamma, beta, mean, variance, **options)[0]

    y, back = jax.vjp(forward, x, gamma, jnp.zeros_like(gamma))
    empty = jnp.zeros((0,), gamma.dtype)
    return [*back(jnp.asarray(dy, y.dtype)), empty, empty]


def _inverse(y: Any, dy: Any) -> Any:
    return jnp.where(dy == 0, jnp.zeros_like(dy), -dy * y * y)


GRADIENTS: dict[str, Callable[..., Any]] = {
    "AvgPoolGrad": _average_pool,
    "AvgPool3DGrad": _average_pool,
    "BiasAddGrad": _bias,
    "Conv2DBackpropFilter": _of_kernel(neighbours.convolution),
    "Conv3DBackpropFilterV2": _of_kernel(neighbours.convolution),
    "DepthwiseConv2dNativeBackpropFilter": _of_kernel(neighbours.depthwise_convolution),
    "DepthwiseConv2dNativeBackpropInput": _depthwise_input,
    "EluGrad": lambda dy, y: jnp.where(y < 0, dy * (y + 1), dy),
    "FusedBatchNormGradV3": _normalized,
    "InvGrad": _inverse,
    "LeakyReluGrad": lambda dy, x, *, alpha: jnp.where(x > 0, dy, dy * alpha),
    "MaxPoolGrad": _max_pool,
    "MaxPool3DGrad": _max_pool,
    "MirrorPadGrad": _mirrored,
    "ReciprocalGrad": _inverse,
    "Relu6Grad": lambda dy, x: jnp.where((x > 0) & (x < 6), dy, jnp.zeros_like(dy)),
    "ReluGrad": lambda dy, x: jnp.where(x > 0, dy, jnp.zeros_like(dy)),
    "ResizeBicubicGrad": _resized(images.resized_bicubic),
    "ResizeBilinearGrad": _resized(images.resized_bilinear),
    "ResizeNearestNeighborGrad": _nearest,
    # A gradient of zero stays zero where the derivative is infinite.
    "RsqrtGrad": lambda y, dy: jnp.where(dy == 0, jnp.zeros_like(dy), dy * -0.5 * y * y * y),
    "ScaleAndTranslateGrad": _spanned,
    "SeluGrad": lambda dy, y: jnp.where(y < 0, dy * (y + SELU_SLOPE), dy * SELU).astype(dy.dtype),
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "SoftplusGrad": lambda dy, x: dy * jax.nn.sigmoid(x),
    "SoftsignGrad": lambda dy, x: dy / jnp.square(1 + jnp.abs(x)),
    "SqrtGrad": lambda y, dy: jnp.where(dy == 0, jnp.zeros_like(dy), dy * 0.5 / y),
    "StridedSliceGrad": _strided,
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
}
