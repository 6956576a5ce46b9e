"""The parts that both generations of EfficientNet share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tfkit.src.data.applications.input_and_classifier import pooled
from tfkit.src.data.applications.input_shape import channel_axis, with_channels
from tfkit.src.data.applications.options import Options
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.dense import Dense
from tfkit.src.layers.depthwise_convolution import DepthwiseConv2D
from tfkit.src.layers.merging import Add, Multiply
from tfkit.src.layers.pooling import GlobalAveragePooling2D
from tfkit.src.layers.regularization import Dropout
from tfkit.src.layers.reshaping import Reshape
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.weights.initializers.random import VarianceScaling

# Means and standard deviations of ImageNet's channels, for pixels from 0 to 1.
MEANS = (0.485, 0.456, 0.406)
DEVIATIONS = (0.229, 0.224, 0.225)
# Rate of the dropped residuals of a block after the last one; the rate of the first is 0.
DROP_RATE = 0.2


Stage = TypeVar("Stage", bound=Any)


def blocks(
    stages: Iterable[Stage], counts: Sequence[int], last: int, filters: Callable[[int], int]
) -> Iterator[tuple[Stage, float, str]]:
    """Yields the form of each block, the rate at which it is dropped, and its name.

    Args:
        stages: rows of the table of the paper, with `filters` and `strides`.
        counts: number of blocks of each stage.
        last: number of the block whose rate would be `DROP_RATE`: from 0 on, rates rise by equal steps.
        filters: returns the number of filters of the network for that of a stage.
    """
    number = 0
    for index, (stage, count) in enumerate(zip(stages, counts, strict=True), start=1):
        for block in range(count):
            # Only the first block of a stage changes the resolution.
            strides = 1 if block else stage.strides
            form = stage._replace(filters=filters(stage.filters), strides=strides)
            yield form, DROP_RATE * number / last, f"block{index}{chr(ord('a') + block)}"
            number += 1


def _drawn() -> VarianceScaling:
    """Returns the initializer of convolutions."""
    return VarianceScaling(2.0, mode="fan_out", distribution="truncated_normal")


def convolved(x: KerasTensor, filters: int, kernel_size: int, name: str, **options: Any) -> Any:
    """Returns a convolution without bias. `options` are further options of `Conv2D`."""
    options = {"padding": "same", "use_bias": False, "kernel_initializer": _drawn(), **options}
    return Conv2D(filters, kernel_size, name=name, **options)(x)


def filtered(x: KerasTensor, kernel_size: int, strides: int, padding: str, name: str) -> Any:
    """Returns a convolution of each channel alone."""
    layer = DepthwiseConv2D(
        kernel_size,
        strides=strides,
        padding=padding,
        use_bias=False,
        depthwise_initializer=_drawn(),
        name=name,
    )
    return layer(x)


def normalized(x: KerasTensor, name: str, momentum: float) -> Any:
    """Returns the output of a batch normalization."""
    return BatchNormalization(axis=channel_axis(), momentum=momentum, name=name)(x)


def activated(x: KerasTensor, normalization: str, activation: str, momentum: float) -> Any:
    """Returns the activations of normalized channels."""
    return Activation("silu", name=activation)(normalized(x, normalization, momentum))


def weighted(x: KerasTensor, reduced: int, name: str) -> Any:
    """Returns channels times weights from 0 to 1, which are computed from the means of all channels.

    Args:
        x: the channels.
        reduced: number of values to which the means are reduced.
        name: beginning of the names.
    """
    channels = x.shape[channel_axis()]
    weights = GlobalAveragePooling2D(name=f"{name}_squeeze")(x)
    weights = Reshape(with_channels(1, 1, channels), name=f"{name}_reshape")(weights)
    for filters, activation, part in ((reduced, "silu", "reduce"), (channels, "sigmoid", "expand")):
        weights = convolved(
            weights, filters, 1, f"{name}_{part}", activation=activation, use_bias=True
        )
    return Multiply(name=f"{name}_excite")([x, weights])


def added(x: KerasTensor, inputs: KerasTensor, rate: float, name: str) -> Any:
    """Returns `inputs + x`, where training drops `x` from some samples.

    Args:
        x: the residual.
        inputs: the input of the block.
        rate: share of the samples for which it is dropped.
        name: name of the block.
    """
    if rate:
        # One decision for each sample: stochastic depth.
        x = Dropout(rate, noise_shape=(None, 1, 1, 1), name=f"{name}_drop")(x)
    return Add(name=f"{name}_add")([x, inputs])


def top(x: KerasTensor, options: Options, dropout: float, **dense: Any) -> Any:
    """Returns the scores of classes, or the features of a model without a classifier.

    Args:
        x: the map of features.
        options: the arguments of the model.
        dropout: rate of the dropout in front of the classifier.
        **dense: further arguments of the classifier's layer.
    """
    if not options.include_top:
        return pooled(x, options)
    x = GlobalAveragePooling2D(name="avg_pool")(x)
    x = Dropout(dropout, name="top_dropout")(x)
    layer = Dense(
        options.classes,
        activation=options.classifier_activation,
        kernel_initializer=VarianceScaling(1 / 3, mode="fan_out", distribution="uniform"),
        name="predictions",
        **dense,
    )
    return layer(x)
