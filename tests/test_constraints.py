"""Constraints: Keras's projections and configurations."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import constraints

W = np.random.default_rng(0).normal(size=(4, 3, 2)).astype("float32") * 3
CASES = [
    ("MaxNorm", {}),
    ("MaxNorm", {"max_value": 0.5, "axis": [0, 1]}),
    ("NonNeg", {}),
    ("UnitNorm", {}),
    ("UnitNorm", {"axis": [0, 1]}),
    ("MinMaxNorm", {}),
    ("MinMaxNorm", {"min_value": 4.0, "max_value": 5.0, "rate": 0.3, "axis": 1}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_equal_keras(name, options):
    ours = getattr(constraints, name)(**options)
    theirs = getattr(keras.constraints, name)(**options)
    expected = theirs(tf.constant(W))
    np.testing.assert_allclose(ours(tf.constant(W)), expected, rtol=1e-6)
    np.testing.assert_allclose(ours(tf.Variable(W)), expected, rtol=1e-6)
    compiled = tf.function(ours, autograph=False, jit_compile=True)
    np.testing.assert_allclose(compiled(tf.constant(W)), expected, rtol=1e-6)
    assert constraints.serialize(ours) == keras.constraints.serialize(theirs)
    again = constraints.deserialize(constraints.serialize(ours))
    np.testing.assert_array_equal(again(W), ours(W))
    assert ours(tf.cast(W, "float16")).dtype == "float16"


@pytest.mark.parametrize("name", ["max_norm", "MaxNorm", "non_neg", "unit_norm", "min_max_norm"])
def test_names(name):
    assert type(constraints.get(name)) is getattr(constraints, name)
    assert type(constraints.get(name)).__name__ == type(keras.constraints.get(name)).__name__


@pytest.mark.parametrize("name", [name for name in dir(keras.constraints) if name[0] != "_"])
def test_every_public_name_of_keras_exists(name):
    assert hasattr(constraints, name)


def test_get_takes_callables_and_base_class_changes_nothing():
    assert constraints.get(tf.nn.relu) is tf.nn.relu
    assert constraints.get(None) is None
    assert constraints.Constraint()(W) is W


@pytest.mark.parametrize("identifier", ["max", 3])
def test_unknown_identifiers(identifier):
    with pytest.raises(ValueError, match=repr(identifier)):
        constraints.get(identifier)
