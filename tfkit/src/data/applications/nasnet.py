"""NASNet: two kinds of cells, found by a search, with the outputs of the two cells before each as inputs."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.applications.describing import Family, application
from tfkit.src.data.applications.input_and_classifier import UNNAMED, begin, finish, head
from tfkit.src.data.applications.input_shape import CHANNELS, needs_channels_last, with_channels
from tfkit.src.data.applications.mobile_parts import padding_for_stride
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.data.applications.weights import Published
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Add, Concatenate
from tfkit.src.layers.pooling import AveragePooling2D, MaxPooling2D
from tfkit.src.layers.resizing import Cropping2D, ZeroPadding2D
from tfkit.src.layers.separable_convolution import SeparableConv2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_NASNET = Family(
    "nasnet",
    'Zoph, Vasudevan, Shlens and Le, "Learning Transferable Architectures for Scalable Image Recognition", '
    "2017",
    "The models expect images that `tfkit.applications.nasnet.preprocess_input` returns: pixels from -1 to "
    '1. They need the image data format `"channels_last"`.',
    arguments={
        "input_shape": (
            "sizes of an image with channels and without the batch, at least {min_size} rows and columns, "
            "none of them unknown. `None` is `({size}, {size}, 3)`. The published classifier accepts no "
            "other sizes."
        )
    },
)


class _Network(NamedTuple):
    """A network: the size of its images, and its cells.

    Args:
        size: rows and columns of the images.
        stem: filters of the first convolution.
        filters: of the cells of the first stage; each following stage has twice as many.
        cells: number of normal cells of a stage.
        around: whether a stage begins with the cell before the last one of the stage before as the earlier
            input, rather than with the last one.
        hashes: MD5 of the published files with and without the classifier.
    """

    size: int
    stem: int
    filters: int
    cells: int
    around: bool
    hashes: tuple[str, str]


_NETWORKS = {
    "mobile": _Network(
        *(224, 32, 44, 4, False),
        ("020fb642bf7360b370c678b08e0adf61", "1ed92395b5b598bdda52abe5c0dbfd63"),
    ),
    "large": _Network(
        *(331, 96, 168, 6, True),
        ("11577c9a518f0070763c2b964a382f17", "d81d89dc07e6e56530c4e77faddd61b5"),
    ),
}


def _nasnet(options: Options, name: str, version: str) -> Model:
    """Returns the network of a row of `_NETWORKS`."""
    needs_channels_last("NASNet")
    network = _NETWORKS[version]
    options = _with_known_sizes(options, network.size)
    top, ending = (0, "") if options.include_top else (1, "-no-top")
    published = Published(
        f"nasnet/NASNet-{version}{ending}.h5",
        network.hashes[top],
        f"nasnet_{version}{ending.replace('-', '_')}.h5",
    )
    image, file = begin(options, published, size=network.size, min_size=32)

    x = Conv2D(
        network.stem,
        3,
        strides=2,
        use_bias=False,
        kernel_initializer="he_normal",
        name="stem_conv1",
    )(image)
    x = _normalized(x, "stem_bn1")
    # `before` is the output of the cell before the last one.
    before, x = x, _reduction_cell(x, None, network.filters // 4, "stem_1")
    before, x = x, _reduction_cell(x, before, network.filters // 2, "stem_2")
    for stage in range(3):
        filters = network.filters * 2**stage
        number = stage * network.cells
        if stage:
            reduced = _reduction_cell(x, before, filters, f"reduce_{number}")
            before, x = (before if network.around else x), reduced
            number += 1
        for cell in range(number, number + network.cells):
            before, x = x, _normal_cell(x, before, filters, f"{cell}")
    x = Activation("relu")(x)
    x = head(x, options, average_name=None, pooling_names=UNNAMED)
    return finish(options, image, x, name, file)


def _with_known_sizes(options: Options, size: int) -> Options:
    """Returns the arguments with a shape: the padding of the cells depends on whether sizes are even."""
    shape = options.input_shape or with_channels(size, size, CHANNELS)
    tensor = options.input_tensor
    sizes = tuple(shape) if tensor is None else tuple(getattr(tensor, "shape", ())[1:])
    if None in sizes:
        raise ValueError(
            "NASNet needs images of known sizes: pass `input_shape` with integers, or an `input_tensor` that "
            f"has them. Received: sizes {sizes}"
        )
    return dataclasses.replace(options, input_shape=shape)


def _normal_cell(x: KerasTensor, before: KerasTensor, filters: int, name: str) -> KerasTensor:
    """Returns the left cell of figure 4 of the paper."""
    before = _adjusted(before, x, filters, name)
    x = _projected(Activation("relu")(x), filters, f"normal_{{}}_1_{name}")
    parts = [
        before,
        _sum(
            f"normal_add_1_{name}",
            _separable(x, filters, 5, f"normal_left1_{name}"),
            _separable(before, filters, 3, f"normal_right1_{name}"),
        ),
        _sum(
            f"normal_add_2_{name}",
            _separable(before, filters, 5, f"normal_left2_{name}"),
            _separable(before, filters, 3, f"normal_right2_{name}"),
        ),
        _sum(f"normal_add_3_{name}", _average(x, f"normal_left3_{name}"), before),
        _sum(
            f"normal_add_4_{name}",
            _average(before, f"normal_left4_{name}"),
            _average(before, f"normal_right4_{name}"),
        ),
        _sum(f"normal_add_5_{name}", _separable(x, filters, 3, f"normal_left5_{name}"), x),
    ]
    return Concatenate(name=f"normal_concat_{name}")(parts)


def _reduction_cell(
    x: KerasTensor, before: KerasTensor | None, filters: int, name: str
) -> KerasTensor:
    """Returns the right cell of figure 4 of the paper, which halves rows and columns."""
    before = x if before is None else _adjusted(before, x, filters, name)
    x = _projected(Activation("relu")(x), filters, f"reduction_{{}}_1_{name}")
    padded = ZeroPadding2D(padding_for_stride(x, 3), name=f"reduction_pad_1_{name}")(x)
    first = _sum(
        f"reduction_add_1_{name}",
        _separable(x, filters, 5, f"reduction_left1_{name}", strides=2),
        _separable(before, filters, 7, f"reduction_right1_{name}", strides=2),
    )
    second = _sum(
        f"reduction_add_2_{name}",
        MaxPooling2D(3, strides=2, name=f"reduction_left2_{name}")(padded),
        _separable(before, filters, 7, f"reduction_right2_{name}", strides=2),
    )
    third = _sum(
        f"reduction_add3_{name}",
        AveragePooling2D(3, strides=2, name=f"reduction_left3_{name}")(padded),
        _separable(before, filters, 5, f"reduction_right3_{name}", strides=2),
    )
    fourth = _sum(None, second, _average(first, f"reduction_left4_{name}"))
    fifth = _sum(
        f"reduction_add4_{name}",
        _separable(first, filters, 3, f"reduction_left4_{name}"),
        MaxPooling2D(3, strides=2, name=f"reduction_right5_{name}")(padded),
    )
    return Concatenate(name=f"reduction_concat_{name}")([second, third, fourth, fifth])


def _sum(name: str | None, *parts: KerasTensor) -> KerasTensor:
    return Add(name=name)(list(parts))


def _adjusted(before: KerasTensor, x: KerasTensor, filters: int, name: str) -> KerasTensor:
    """Returns the output of an earlier cell with the rows and columns of `x`, and this number of channels."""
    if before.shape[1:3] != x.shape[1:3]:
        return _halved(before, filters, name)
    if before.shape[-1] != filters:
        before = Activation("relu")(before)
        before = _pointwise(before, filters, f"adjust_conv_projection_{name}")
        return _normalized(before, f"adjust_bn_{name}")
    return before


def _halved(x: KerasTensor, filters: int, name: str) -> KerasTensor:
    """Returns every second pixel of every second row, joined with the pixels one row and column further."""
    x = Activation("relu", name=f"adjust_relu_1_{name}")(x)
    # The image moved by one pixel, up and to the left.
    further = Cropping2D(((1, 0), (1, 0)))(ZeroPadding2D(((0, 1), (0, 1)))(x))
    parts = []
    for number, part in enumerate((x, further), start=1):
        part = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{number}_{name}")(part)
        parts.append(_pointwise(part, filters // 2, f"adjust_conv_{number}_{name}"))
    return _normalized(Concatenate()(parts), f"adjust_bn_{name}")


def _separable(
    x: KerasTensor, filters: int, kernel_size: int, name: str, strides: int = 1
) -> KerasTensor:
    """Returns the output of two convolutions that filter each channel alone."""
    x = Activation("relu")(x)
    if strides == 2:
        padding = padding_for_stride(x, kernel_size)
        x = ZeroPadding2D(padding, name=f"separable_conv_1_pad_{name}")(x)
    for number in (1, 2):
        if number == 2:
            x = Activation("relu")(x)
        conv = SeparableConv2D(
            filters,
            kernel_size,
            strides=strides if number == 1 else 1,
            padding="valid" if strides == 2 and number == 1 else "same",
            use_bias=False,
            name=f"separable_conv_{number}_{name}",
        )
        x = _normalized(conv(x), f"separable_conv_{number}_bn_{name}")
    return x


def _average(x: KerasTensor, name: str) -> KerasTensor:
    return AveragePooling2D(3, strides=1, padding="same", name=name)(x)


def _projected(x: KerasTensor, filters: int, name: str) -> KerasTensor:
    return _normalized(_pointwise(x, filters, name.format("conv")), name.format("bn"))


def _pointwise(x: KerasTensor, filters: int, name: str) -> KerasTensor:
    conv = Conv2D(
        filters, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name
    )
    return conv(x)


def _normalized(x: KerasTensor, name: str) -> KerasTensor:
    return BatchNormalization(momentum=0.9997, name=name)(x)


@application(_NASNET)
def NASNetMobile(
    input_shape: Shape = None,
    include_top: bool = True,
    weights: Weights = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: Pooling = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str = "nasnet_mobile",
) -> Model:
    """Returns NASNetMobile, with 5.3 million parameters."""
    options = made_of(Options, locals())
    return _nasnet(options, name, "mobile")


@application(_NASNET, size=331)
def NASNetLarge(
    input_shape: Shape = None,
    include_top: bool = True,
    weights: Weights = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: Pooling = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
    name: str = "nasnet_large",
) -> Model:
    """Returns NASNetLarge, with 88.9 million parameters."""
    options = made_of(Options, locals())
    return _nasnet(options, name, "large")
