"""The layers that only these models have: numbers, precisions, files of both libraries."""

import importlib

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.applications.pairs import draw_weights
from tfkit.src.data.applications.convnext import LayerScale
from tfkit.src.data.applications.inception_resnet_v2 import CustomScaleLayer

# Keras copies its variables in a way that NumPy 2 warns of, whenever it saves.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

X, Y = np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype("float32")


def theirs(module, name):
    return getattr(importlib.import_module(f"keras.src.applications.{module}"), name)


SCALE = (LayerScale, theirs("convnext", "LayerScale"), {"init_values": 0.5, "projection_dim": 4})
SUM = (CustomScaleLayer, theirs("inception_resnet_v2", "CustomScaleLayer"), {"scale": 0.25})


def model(library, layer):
    x = library.Input((3, 4), name="x")
    if "LayerScale" in type(layer).__name__:
        return library.Model(x, layer(x))
    y = library.Input((3, 4), name="y")
    return library.Model([x, y], layer([x, y]))


def data(of):
    return X if len(of.inputs) == 1 else [X, Y]


def test_formulas():
    np.testing.assert_array_equal(CustomScaleLayer(0.25)([X, Y]), X + 0.25 * Y)
    layer = LayerScale(0.5, 4)
    np.testing.assert_array_equal(layer(X), 0.5 * X)
    layer.gamma.assign([1, 2, 3, 4])
    compiled = tf.function(layer, jit_compile=True)
    np.testing.assert_allclose(compiled(X), X * [1, 2, 3, 4], rtol=1e-6)
    assert [weight.name for weight in layer.trainable_weights] == ["gamma"]


@pytest.mark.parametrize(("own", "other", "arguments"), [SCALE, SUM])
def test_files_go_both_ways(own, other, arguments, tmp_path):
    keras_model = model(keras, other(**arguments))
    draw_weights(keras_model)
    keras_model.save(tmp_path / "theirs.keras")
    ours = tfkit.models.load_model(tmp_path / "theirs.keras")
    assert type(ours.layers[-1]) is own
    np.testing.assert_allclose(ours(data(ours)), keras_model(data(ours)), rtol=1e-6)
    for name in ("ours.keras", "ours.h5"):
        ours.save(tmp_path / name)
        again = tfkit.models.load_model(tmp_path / name)
        np.testing.assert_array_equal(again(data(ours)), ours(data(ours)))
    loaded = keras.models.load_model(tmp_path / "ours.keras")
    assert type(loaded.layers[-1]) is other
    np.testing.assert_allclose(loaded(data(ours)), ours(data(ours)), rtol=1e-6)


@pytest.mark.parametrize(("own", "other", "arguments"), [SCALE, SUM])
@pytest.mark.parametrize("dtype", ["mixed_float16", "float64", "bfloat16"])
def test_outputs_have_the_compute_dtype(own, other, arguments, dtype):
    ours, known = (model(tfkit, own(dtype=dtype, **arguments)), other(dtype=dtype, **arguments))
    assert ours(data(ours)).dtype == known.compute_dtype
    assert {weight.dtype.name for weight in ours.weights} <= {known.variable_dtype}
