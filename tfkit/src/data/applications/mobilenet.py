"""MobileNet: convolutions of each channel alone, followed by convolutions of single pixels."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.applications.describing import Family, application
from tfkit.src.data.applications.input_and_classifier import UNNAMED, enter, finish, pooled
from tfkit.src.data.applications.input_shape import (
    channel_axis,
    image_shape,
    published_size,
    rows_and_columns,
)
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.activation import Activation, ReLU
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.depthwise_convolution import DepthwiseConv2D
from tfkit.src.layers.pooling import GlobalAveragePooling2D
from tfkit.src.layers.regularization import Dropout
from tfkit.src.layers.reshaping import Reshape
from tfkit.src.layers.resizing import ZeroPadding2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_MOBILENET = Family(
    "mobilenet",
    'Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications", '
    "2017",
    "The models expect images that `tfkit.applications.mobilenet.preprocess_input` returns: pixels from -1 "
    "to 1. Weights are published for images of 128, 160, 192 and 224 rows and columns; for others the "
    "weights for 224 are loaded.",
    arguments={
        "alpha": "factor for the numbers of filters; weights are published for 0.25, 0.5, 0.75 and 1.",
        "depth_multiplier": (
            "number of outputs of a depthwise convolution for each channel; weights are published for 1."
        ),
        "dropout": "rate of the dropout in front of the classifier.",
        "name": "name of the model; `None` for one with `alpha` and the number of rows.",
    },
)

_SIZES = (128, 160, 192, 224)
# The widths for which there are weights, as in the names of the files.
_ALPHAS = {0.25: "2_5", 0.5: "5_0", 0.75: "7_5", 1.0: "1_0"}
# Filters and strides of each block.
_BLOCKS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)),
    *((512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1)),
    *((1024, 2), (1024, 1)),
)


@application(_MOBILENET)
def MobileNet(
    input_shape: Shape = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: Weights = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: Pooling = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str | None = None,
) -> Model:
    """Returns MobileNet, of 28 layers, with 4.3 million parameters."""
    options = made_of(Options, locals())
    options.check()
    _check_published(options, alpha, depth_multiplier)
    size = published_size(input_shape, _SIZES)
    shape = image_shape(options, size=size, min_size=32)
    path = f"mobilenet/mobilenet_{_ALPHAS.get(alpha)}_{size}_tf"
    image, file = enter(options, shape, of_both(options, path, notop="_no_top"))

    x = Conv2D(int(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="conv1")(image)
    x = _activated(x, "conv1")
    for block, (filters, strides) in enumerate(_BLOCKS, start=1):
        x = _block(x, int(filters * alpha), strides, depth_multiplier, block)
    x = _classifier(x, options, dropout) if include_top else pooled(x, options, UNNAMED)
    rows = size if options.published else rows_and_columns(shape)[0]
    return finish(options, image, x, name or f"mobilenet_{alpha:0.2f}_{rows}", file)


def _check_published(options: Options, alpha: float, depth_multiplier: int) -> None:
    if not options.published:
        return
    if depth_multiplier != 1:
        raise ValueError(
            'With weights="imagenet", `depth_multiplier` must be 1. '
            f"Received: depth_multiplier={depth_multiplier!r}"
        )
    if alpha not in _ALPHAS:
        raise ValueError(
            f'With weights="imagenet", `alpha` must be one of {[*_ALPHAS]}. Received: alpha={alpha!r}'
        )


def _block(
    x: KerasTensor, filters: int, strides: int, depth_multiplier: int, number: int
) -> KerasTensor:
    """Returns a convolution of each channel alone, and then one of each pixel alone."""
    if strides > 1:
        # As "same" pads even sizes for a stride of 2: below and to the right.
        x = ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    x = DepthwiseConv2D(
        3,
        strides=strides,
        padding="valid" if strides > 1 else "same",
        depth_multiplier=depth_multiplier,
        use_bias=False,
        name=f"conv_dw_{number}",
    )(x)
    x = _activated(x, f"conv_dw_{number}")
    x = Conv2D(filters, 1, padding="same", use_bias=False, name=f"conv_pw_{number}")(x)
    return _activated(x, f"conv_pw_{number}")


def _activated(x: KerasTensor, name: str) -> KerasTensor:
    x = BatchNormalization(axis=channel_axis(last=-1), name=f"{name}_bn")(x)
    return ReLU(6.0, name=f"{name}_relu")(x)


def _classifier(x: KerasTensor, options: Options, dropout: float) -> KerasTensor:
    x = GlobalAveragePooling2D(keepdims=True)(x)
    x = Dropout(dropout, name="dropout")(x)
    # The published classifier is a convolution of the means, (1, 1, channels).
    x = Conv2D(options.classes, 1, padding="same", name="conv_preds")(x)
    x = Reshape((options.classes,), name="reshape_2")(x)
    return Activation(options.classifier_activation, name="predictions")(x)
