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
class Case:
    """One row.

    Attributes:
        layer: name of the class, in `tfkit.layers` and in `keras.layers`.
        arguments: those of its constructor.
        inputs: a shape or `Integers`; a list of these for a layer that takes a list; a tuple of these
            for one that takes several arguments.
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
    return draws.normal(size=item).astype("float32")


SEQUENCE, IMAGE = (2, 4, 6), (2, 4, 5, 6)

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
    Case("Conv3D", {"filters": 2, "kernel_size": 2}, (2, 3, 4, 3, 2)),
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
    Case("Flatten", {}, IMAGE),
    Case("Flatten", {"data_format": "channels_first"}, IMAGE),
    Case("Permute", {"dims": (2, 1)}, SEQUENCE),
    Case("RepeatVector", {"n": 3}, (2, 4)),
    Case("Reshape", {"target_shape": (3, -1)}, SEQUENCE),
    Case("UpSampling1D", {"size": 3}, SEQUENCE),
    Case("UpSampling2D", {"size": (2, 3)}, IMAGE),
    Case("UpSampling2D", {"size": 2, "interpolation": "bilinear"}, IMAGE),
    Case("ZeroPadding1D", {"padding": (1, 2)}, SEQUENCE),
    Case("ZeroPadding2D", {"padding": ((1, 0), (0, 2)), "data_format": "channels_first"}, IMAGE),
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
    # Regularization
    Case("ActivityRegularization", {"l1": 0.1, "l2": 0.2}, SEQUENCE),
    Case("AlphaDropout", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("Dropout", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("Dropout", {"rate": 0.4, "noise_shape": (None, 1, None), "seed": 3}, SEQUENCE),
    Case("GaussianDropout", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("GaussianNoise", {"stddev": 0.4, "seed": 3}, SEQUENCE),
    Case("SpatialDropout1D", {"rate": 0.4, "seed": 3}, SEQUENCE),
    Case("SpatialDropout2D", {"rate": 0.4, "seed": 3}, IMAGE),
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
    Case("UnitNormalization", {"axis": [1, 2]}, SEQUENCE),
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
    Case("MultiHeadAttention", {"num_heads": 2, "key_dim": 3}, (SEQUENCE, (2, 3, 5))),
    Case(
        "MultiHeadAttention",
        {"num_heads": 2, "key_dim": 3, "value_dim": 4, "dropout": 0.3, "seed": 3, "use_gate": True},
        (SEQUENCE, SEQUENCE),
    ),
    Case("MultiHeadAttention", {"num_heads": 2, "key_dim": 3, "attention_axes": 2}, (IMAGE, IMAGE)),
]

# Public classes that are no rows, and where they are tested.
ELSEWHERE = {
    **dict.fromkeys(
        ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization"),
        "tests/conformance/test_preprocessing.py",
    ),
    "InputLayer": "tests/models",
    "Lambda": "tests/layers/test_lambda_layer.py",
    "Layer": "tests/core",
    "TFSMLayer": "tests/export/test_loading.py",
    "StackedRNNCells": "tests/layers/test_recurrent.py",
    "Wrapper": "tests/layers/test_core_layers.py",
}
