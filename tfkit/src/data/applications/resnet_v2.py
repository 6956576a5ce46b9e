"""ResNet V2: residual blocks that normalize their input, and add without an activation after it."""

from __future__ import annotations

import functools

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.input_and_classifier import finish, head
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.resnet import BLOCKS, FILTERS, activated, halved, stem
from tfkit.src.data.applications.variants import variant
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.merging import Add
from tfkit.src.layers.pooling import MaxPooling2D
from tfkit.src.layers.resizing import ZeroPadding2D
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model

_RESNET_V2 = Family(
    "resnet_v2",
    'He, Zhang, Ren and Sun, "Identity Mappings in Deep Residual Networks", 2016',
    "The models expect images that `tfkit.applications.resnet_v2.preprocess_input` returns: pixels from -1 "
    "to 1.",
)

# MD5 of the published files with and without the classifier.
_HASHES = {
    "resnet50v2": ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    "resnet101v2": ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    "resnet152v2": ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
}


def _resnet_v2(options: Options, name: str, architecture: str) -> Model:
    """Returns a network of four stacks with as many blocks as a row of `BLOCKS` says."""
    image, file, x = stem(options, architecture, _HASHES[architecture])
    x = halved(x)
    stacks = zip(FILTERS, BLOCKS[architecture.removesuffix("v2")], strict=True)
    for stack, (filters, count) in enumerate(stacks, start=2):
        for block in range(1, count + 1):
            # Unlike in ResNet, the last block of a stack halves rows and columns.
            strides = 2 if block == count and stack < 5 else 1
            x = _block(x, filters, strides, first=block == 1, name=f"conv{stack}_block{block}")
    x = activated(x, "post_bn", "post_relu")
    return finish(options, image, head(x, options), name, file)


def _block(x: KerasTensor, filters: int, strides: int, *, first: bool, name: str) -> KerasTensor:
    """Returns `shortcut + residual`; the first block of a stack projects its shortcut."""
    shortcut = x
    x = activated(x, f"{name}_preact_bn", f"{name}_preact_relu")
    if first:
        # The shortcut is projected after the activation, as in the paper's code.
        shortcut = Conv2D(4 * filters, 1, strides=strides, name=f"{name}_0_conv")(x)
    elif strides > 1:
        shortcut = MaxPooling2D(1, strides=strides)(shortcut)
    x = Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(x)
    x = activated(x, f"{name}_1_bn", f"{name}_1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)), name=f"{name}_2_pad")(x)
    x = Conv2D(filters, 3, strides=strides, use_bias=False, name=f"{name}_2_conv")(x)
    x = activated(x, f"{name}_2_bn", f"{name}_2_relu")
    x = Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return Add(name=f"{name}_out")([shortcut, x])


_variant = functools.partial(variant, _RESNET_V2, _resnet_v2)

ResNet50V2 = _variant("ResNet50V2", "of 50 layers, with 25.6 million parameters")
ResNet101V2 = _variant("ResNet101V2", "of 101 layers, with 44.7 million parameters")
ResNet152V2 = _variant("ResNet152V2", "of 152 layers, with 60.4 million parameters")
