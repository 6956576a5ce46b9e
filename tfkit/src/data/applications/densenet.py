"""DenseNet: each block adds channels to all those before it."""

from __future__ import annotations

import functools

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.input_and_classifier import begin, finish, head
from tfkit.src.data.applications.input_shape import channel_axis, needs_channels_last
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.resnet import activated
from tfkit.src.data.applications.variants import variant
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Concatenate
from tfkit.src.layers.pooling import AveragePooling2D, MaxPooling2D
from tfkit.src.layers.resizing import ZeroPadding2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_DENSENET = Family(
    "densenet",
    'Huang, Liu, van der Maaten and Weinberger, "Densely Connected Convolutional Networks", 2016',
    "The models expect images that `tfkit.applications.densenet.preprocess_input` returns: pixels from 0 to "
    "1, minus the means of ImageNet's channels, divided by their deviations. They need the image data "
    'format `"channels_last"`.',
)

_BLOCKS = {
    "densenet121": (6, 12, 24, 16),
    "densenet169": (6, 12, 32, 32),
    "densenet201": (6, 12, 48, 32),
}
# MD5 of the published files with and without the classifier.
_HASHES = {
    "densenet121": ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
    "densenet169": ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
    "densenet201": ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
}
_GROWTH = 32  # Channels that a block adds.


def _densenet(options: Options, name: str, architecture: str) -> Model:
    """Returns a network of four stacks with as many blocks as a row of `_BLOCKS` says."""
    needs_channels_last("DenseNet")
    path = f"densenet/{architecture}_weights_tf_dim_ordering_tf_kernels"
    published = of_both(options, path, _HASHES[architecture])
    image, file = begin(options, published, size=224, min_size=32)

    x = ZeroPadding2D(((3, 3), (3, 3)))(image)
    x = Conv2D(2 * _GROWTH, 7, strides=2, use_bias=False, name="conv1_conv")(x)
    x = activated(x, "conv1_bn", "conv1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = MaxPooling2D(3, strides=2, name="pool1")(x)
    for stack, count in enumerate(_BLOCKS[architecture], start=2):
        if stack > 2:
            x = _transition(x, f"pool{stack - 1}")
        for block in range(1, count + 1):
            x = _block(x, f"conv{stack}_block{block}")
    x = activated(x, "bn", "relu")
    return finish(options, image, head(x, options), name, file)


def _block(x: KerasTensor, name: str) -> KerasTensor:
    """Returns the channels of `x`, and new ones that are computed from all of them."""
    new = activated(x, f"{name}_0_bn", f"{name}_0_relu")
    # The bottleneck in front of the 3 x 3 filters, which see all channels so far.
    new = Conv2D(4 * _GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(new)
    new = activated(new, f"{name}_1_bn", f"{name}_1_relu")
    new = Conv2D(_GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(new)
    return Concatenate(axis=channel_axis(), name=f"{name}_concat")([x, new])


def _transition(x: KerasTensor, name: str) -> KerasTensor:
    """Returns half of the channels, at half of the resolution."""
    channels = x.shape[channel_axis()]
    x = activated(x, f"{name}_bn", f"{name}_relu")
    x = Conv2D(channels // 2, 1, use_bias=False, name=f"{name}_conv")(x)
    return AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


_variant = functools.partial(variant, _DENSENET, _densenet)

DenseNet121 = _variant("DenseNet121", "of 121 layers, with 8.1 million parameters")
DenseNet169 = _variant("DenseNet169", "of 169 layers, with 14.3 million parameters")
DenseNet201 = _variant("DenseNet201", "of 201 layers, with 20.2 million parameters")
