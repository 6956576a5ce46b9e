"""Integers of constructors may be NumPy's, or arrays and tensors without axes, as in Keras."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfkit import layers, saving

IMAGES = (2, 6, 6, 4)
SERIES = (2, 6, 4)
CASES = {
    "Conv1D": (SERIES, {"filters": 2, "kernel_size": 2, "strides": 1, "groups": 2}),
    "Conv2DTranspose": (IMAGES, {"filters": 2, "kernel_size": 2, "strides": 2}),
    "SeparableConv2D": (IMAGES, {"filters": 2, "kernel_size": 2, "depth_multiplier": 2}),
    "DepthwiseConv1D": (SERIES, {"kernel_size": 2, "depth_multiplier": 2, "dilation_rate": 1}),
    "ConvLSTM1D": ((2, 3, 6, 4), {"filters": 2, "kernel_size": 2}),
    "Dense": (SERIES, {"units": 3, "lora_rank": 1}),
    "GRU": (SERIES, {"units": 3}),
    "Embedding": (SERIES, {"input_dim": 2, "output_dim": 3}),
    "BatchNormalization": (SERIES, {"axis": -1}),
    "GroupNormalization": (SERIES, {"groups": 2}),
    "MaxPooling2D": (IMAGES, {"pool_size": 2, "strides": 1}),
    "ZeroPadding2D": (IMAGES, {"padding": 2}),
    "UpSampling1D": (SERIES, {"size": 2}),
    "RepeatVector": ((2, 4), {"n": 3}),
    "CenterCrop": (IMAGES, {"height": 3, "width": 2}),
    "Resizing": (IMAGES, {"height": 3, "width": 2}),
    "CategoryEncoding": ((2, 3), {"num_tokens": 4}),
    "MelSpectrogram": (
        (2, 64),
        {"fft_length": 16, "sequence_stride": 8, "sequence_length": 16, "num_mel_bins": 4},
    ),
    "GroupQueryAttention": (
        SERIES,
        {"head_dim": 2, "num_query_heads": 2, "num_key_value_heads": 1},
    ),
}
KINDS = [np.int32, np.int64, np.array, tf.constant]


def output_shape(layer, shape):
    x = np.ones(shape, "float32")
    return tuple(layer(x, x).shape if "Attention" in type(layer).__name__ else layer(x).shape)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", CASES)
def test_an_integer_of_any_kind(name, kind):
    shape, arguments = CASES[name]
    make = getattr(layers, name)
    expected = output_shape(make(**arguments), shape)
    layer = make(**{key: kind(value) for key, value in arguments.items()})
    assert output_shape(layer, shape) == expected
    config = json.loads(json.dumps(saving.serialize_keras_object(layer)))
    assert output_shape(saving.deserialize_keras_object(config), shape) == expected


def test_lookups_and_bins():
    assert layers.StringLookup(num_oov_indices=np.array(2)).vocabulary_size() == 2
    assert layers.Discretization(num_bins=tf.constant(4)).num_bins == 4


@pytest.mark.parametrize("value", [True, np.array([2]), np.array(2.0), "2", tf.constant(2.0)])
def test_others_are_refused(value):
    with pytest.raises(ValueError, match="Expected a positive integer"):
        layers.Conv1D(value, 2)
