"""ConvNeXt: a network of convolutions in the form of a transformer."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Unpack

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.registry.constructors import made_of
from tfkit.src.core.layer import Layer
from tfkit.src.data.applications.describing import Family, application
from tfkit.src.data.applications.input_and_classifier import UNNAMED, begin, finish, pooled
from tfkit.src.data.applications.input_shape import CHANNELS, needs_channels_last
from tfkit.src.data.applications.options import Options, Pooling, Shape, Weights
from tfkit.src.data.applications.variants import titled
from tfkit.src.data.applications.weights import of_both
from tfkit.src.layers.activation import Activation
from tfkit.src.layers.convolution import Conv2D
from tfkit.src.layers.dense import Dense
from tfkit.src.layers.normalization import LayerNormalization
from tfkit.src.layers.pooling import GlobalAveragePooling2D
from tfkit.src.layers.preprocessing.normalization import Normalization
from tfkit.src.ops.arithmetic import add
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.training.models.model import Model
from tfkit.src.training.models.sequential import Sequential
from tfkit.src.weights.initializers.constant import Constant

_CONVNEXT = Family(
    "convnext",
    'Liu, Mao, Wu, Feichtenhofer, Darrell and Xie, "A ConvNet for the 2020s", 2022',
    "The models take images with pixels from 0 to 255 and scale them; with include_preprocessing=False they "
    "expect pixels minus the means of ImageNet's channels, divided by their deviations. They need the image "
    'data format `"channels_last"`.',
    arguments={"name": "name of the model, and the beginning of the names of its layers."},
)


class _Network(NamedTuple):
    """A network: the number of blocks and of channels of each of its stages."""

    blocks: tuple[int, int, int, int]
    channels: tuple[int, int, int, int]


_NETWORKS = {
    "tiny": _Network((3, 3, 9, 3), (96, 192, 384, 768)),
    "small": _Network((3, 3, 27, 3), (96, 192, 384, 768)),
    "base": _Network((3, 3, 27, 3), (128, 256, 512, 1024)),
    "large": _Network((3, 3, 27, 3), (192, 384, 768, 1536)),
    "xlarge": _Network((3, 3, 27, 3), (256, 512, 1024, 2048)),
}
# Means and variances of ImageNet's channels, for pixels from 0 to 255.
_MEANS = (0.485 * 255, 0.456 * 255, 0.406 * 255)
_VARIANCES = ((0.229 * 255) ** 2, (0.224 * 255) ** 2, (0.225 * 255) ** 2)
# Initial factor of each residual.
_SCALE = 1e-6
# SHA-256 of the published files with and without the classifier.
_HASHES = {
    "tiny": (
        "8ae6e78ce2933352b1ef4008e6dd2f17bc40771563877d156bc6426c7cf503ff",
        "d547c096cabd03329d7be5562c5e14798aa39ed24b474157cef5e85ab9e49ef1",
    ),
    "small": (
        "ce1277d8f1ee5a0ef0e171469089c18f5233860ceaf9b168049cb9263fd7483c",
        "6fc8009faa2f00c1c1dfce59feea9b0745eb260a7dd11bee65c8e20843da6eab",
    ),
    "base": (
        "52cbb006d3dadd03f6e095a8ca1aca47aecdd75acb4bc74bce1f5c695d0086e6",
        "40a20c5548a5e9202f69735ecc06c990e6b7c9d2de39f0361e27baeb24cb7c45",
    ),
    "large": (
        "070c5ed9ed289581e477741d3b34beffa920db8cf590899d6d2c67fba2a198a6",
        "96f02b6f0753d4f543261bc9d09bed650f24dd6bc02ddde3066135b63d23a1cd",
    ),
    "xlarge": (
        "c1f5ccab661354fc3a79a10fa99af82f0fbf10ec65cb894a3ae0815f17a889ee",
        "de3f8a54174130e0cecdc71583354753d557fcf1f4487331558e2a16ba0cfe05",
    ),
}


def _convnext(options: Options, name: str, version: str, include_preprocessing: bool) -> Model:
    """Returns the network of a row of `_NETWORKS`."""
    needs_channels_last("ConvNeXt")
    network = _NETWORKS[version]
    published = of_both(options, f"convnext/convnext_{version}", _HASHES[version])
    image, file = begin(options, published, size=224, min_size=32)

    x = image
    if include_preprocessing and x.shape[-1] == CHANNELS:
        x = Normalization(mean=_MEANS, variance=_VARIANCES, name=f"{name}_prestem_normalization")(x)
    # All are made before the blocks, as in Keras, so that the same seed draws the same weights.
    parts = [_smaller(channels, stage, name) for stage, channels in enumerate(network.channels)]
    for stage, (count, channels) in enumerate(zip(*network, strict=True)):
        x = parts[stage](x)
        for block in range(count):
            x = _block(x, channels, f"{name}_stage_{stage}_block_{block}")
    if options.include_top:
        x = GlobalAveragePooling2D(name=f"{name}_head_gap")(x)
        x = _normalized(x, f"{name}_head_layernorm")
        activation = options.classifier_activation
        x = Dense(options.classes, activation=activation, name=f"{name}_head_dense")(x)
    else:
        x = _normalized(pooled(x, options, UNNAMED))
    return finish(options, image, x, name, file)


def _smaller(channels: int, stage: int, name: str) -> Sequential:
    """Returns the layers in front of a stage: each 4 x 4 pixels, or 2 x 2 positions, become one position."""
    if stage == 0:
        conv = Conv2D(channels, 4, strides=4, name=f"{name}_stem_conv")
        normalization = LayerNormalization(epsilon=1e-6, name=f"{name}_stem_layernorm")
        return Sequential([conv, normalization], name=f"{name}_stem")
    names = f"{name}_downsampling_{{}}_{stage - 1}"
    normalization = LayerNormalization(epsilon=1e-6, name=names.format("layernorm"))
    conv = Conv2D(channels, 2, strides=2, name=names.format("conv"))
    return Sequential([normalization, conv], name=names.format("block"))


def _block(x: KerasTensor, channels: int, name: str) -> KerasTensor:
    """Returns the input plus what a dense network computes from 7 x 7 positions of each channel."""
    inputs = x
    x = Conv2D(channels, 7, padding="same", groups=channels, name=f"{name}_depthwise_conv")(x)
    x = _normalized(x, f"{name}_layernorm")
    x = Dense(4 * channels, name=f"{name}_pointwise_conv_1")(x)
    x = Activation("gelu", name=f"{name}_gelu")(x)
    x = Dense(channels, name=f"{name}_pointwise_conv_2")(x)
    x = LayerScale(_SCALE, channels, name=f"{name}_layer_scale")(x)
    # Keras has this layer where the paper drops residuals, at a rate of 0.
    x = Activation("linear", name=f"{name}_identity")(x)
    return add(inputs, x)


def _normalized(x: KerasTensor, name: str | None = None) -> KerasTensor:
    return LayerNormalization(epsilon=1e-6, name=name)(x)


class LayerScale(Layer):
    """`gamma * x`, with a weight for each channel.

    Args:
        init_values: initial value of the weights.
        projection_dim: number of channels.
        **kwargs: arguments of every layer.

    Input shape: `(..., projection_dim)`.

    Output shape: the shape of the input.

    Reference:
        Touvron, Cord, Sablayrolles, Synnaeve and Jégou, "Going deeper with Image Transformers", 2021
    """

    def __init__(
        self, init_values: float, projection_dim: int, **kwargs: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.init_values = init_values
        self.projection_dim = projection_dim

    def build(self, input_shape: Any) -> None:
        """Makes the weights."""
        self.gamma = self.add_weight(
            shape=(self.projection_dim,), initializer=Constant(self.init_values), name="gamma"
        )

    def call(self, x: Any) -> Any:
        """Returns the weighted channels."""
        return x * self.gamma


class _Application(Protocol):
    """A function of a model, for type checkers."""

    def __call__(
        self,
        include_top: bool = ...,
        include_preprocessing: bool = ...,
        weights: Weights = ...,
        input_tensor: KerasTensor | None = ...,
        input_shape: Shape = ...,
        pooling: Pooling = ...,
        classes: int = ...,
        classifier_activation: Any = ...,
        name: str = ...,
    ) -> Model:
        """Returns the model."""


def _variant(title: str, words: str, version: str) -> _Application:
    """Returns the function of the network of a row of `_NETWORKS`."""

    @application(_CONVNEXT)
    @titled(title, words)
    def function(
        include_top: bool = True,
        include_preprocessing: bool = True,
        weights: Weights = "imagenet",
        input_tensor: KerasTensor | None = None,
        input_shape: Shape = None,
        pooling: Pooling = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        name: str = f"convnext_{version}",
    ) -> Model:
        options = made_of(Options, locals())
        return _convnext(options, name, version, include_preprocessing)

    return function


ConvNeXtTiny = _variant("ConvNeXtTiny", "with 28.6 million parameters", "tiny")
ConvNeXtSmall = _variant("ConvNeXtSmall", "with 50.2 million parameters", "small")
ConvNeXtBase = _variant("ConvNeXtBase", "with 88.6 million parameters", "base")
ConvNeXtLarge = _variant("ConvNeXtLarge", "with 198 million parameters", "large")
ConvNeXtXLarge = _variant("ConvNeXtXLarge", "with 350 million parameters", "xlarge")
