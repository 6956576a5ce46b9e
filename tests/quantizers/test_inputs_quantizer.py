"""`layer.inputs_quantizer`, as in Keras: what a quantized layer rounds its inputs with."""

import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def found(library, mode, config_of):
    """Returns what `inputs_quantizer` is for each layer that has one."""
    layers = [
        (library.layers.Dense(4), (None, 6)),
        (library.layers.EinsumDense("ab,bc->ac", 4), (None, 6)),
        (library.layers.ReversibleEmbedding(8, 4), (None,)),
    ]
    values = []
    for layer, shape in layers:
        layer.build(shape)
        assert not hasattr(layer, "inputs_quantizer")
        layer.quantize(mode, config=config_of(library.quantizers))
        quantizer = layer.inputs_quantizer
        values.append(quantizer if quantizer is None else type(quantizer).__name__)
    return values


@pytest.mark.parametrize(
    ("mode", "config_of"),
    [
        ("int8", lambda quantizers: None),
        ("int8", lambda quantizers: quantizers.Int8QuantizationConfig(activation_quantizer=None)),
        ("int4", lambda quantizers: None),
        ("int4", lambda quantizers: quantizers.Int4QuantizationConfig()),
    ],
)
def test_it_is_keras(mode, config_of):
    assert found(tfkit, mode, config_of) == found(keras, mode, config_of)


def test_your_own_quantizer_is_found():
    class Own(tfkit.quantizers.AbsMaxQuantizer):
        pass

    layer = tfkit.layers.Dense(2)
    layer(np.ones((1, 3)))
    layer.quantize(
        config=tfkit.quantizers.Int8QuantizationConfig(activation_quantizer=Own(axis=-1))
    )
    assert isinstance(layer.inputs_quantizer, Own)
