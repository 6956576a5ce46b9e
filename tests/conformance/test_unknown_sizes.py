"""Inputs whose sizes are not known, but for the channels: sequences of any length, images of any size."""

import keras
import pytest
import tensorflow as tf

from tests.conformance.table import CASES
from tests.conformance.test_layers import assert_close, is_random, rewound
from tfkit import layers
from tfkit.src.symbolic.tensors import KerasTensor

WEIGHTS = "its weights have the size of an axis that is not the last"
STATES = "its states have the spatial size of its outputs"
# Rows that need a size, with the reason.
NEED_SIZES = {
    "EinsumDense-ab...,bc->ac...-5-c": WEIGHTS,
    "BatchNormalization-1-False-False": WEIGHTS,
    "GroupNormalization--1-1-False": WEIGHTS,
    "LayerNormalization-[1, 2]-False": WEIGHTS,
    "Normalization-1-[1.0, 2, 3, 4]-[4.0, 0.25, 1, 9]": WEIGHTS,
    "LSTM-3-True-hard_sigmoid": "an unrolled layer has as many copies of its step as there are steps",
    "ConvLSTM1D-2-2-same": STATES,
    "ConvLSTM1D-2-3-2-True-False": STATES,
    "ConvLSTM2D-2-2-l2": STATES,
    "ConvLSTM2D-2-(1, 2)-2-True": STATES,
    "ConvLSTM3D-1-2-True": STATES,
}
# Keras refuses the symbolic inputs of these, which have sizes that fit.
KERAS_REFUSES = ("Dot-(2, 1)",)


def specs(case):
    """A `TensorSpec` for each input: all sizes are unknown but that of the channels of floats."""
    channels = 1 if case.arguments.get("data_format") == "channels_first" else -1

    def spec(value):
        shape = [None] * value.ndim
        if value.dtype.kind == "f":
            shape[channels] = value.shape[channels]
        return tf.TensorSpec(shape, value.dtype)

    return tf.nest.map_structure(spec, case.data())


def symbolic(case, module, symbol):
    """The layer, built by symbolic inputs, and the shapes of its outputs."""
    layer = case.make(module)
    inputs = tf.nest.map_structure(
        lambda spec: symbol(tuple(spec.shape), dtype=spec.dtype.name), specs(case)
    )
    return layer, [tuple(output.shape) for output in tf.nest.flatten(layer(*inputs))]


@pytest.mark.parametrize("case", [case for case in CASES if str(case) not in NEED_SIZES], ids=str)
def test_shapes_are_those_of_keras_and_numbers_those_of_known_sizes(case):
    layer, shapes = symbolic(case, layers, KerasTensor)
    if str(case) not in KERAS_REFUSES:
        assert shapes == symbolic(case, keras.layers, keras.KerasTensor)[1]
    inputs = [tf.nest.map_structure(tf.constant, item) for item in case.data()]

    def results(**options):
        """Outputs of a program for any size, and of a call where the sizes are known."""
        program = tf.function(
            lambda *x: layer(*x, training=training), input_signature=specs(case), **options
        )
        found = rewound(layer)._tfkit_call_in_phases(tuple(inputs), {"training": training})
        rewound(layer)
        return program(*inputs), found

    training = is_random(case)
    outputs, expected = results()
    assert_close(outputs, expected, 1e-5)
    for promised, output in zip(shapes, tf.nest.flatten(outputs), strict=True):
        tf.TensorShape(promised).assert_is_compatible_with(output.shape)
    training = False
    assert_close(*results(jit_compile=True), 1e-5)


@pytest.mark.parametrize("case", [case for case in CASES if str(case) in NEED_SIZES], ids=str)
def test_a_layer_that_needs_a_size_says_so(case):
    with pytest.raises(ValueError, match=r"known|needs the number of steps|a `None` means"):
        symbolic(case, layers, KerasTensor)


def test_every_exception_is_a_row():
    rows = [str(case) for case in CASES]
    assert set(NEED_SIZES) | set(KERAS_REFUSES) <= set(rows)
