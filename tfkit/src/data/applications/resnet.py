"""ResNet: bottleneck blocks that add what they compute to their input."""

from __future__ import annotations

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.input_and_classifier import begin, finish, head
from tfkit.src.data.applications.input_shape import channel_axis
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.variants import variant
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.batch_normalization import BatchNormalization
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Add
from tfkit.src.layers.pooling import MaxPooling2D
from tfkit.src.layers.resizing import ZeroPadding2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_RESNET = Family(
    "resnet",
    'He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2015',
    "The models expect images that `tfkit.applications.resnet.preprocess_input` returns: channels in the "
    "order blue, green, red, minus the means of ImageNet's channels.",
)

# Filters of each stack, and its number of blocks.
FILTERS = (64, 128, 256, 512)
BLOCKS = {
    "resnet50": (3, 4, 6, 3),
    "resnet101": (3, 4, 23, 3),
    "resnet152": (3, 8, 36, 3),
}
# MD5 of the published files with and without the classifier.
_HASHES = {
    "resnet50": ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    "resnet101": ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    "resnet152": ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
}


def _resnet(options: Options, name: str, architecture: str) -> Model:
    """Returns a network of four stacks with as many blocks as a row of `BLOCKS` says."""
    image, file, x = stem(options, architecture, _HASHES[architecture])
    x = halved(activated(x, "conv1_bn", "conv1_relu"))
    stacks = zip(FILTERS, BLOCKS[architecture], strict=True)
    for stack, (filters, count) in enumerate(stacks, start=2):
        for block in range(1, count + 1):
            strides = 2 if block == 1 and stack > 2 else 1
            x = _block(x, filters, strides, first=block == 1, name=f"conv{stack}_block{block}")
    return finish(options, image, head(x, options), name, file)


def stem(
    options: Options, architecture: str, hashes: tuple[str, str]
) -> tuple[KerasTensor, str | None, KerasTensor]:
    """Returns the images, the file of weights, and the first convolution, which both generations have.

    Args:
        options: the arguments of the model.
        architecture: as in the name of the published file.
        hashes: of the published files with and without the classifier.
    """
    path = f"resnet/{architecture}_weights_tf_dim_ordering_tf_kernels"
    image, file = begin(options, of_both(options, path, hashes), size=224, min_size=32)
    x = ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(image)
    return image, file, Conv2D(64, 7, strides=2, name="conv1_conv")(x)


def halved(x: KerasTensor) -> KerasTensor:
    """Returns the inputs of the first stack, with half as many rows and columns as the stem has."""
    x = ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    return MaxPooling2D(3, strides=2, name="pool1_pool")(x)


def _block(x: KerasTensor, filters: int, strides: int, *, first: bool, name: str) -> KerasTensor:
    """Returns `relu(shortcut + residual)`; the first block of a stack projects its shortcut."""
    shortcut = x
    if first:
        shortcut = Conv2D(4 * filters, 1, strides=strides, name=f"{name}_0_conv")(x)
        shortcut = _normalized(shortcut, f"{name}_0_bn")
    x = Conv2D(filters, 1, strides=strides, name=f"{name}_1_conv")(x)
    x = activated(x, f"{name}_1_bn", f"{name}_1_relu")
    x = Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x)
    x = activated(x, f"{name}_2_bn", f"{name}_2_relu")
    x = Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    x = _normalized(x, f"{name}_3_bn")
    x = Add(name=f"{name}_add")([shortcut, x])
    return Activation("relu", name=f"{name}_out")(x)


def _normalized(x: KerasTensor, name: str) -> KerasTensor:
    return BatchNormalization(axis=channel_axis(), epsilon=1.001e-5, name=name)(x)


def activated(x: KerasTensor, normalization: str, activation: str) -> KerasTensor:
    """Returns `relu(x)` of normalized channels.

    Args:
        x: a batch of images.
        normalization: name of the first layer.
        activation: name of the second layer.
    """
    return Activation("relu", name=activation)(_normalized(x, normalization))


ResNet50 = variant(_RESNET, _resnet, "ResNet50", "of 50 layers, with 25.6 million parameters")
ResNet101 = variant(_RESNET, _resnet, "ResNet101", "of 101 layers, with 44.7 million parameters")
ResNet152 = variant(_RESNET, _resnet, "ResNet152", "of 152 layers, with 60.4 million parameters")
