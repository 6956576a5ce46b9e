"""MobileNet V2: blocks that widen their input, filter each channel, and add a narrow result."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.applications.describing import Family, application
from tfkit.src.data.applications.input_and_classifier import UNNAMED, enter, finish, head
from tfkit.src.data.applications.input_shape import (
    channel_axis,
    check_like,
    image_shape,
    published_size,
    rows_and_columns,
)
from tfkit.src.data.applications.mobile_parts import divisible, filtered, normalized, pointwise
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.activation import ReLU
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Add
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_MOBILENET_V2 = Family(
    "mobilenet_v2",
    'Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", '
    "2018",
    "The models expect images that `tfkit.applications.mobilenet_v2.preprocess_input` returns: pixels from "
    "-1 to 1. Weights are published for images of 96, 128, 160, 192 and 224 rows and columns; for others "
    "the weights for 224 are loaded.",
    arguments={
        "alpha": (
            "factor for the numbers of filters; weights are published for 0.35, 0.5, 0.75, 1, 1.3 and 1.4."
        ),
        "name": "name of the model; `None` for one with `alpha` and the number of rows.",
    },
)

_SIZES = (96, 128, 160, 192, 224)
_ALPHAS = (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)  # The widths for which there are weights.
# Table 2 of the paper: expansion, filters, number of blocks, stride of the first.
_STACKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


@application(_MOBILENET_V2)
def MobileNetV2(
    input_shape: Shape = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: Weights = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: Pooling = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = None,
) -> Model:
    """Returns MobileNetV2, of 53 layers, with 3.5 million parameters."""
    options = made_of(Options, locals())
    options.check()
    check_like(input_tensor, input_shape)
    if options.published and alpha not in _ALPHAS:
        raise ValueError(
            f'With weights="imagenet", `alpha` must be one of {_ALPHAS}. Received: alpha={alpha!r}'
        )
    given = input_tensor.shape[1:] if input_tensor is not None and include_top else input_shape
    size = published_size(given, _SIZES)
    shape = image_shape(options, size=size, min_size=32)
    path = f"mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{size}"
    image, file = enter(options, shape, of_both(options, path, notop="_no_top"))

    x = Conv2D(divisible(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1")(
        image
    )
    x = _activated(x, "bn_Conv1", "Conv1_relu")
    number = 0
    for expansion, filters, count, first in _STACKS:
        for block in range(count):
            strides = first if block == 0 else 1
            x = _block(x, expansion, divisible(int(filters * alpha)), strides, number)
            number += 1
    # The last layer does not become narrower.
    filters = divisible(1280 * alpha) if alpha > 1.0 else 1280
    x = Conv2D(filters, 1, use_bias=False, name="Conv_1")(x)
    x = _activated(x, "Conv_1_bn", "out_relu")
    x = head(x, options, average_name=None, pooling_names=UNNAMED)
    rows = size if options.published else rows_and_columns(shape)[0]
    return finish(options, image, x, name or f"mobilenetv2_{alpha:0.2f}_{rows}", file)


def _block(x: KerasTensor, expansion: int, filters: int, strides: int, number: int) -> KerasTensor:
    """Returns a narrow result of a wide filter, added to the input if both have the same shape."""
    name = f"block_{number}" if number else "expanded_conv"
    inputs, channels = x, x.shape[channel_axis(last=-1)]
    # The first block does not expand its channels.
    if number:
        x = pointwise(x, expansion * channels, f"{name}_expand")
        x = _activated(x, f"{name}_expand_BN", f"{name}_expand_relu")
    x = filtered(x, 3, strides, f"{name}_depthwise", pad=f"{name}_pad")
    x = _activated(x, f"{name}_depthwise_BN", f"{name}_depthwise_relu")
    x = pointwise(x, filters, f"{name}_project")
    # Linear, without an activation: in few channels it would lose information.
    x = normalized(x, f"{name}_project_BN")
    if channels == filters and strides == 1:
        return Add(name=f"{name}_add")([inputs, x])
    return x


def _activated(x: KerasTensor, normalization: str, activation: str) -> KerasTensor:
    return ReLU(6.0, name=activation)(normalized(x, normalization))
