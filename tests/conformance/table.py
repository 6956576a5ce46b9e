"""Every public layer once: its constructor's arguments and an input. A new layer is one line."""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Integers:
    """An input of integers from 0 to `below - 1`."""

    shape: tuple[int, ...]
    below: int


@dataclasses.dataclass(frozen=True)
class Pixels:
    """An input of floats from 0 to 1, which 16 bits hold exactly."""

    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """One row.

    Attributes:
        layer: name of the class, in `tfkit.layers` and in `keras.layers`.
        arguments: those of its constructor.
        inputs: a shape, `Integers` or `Pixels`; a list of these for a layer that takes a list; a tuple
            of these for one that takes several arguments.
        tolerance: of the comparison with Keras.
    """

    layer: str
    arguments: dict[str, Any]
    inputs: Any
    tolerance: float = 2e-5

    def __str__(self):
        return f"{self.layer}-{'-'.join(map(str, self.arguments.values()))}"

    def make(self, layers, **kwargs):
        """The layer, in `tfkit.layers` or in `keras.layers`; a layer inside is `(name, arguments)`."""
        arguments = {
            name: getattr(layers, value[0])(**value[1], **kwargs)
            if isinstance(value, tuple) and value and isinstance(value[0], str)
            else value
            for name, value in self.arguments.items()
        }
        return getattr(layers, self.layer)(**arguments, **kwargs)

    def data(self):
        """Positional arguments for a call."""
        draws = np.random.default_rng(7)
        given = self.inputs if _is_nest(self.inputs, tuple) else (self.inputs,)
        return [_draw(item, draws) for item in given]


def _is_nest(value, kind):
    return isinstance(value, kind) and not all(isinstance(item, int) for item in value)


def _draw(item, draws):
    if _is_nest(item, list):
        return [_draw(part, draws) for part in item]
    if isinstance(item, Integers):
        return draws.integers(0, item.below, item.shape).astype("int32")
    if isinstance(item, Pixels):
        return (draws.integers(0, 128, item.shape) / 128).astype("float32")
    return draws.normal(size=item).astype("float32")


SEQUENCE, IMAGE, VOLUME = (2, 4, 6), (2, 4, 5, 6), (2, 4, 3, 4, 2)
COLOURS, RANGE = Pixels((3, 6, 5, 3)), {"value_range": (0, 1)}

CASES = [
    # Convolution and pooling
    Case(
        "Conv1D",
        {"filters": 4, "kernel_size": 3, "padding": "causal", "dilation_rate": 2},
        SEQUENCE,
    ),
    Case(
        "Conv2D",
        {"filters": 4, "kernel_size": 3, "activation": "relu", "kernel_regularizer": "l2"},
        IMAGE,
    ),
    Case(
        "Conv2D",
        {
            "filters": 4,
            "kernel_size": (2, 3),
            "strides": (1, 2),
            "padding": "same",
            "groups": 2,
            "use_bias": False,
        },
        IMAGE,
    ),
    Case("Conv2D", {"filters": 12, "kernel_size": 3, "groups": 6}, IMAGE),
    Case("Conv3D", {"filters": 2, "kernel_size": 2}, (2, 3, 4, 3, 2)),
    Case("Conv1DTranspose", {"filters": 4, "kernel_size": 3}, SEQUENCE),
    Case(
        "Conv1DTranspose",
        {"filters": 3, "kernel_size": 4, "strides": 3, "output_padding": 2, "padding": "same"},
        SEQUENCE,
    ),
    Case(
        "Conv2DTranspose",
        {"filters": 4, "kernel_size": 3, "activation": "relu", "kernel_regularizer": "l2"},
        IMAGE,
    ),
    Case(
        "Conv2DTranspose",
        {"filters": 4, "kernel_size": (2, 3), "strides": (1, 2), "padding": "same"},
        IMAGE,
    ),
    Case(
        "Conv2DTranspose",
        {"filters": 2, "kernel_size": 3, "strides": 2, "output_padding": 1, "use_bias": False},
        IMAGE,
    ),
    Case("Conv3DTranspose", {"filters": 2, "kernel_size": 2, "strides": (2, 1, 1)}, VOLUME),
    Case(
        "DepthwiseConv1D",
        {"kernel_size": 2, "depth_multiplier": 2, "strides": 2, "depthwise_regularizer": "l2"},
        SEQUENCE,
    ),
    Case("DepthwiseConv1D", {"kernel_size": 2, "dilation_rate": 2, "padding": "same"}, SEQUENCE),
    Case("DepthwiseConv2D", {"kernel_size": (3, 2), "activation": "relu"}, IMAGE),
    Case(
        "DepthwiseConv2D",
        {"kernel_size": 3, "depth_multiplier": 2, "strides": 2, "padding": "same"},
        IMAGE,
    ),
    Case("DepthwiseConv2D", {"kernel_size": 2, "dilation_rate": 2, "use_bias": False}, IMAGE),
    Case(
        "SeparableConv1D",
        {"filters": 4, "kernel_size": 2, "pointwise_regularizer": "l2", "activation": "tanh"},
        SEQUENCE,
    ),
    Case(
        "SeparableConv2D",
        {"filters": 4, "kernel_size": 3, "strides": 2, "padding": "same", "depth_multiplier": 2},
        IMAGE,
    ),
    Case("SeparableConv2D", {"filters": 3, "kernel_size": 2, "dilation_rate": (1, 2)}, IMAGE),
    Case("MaxPooling1D", {}, SEQUENCE),
    Case("MaxPooling2D", {"pool_size": (2, 3), "strides": 1, "padding": "same"}, IMAGE),
    Case("MaxPooling3D", {}, (2, 4, 4, 4, 2)),
    Case("AveragePooling1D", {"pool_size": 3, "strides": 1, "padding": "same"}, SEQUENCE),
    Case("AveragePooling2D", {"pool_size": 2}, IMAGE),
    Case("AveragePooling3D", {"pool_size": 2}, (2, 4, 4, 4, 2)),
    Case("GlobalAveragePooling1D", {}, SEQUENCE),
    Case("GlobalAveragePooling2D", {"keepdims": True}, IMAGE),
    Case("GlobalAveragePooling3D", {}, (2, 4, 4, 4, 2)),
    Case("GlobalMaxPooling1D", {}, SEQUENCE),
    Case("GlobalMaxPooling2D", {}, IMAGE),
    Case("GlobalMaxPooling3D", {}, (2, 4, 4, 4, 2)),
    Case("AdaptiveAveragePooling1D", {"output_size": 3}, SEQUENCE),
    Case("AdaptiveAveragePooling2D", {"output_size": (2, 3)}, IMAGE),
    Case("AdaptiveAveragePooling3D", {"output_size": 2}, VOLUME),
    Case("AdaptiveMaxPooling1D", {"output_size": 3, "data_format": "channels_first"}, SEQUENCE),
    Case("AdaptiveMaxPooling2D", {"output_size": 2}, IMAGE),
    Case("AdaptiveMaxPooling3D", {"output_size": (2, 3, 2)}, VOLUME),
    # Core
    Case("Dense", {"units": 4, "activation": "relu", "kernel_regularizer": "l2"}, (2, 3)),
    Case("Dense", {"units": 4, "use_bias": False}, SEQUENCE),
    Case(
        "EinsumDense",
        {"equation": "abc,cd->abd", "output_shape": (None, 5), "bias_axes": "d"},
        SEQUENCE,
    ),
    Case("EinsumDense", {"equation": "...x,xy->...y", "output_shape": 5, "bias_axes": "y"}, IMAGE),
    Case(
        "EinsumDense",
        {"equation": "ab...,bc->ac...", "output_shape": 5, "bias_axes": "c"},
        SEQUENCE,
    ),
    Case("Embedding", {"input_dim": 7, "output_dim": 3, "mask_zero": True}, Integers((2, 5), 7)),
    Case("ReversibleEmbedding", {"input_dim": 7, "output_dim": 3}, Integers((2, 5), 7)),
    Case(
        "ReversibleEmbedding",
        {"input_dim": 7, "output_dim": 3, "mask_zero": True, "logit_soft_cap": 5.0},
        Integers((2, 5), 7),
    ),
    Case("Identity", {}, SEQUENCE),
    Case("Masking", {"mask_value": 0.0}, SEQUENCE),
    # Activations
    Case("Activation", {"activation": "tanh"}, SEQUENCE),
    Case("ELU", {"alpha": 0.5}, SEQUENCE),
    Case("LeakyReLU", {"negative_slope": 0.2}, SEQUENCE),
    Case("PReLU", {"alpha_initializer": "ones", "shared_axes": [1]}, SEQUENCE),
    Case("ReLU", {"max_value": 1.5, "negative_slope": 0.1, "threshold": 0.25}, SEQUENCE),
    Case("Softmax", {"axis": -1}, (2, 4)),
    Case("Softmax", {"axis": [1, 2]}, SEQUENCE),
    # Merging
    Case("Add", {}, [SEQUENCE, SEQUENCE, SEQUENCE]),
    Case("Add", {}, [SEQUENCE, (2, 6)]),
    Case("Average", {}, [SEQUENCE, SEQUENCE]),
    Case("Concatenate", {"axis": 1}, [SEQUENCE, (2, 3, 6)]),
    Case("Concatenate", {}, [SEQUENCE, (2, 4, 1)]),
    Case("Dot", {"axes": 1, "normalize": True}, [(2, 5), (2, 5)]),
    Case("Dot", {"axes": (2, 1)}, [SEQUENCE, (2, 6, 5)]),
    Case("Maximum", {}, [SEQUENCE, SEQUENCE, SEQUENCE]),
    Case("Minimum", {}, [SEQUENCE, SEQUENCE]),
    Case("Multiply", {}, [SEQUENCE, SEQUENCE]),
    Case("Subtract", {}, [SEQUENCE, SEQUENCE]),
    # Reshaping
    Case("Cropping1D", {"cropping": (1, 2)}, SEQUENCE),
    Case("Cropping2D", {"cropping": ((0, 1), (2, 0))}, IMAGE),
    Case("Cropping3D", {"cropping": ((0, 1), (2, 0), (1, 1))}, VOLUME),
    Case("Cropping3D", {"cropping": 1, "data_format": "channels_first"}, (2, 1, 3, 4, 5)),
    Case("Flatten", {}, IMAGE),
    Case("Flatten", {"data_format": "channels_first"}, IMAGE),
    Case("Permute", {"dims": (2, 1)}, SEQUENCE),
    Case("RepeatVector", {"n": 3}, (2, 4)),
    Case("Reshape", {"target_shape": (3, -1)}, SEQUENCE),
    Case("UpSampling1D", {"size": 3}, SEQUENCE),
    Case("UpSampling2D", {"size": (2, 3)}, IMAGE),
    Case("UpSampling2D", {"size": 2, "interpolation": "bilinear"}, IMAGE),
    Case("UpSampling3D", {"size": (2, 1, 3)}, VOLUME),
    Case("UpSampling3D", {"size": 2, "data_format": "channels_first"}, VOLUME),
    Case("ZeroPadding1D", {"padding": (1, 2)}, SEQUENCE),
    Case("ZeroPadding2D", {"padding": ((1, 0), (0, 2)), "data_format": "channels_first"}, IMAGE),
    Case("ZeroPadding3D", {"padding": ((1, 0), (0, 2), (1, 1))}, VOLUME),
    Case("ZeroPadding3D", {"padding": (1, 2, 0), "data_format": "channels_first"}, VOLUME),
    # Recurrent
    Case("SimpleRNN", {"units": 3}, SEQUENCE),
    Case("SimpleRNN", {"units": 3, "return_sequences": True, "use_bias": False}, SEQUENCE),
    Case("LSTM", {"units": 3, "kernel_regularizer": "l2"}, SEQUENCE),
    Case("LSTM", {"units": 3, "return_sequences": True, "return_state": True}, SEQUENCE),
    Case("LSTM", {"units": 3, "go_backwards": True, "unit_forget_bias": False}, SEQUENCE),
    Case("LSTM", {"units": 3, "unroll": True, "recurrent_activation": "hard_sigmoid"}, SEQUENCE),
    Case("GRU", {"units": 3}, SEQUENCE),
    Case("GRU", {"units": 3, "return_sequences": True, "reset_after": False}, SEQUENCE),
    Case("SimpleRNNCell", {"units": 3}, ((2, 5), (2, 3))),
    Case("LSTMCell", {"units": 3}, ((2, 5), [(2, 3), (2, 3)])),
    Case("GRUCell", {"units": 3}, ((2, 5), (2, 3))),
    Case("TimeDistributed", {"layer": ("Dense", {"units": 3})}, SEQUENCE),
    Case("TimeDistributed", {"layer": ("Flatten", {})}, IMAGE),
    Case("Bidirectional", {"layer": ("LSTM", {"units": 3})}, SEQUENCE),
    Case(
        "Bidirectional",
        {"layer": ("GRU", {"units": 3, "return_sequences": True}), "merge_mode": "ave"},
        SEQUENCE,
    ),
    Case(
        "Bidirectional",
        {"layer": ("LSTM", {"units": 3, "return_state": True}), "merge_mode": None},
        SEQUENCE,
    ),
    Case("RNN", {"cell": ("LSTMCell", {"units": 3}), "return_sequences": True}, SEQUENCE),
    Case("ConvLSTM1D", {"filters": 2, "kernel_size": 2, "padding": "same"}, IMAGE),
    Case(
        "ConvLSTM1D",
        {"filters": 2, "kernel_size": 3, "strides": 2, "return_sequences": True, "use_bias": False},
        IMAGE,
    ),
    Case("ConvLSTM2D", {"filters": 2, "kernel_size": 2, "kernel_regularizer": "l2"}, VOLUME),
    Case(
        "ConvLSTM2D",
        {"filters": 2, "kernel_size": (1, 2), "dilation_rate": 2, "return_state": True},
        VOLUME,
    ),
    Case("ConvLSTM3D", {"filters": 1, "kernel_size": 2, "go_backwards": True}, (2, 2, 3, 2, 2, 2)),
    # Regularization
    Case("ActivityRegularization", {"l1": 0.1, "l2": 0.2}, SEQUENCE),
    Case("AlphaDropout", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("Dropout", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("Dropout", {"rate": 0.4, "noise_shape": (None, 1, None), "seed": 3}, SEQUENCE),
    Case("GaussianDropout", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("GaussianNoise", {"stddev": 0.4, "seed": 3}, SEQUENCE),
    Case("SpatialDropout1D", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("SpatialDropout2D", {"rate": 0.4, "seed": 3}, IMAGE),
    Case("SpatialDropout3D", {"rate": 0.4, "seed": 3}, VOLUME),
    Case("SpatialDropout3D", {"rate": 0.4, "data_format": "channels_first", "seed": 3}, VOLUME),
    # Normalization
    Case("BatchNormalization", {"momentum": 0.9}, (3, 4)),
    Case("BatchNormalization", {"momentum": 0.9}, SEQUENCE),
    Case("BatchNormalization", {"momentum": 0.9}, IMAGE),
    Case("BatchNormalization", {"axis": 1, "center": False, "scale": False}, IMAGE),
    Case("BatchNormalization", {"center": False, "scale": False}, IMAGE),
    Case("GroupNormalization", {"groups": 2}, IMAGE),
    Case("GroupNormalization", {"groups": -1, "axis": 1, "center": False}, IMAGE),
    Case("LayerNormalization", {}, SEQUENCE),
    Case("LayerNormalization", {"axis": [1, 2], "center": False}, SEQUENCE),
    Case("RMSNormalization", {}, SEQUENCE),
    Case("SpectralNormalization", {"layer": ("Dense", {"units": 3})}, SEQUENCE),
    Case(
        "SpectralNormalization",
        {"layer": ("Conv2D", {"filters": 3, "kernel_size": 2}), "power_iterations": 2},
        IMAGE,
    ),
    Case("UnitNormalization", {"axis": [1, 2]}, SEQUENCE),
    # Spectrograms
    Case(
        "MelSpectrogram",
        {
            "fft_length": 16,
            "sequence_stride": 8,
            "num_mel_bins": 4,
            "sampling_rate": 200,
            "min_freq": 1.0,
        },
        (2, 40),
        1e-3,
    ),
    Case("STFTSpectrogram", {"mode": "log", "frame_length": 8, "fft_length": 16}, (2, 40, 2)),
    Case(
        "STFTSpectrogram",
        {"mode": "stft", "frame_length": 8, "padding": "same"},
        (2, 40, 2),
    ),
    Case(
        "STFTSpectrogram", {"mode": "magnitude", "frame_length": 8, "expand_dims": True}, (2, 40, 2)
    ),
    # Preprocessing of numbers; of texts: test_preprocessing.py
    Case("CategoryEncoding", {"num_tokens": 7, "output_mode": "one_hot"}, Integers((2, 5), 7)),
    Case("CategoryEncoding", {"num_tokens": 5, "output_mode": "multi_hot"}, Integers((2, 4), 7)),
    Case("CategoryEncoding", {"num_tokens": 7, "output_mode": "count"}, Integers((2, 4, 3), 7)),
    Case("Discretization", {"bin_boundaries": [-0.5, 0.5], "output_mode": "one_hot"}, SEQUENCE),
    Case("Discretization", {"bin_boundaries": [-0.5, 0.5], "output_mode": "count"}, SEQUENCE),
    Case(
        "Normalization",
        {"axis": 1, "mean": [1.0, 2, 3, 4], "variance": [4.0, 0.25, 1, 9]},
        SEQUENCE,
    ),
    Case("Normalization", {"axis": None, "mean": 0.5, "variance": 2.0, "invert": True}, IMAGE),
    # Attention
    Case("AdditiveAttention", {}, [SEQUENCE, (2, 3, 6)]),
    Case(
        "Attention",
        {"use_scale": True, "dropout": 0.3, "seed": 3},
        [SEQUENCE, (2, 3, 5), (2, 3, 6)],
    ),
    Case("Attention", {"score_mode": "concat"}, [SEQUENCE, (2, 3, 6)]),
    Case(
        "GroupQueryAttention",
        {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2},
        (SEQUENCE, (2, 3, 6)),
    ),
    Case(
        "GroupQueryAttention",
        {
            "head_dim": 3,
            "num_query_heads": 3,
            "num_key_value_heads": 1,
            "dropout": 0.3,
            "sliding_window": 2,
            "use_gate": True,
            "seed": 3,
        },
        (SEQUENCE, SEQUENCE),
    ),
    Case("MultiHeadAttention", {"num_heads": 2, "key_dim": 3}, (SEQUENCE, (2, 3, 5))),
    Case(
        "MultiHeadAttention",
        {"num_heads": 2, "key_dim": 3, "value_dim": 4, "dropout": 0.3, "seed": 3, "use_gate": True},
        (SEQUENCE, SEQUENCE),
    ),
    Case("MultiHeadAttention", {"num_heads": 2, "key_dim": 3, "attention_axes": 2}, (IMAGE, IMAGE)),
    # Images
    Case("Rescaling", {"scale": 0.5, "offset": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, SEQUENCE),
    Case("Resizing", {"height": 3, "width": 7}, IMAGE),
    Case("Resizing", {"height": 6, "width": 3, "crop_to_aspect_ratio": True}, IMAGE),
    Case(
        "Resizing", {"height": 6, "width": 3, "pad_to_aspect_ratio": True, "fill_value": 2.0}, IMAGE
    ),
    Case(
        "Resizing",
        {"height": 2, "width": 2, "data_format": "channels_first"},
        IMAGE,
    ),
    Case("CenterCrop", {"height": 3, "width": 2}, IMAGE),
    Case("CenterCrop", {"height": 7, "width": 5}, IMAGE),
    Case("RandomCrop", {"height": 3, "width": 2, "seed": 3}, IMAGE),
    Case(
        "RandomCrop", {"height": 3, "width": 2, "data_format": "channels_first", "seed": 3}, IMAGE
    ),
    Case("RandomFlip", {"seed": 3}, IMAGE),
    Case("RandomFlip", {"mode": "vertical", "data_format": "channels_first", "seed": 3}, IMAGE),
    Case("RandomRotation", {"factor": 0.2, "seed": 3}, IMAGE),
    Case(
        "RandomRotation",
        {"factor": (0.1, 0.4), "fill_mode": "nearest", "data_format": "channels_first", "seed": 3},
        IMAGE,
    ),
    Case(
        "RandomZoom",
        {"height_factor": 0.3, "fill_mode": "constant", "fill_value": 2.0, "seed": 3},
        IMAGE,
    ),
    Case(
        "RandomZoom",
        {"height_factor": 0.3, "width_factor": (0.1, 0.2), "fill_mode": "wrap", "seed": 3},
        IMAGE,
    ),
    Case("RandomTranslation", {"height_factor": 0.3, "width_factor": (0.1, 0.2), "seed": 3}, IMAGE),
    Case(
        "RandomShear",
        {"x_factor": (0.1, 0.3), "y_factor": (0.1, 0.2), "interpolation": "nearest", "seed": 3},
        IMAGE,
    ),
    Case("RandomPerspective", {"scale": 0.4, "seed": 3}, IMAGE),
    Case("RandomElasticTransform", {"fill_mode": "nearest", "seed": 3, **RANGE}, COLOURS),
    Case("RandomBrightness", {"factor": 0.3, "seed": 3, **RANGE}, COLOURS),
    Case("RandomContrast", {"factor": 0.6, "seed": 3, **RANGE}, COLOURS),
    Case(
        "RandomContrast",
        {"factor": (0.2, 0.6), "data_format": "channels_first", "seed": 3, **RANGE},
        IMAGE,
    ),
    Case("RandomSaturation", {"factor": (0.2, 0.8), "seed": 3, **RANGE}, COLOURS, 1e-4),
    Case("RandomHue", {"factor": 0.4, "seed": 3, **RANGE}, COLOURS, 1e-4),
    Case("RandomColorDegeneration", {"factor": 0.4, "seed": 3, **RANGE}, COLOURS),
    Case(
        "RandomColorJitter",
        {"brightness_factor": 0.3, "contrast_factor": 0.3, "hue_factor": 0.2, "seed": 3, **RANGE},
        COLOURS,
        1e-4,
    ),
    Case("RandomGrayscale", {"seed": 3}, COLOURS),
    Case("RandomGrayscale", {"data_format": "channels_first", "seed": 3}, Pixels((3, 3, 4, 5))),
    Case("RandomInvert", {"seed": 3, **RANGE}, COLOURS),
    Case("RandomErasing", {"seed": 3, **RANGE}, COLOURS),
    Case("RandomErasing", {"scale": (0.2, 0.5), "fill_value": 0.5, "seed": 3, **RANGE}, COLOURS),
    Case("RandomGaussianBlur", {"kernel_size": 5, "seed": 3, **RANGE}, COLOURS),
    Case("RandomSharpness", {"factor": 0.9, "seed": 3, **RANGE}, COLOURS),
    Case("RandomPosterization", {"factor": 4, "seed": 3, **RANGE}, COLOURS),
    Case(
        "Solarization",
        {"addition_factor": 0.3, "threshold_factor": 0.64, "seed": 3, **RANGE},
        COLOURS,
        1e-4,
    ),
    Case("AutoContrast", RANGE, COLOURS),
    Case("Equalization", RANGE, Pixels((1, 4, 5, 3))),
    Case("Equalization", {"bins": 16, **RANGE}, Pixels((1, 4, 5, 3))),
    Case(
        "ContrastLimitedAdaptiveHistogramEqualization", {"tile_grid_size": (2, 2), **RANGE}, COLOURS
    ),
    Case("CutMix", {"seed": 3}, IMAGE),
    Case("MixUp", {"seed": 3}, IMAGE),
    Case("MaxNumBoundingBoxes", {"max_number": 3}, IMAGE),
    Case("RandAugment", {"seed": 3, **RANGE}, COLOURS, 1e-4),
]

# Public classes that are no rows, and where they are tested.
ELSEWHERE = {
    "AugMix": "tests/layers/test_images.py",
    "Pipeline": "tests/layers/test_images.py",
    **dict.fromkeys(
        ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization"),
        "tests/conformance/test_preprocessing.py",
    ),
    **dict.fromkeys(("FlaxLayer", "JaxLayer"), "tests/convert/test_jax_layer.py"),
    "TorchModuleWrapper": "tests/convert/test_torch_layer.py",
    "InputLayer": "tests/models",
    "Lambda": "tests/layers/test_lambda_layer.py",
    "Layer": "tests/core",
    "TFSMLayer": "tests/export/test_loading.py",
    "StackedRNNCells": "tests/layers/test_recurrent.py",
    "Wrapper": "tests/layers/test_core_layers.py",
}
