"""The parts that Inception V3 and Inception-ResNet V2 share: the first layers, and blocks of branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tfkit.src.data.applications.input_shape import channel_axis
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Concatenate
from tfkit.src.layers.pooling import AveragePooling2D, MaxPooling2D
from tfkit.src.symbolic.tensors import KerasTensor


class Conv(NamedTuple):
    """A convolution without bias, which is normalized and activated.

    Args:
        filters: number of filters.
        kernel_size: rows and columns of the kernel. Default: `1`.
        strides: distance of the outputs. Default: `1`.
        padding: `"same"` or `"valid"`. Default: `"same"`.
        name: name of the convolution, from which the names of the other layers are made. Default: `None`.
    """

    filters: int
    kernel_size: int | tuple[int, int] = 1
    strides: int = 1
    padding: str = "same"
    name: str | None = None

    def __call__(self, x: KerasTensor) -> KerasTensor:
        """Returns the activations."""
        filters, kernel_size, strides, padding, name = self
        x = Conv2D(
            filters, kernel_size, strides=strides, padding=padding, use_bias=False, name=name
        )(x)
        bn, activation = (f"{name}_bn", f"{name}_ac") if name else (None, None)
        x = BatchNormalization(axis=channel_axis(), scale=False, name=bn)(x)
        return Activation("relu", name=activation)(x)


def halving(filters: int) -> Conv:
    """Returns a convolution that halves rows and columns."""
    return Conv(filters, 3, strides=2, padding="valid")


class Average(NamedTuple):
    """The mean over the 3 x 3 pixels around each."""

    def __call__(self, x: KerasTensor) -> KerasTensor:
        """Returns the means."""
        return AveragePooling2D(3, strides=1, padding="same")(x)


class Maximum(NamedTuple):
    """The maximum over 3 x 3 pixels, which halves rows and columns."""

    def __call__(self, x: KerasTensor) -> KerasTensor:
        """Returns the maxima."""
        return MaxPooling2D(3, strides=2)(x)


class Fork(NamedTuple):
    """Convolutions of the same input, whose channels are joined.

    Args:
        parts: the convolutions.
        name: name of the layer that joins them. Default: `None`.
    """

    parts: Sequence[Conv]
    name: str | None = None

    def __call__(self, x: KerasTensor) -> KerasTensor:
        """Returns the channels of all parts."""
        return Concatenate(axis=channel_axis(), name=self.name)([part(x) for part in self.parts])


Branch = Sequence[Conv | Average | Maximum | Fork]


def joined(x: KerasTensor, branches: Sequence[Branch], name: str) -> KerasTensor:
    """Returns the channels of all branches.

    Args:
        x: the input of each branch.
        branches: the layers of each, in order.
        name: name of the layer that joins them.
    """
    outputs = []
    for branch in branches:
        y = x
        for layer in branch:
            y = layer(y)
        outputs.append(y)
    return Concatenate(axis=channel_axis(), name=name)(outputs)


def stem(x: KerasTensor) -> KerasTensor:
    """Returns 192 channels at an eighth of the rows and columns."""
    for layer in (
        *(halving(32), Conv(32, 3, padding="valid"), Conv(64, 3), Maximum()),
        *(Conv(80, 1, padding="valid"), Conv(192, 3, padding="valid"), Maximum()),
    ):
        x = layer(x)
    return x
