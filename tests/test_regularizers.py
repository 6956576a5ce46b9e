"""Regularizers: Keras's penalties and configurations."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import regularizers

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
CASES = [
    ("L1", {}),
    ("L1", {"l1": None}),
    ("L2", {"l2": 0.3}),
    ("L1L2", {}),
    ("L1L2", {"l1": 0.1, "l2": 0.2}),
    ("L1L2", {"l1": None, "l2": 0.2}),
    ("OrthogonalRegularizer", {}),
    ("OrthogonalRegularizer", {"factor": 2.0, "mode": "columns"}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_equal_keras(name, options):
    ours = getattr(regularizers, name)(**options)
    theirs = getattr(keras.regularizers, name)(**options)
    expected = theirs(tf.constant(X))
    np.testing.assert_allclose(ours(tf.constant(X)), expected, rtol=1e-6)
    np.testing.assert_allclose(ours(tf.Variable(X)), expected, rtol=1e-6)
    compiled = tf.function(ours, autograph=False, jit_compile=True)
    np.testing.assert_allclose(compiled(tf.constant(X)), expected, rtol=1e-6)
    config = ours.get_config()
    expected_config = theirs.get_config()
    assert config.pop("mode", None) == expected_config.pop("mode", None)
    assert config == pytest.approx(expected_config, rel=1e-6)
    again = regularizers.deserialize(regularizers.serialize(ours))
    assert again.get_config() == ours.get_config()
    np.testing.assert_array_equal(again(X), ours(X))


def test_zero_rows_are_no_division_by_zero():
    x = tf.zeros((3, 2))
    assert regularizers.OrthogonalRegularizer()(x) == keras.regularizers.OrthogonalRegularizer()(x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["L1", "L2", "L1L2", "OrthogonalRegularizer"])
def test_dtype_is_that_of_the_weight(name, dtype):
    assert getattr(regularizers, name)()(tf.cast(X, dtype)).dtype == dtype


@pytest.mark.parametrize("name", ["l1", "l2", "L1", "L1L2", "l1_l2", "orthogonal_regularizer"])
def test_names(name):
    expected = getattr(regularizers, name)
    assert type(regularizers.get(name)) is expected
    assert expected.__name__ == getattr(keras.regularizers, name).__name__


@pytest.mark.parametrize("name", [name for name in dir(keras.regularizers) if name[0] != "_"])
def test_every_public_name_of_keras_exists(name):
    assert hasattr(regularizers, name)


def test_get_takes_callables_and_base_class_gives_nothing():
    def penalty(x):
        return 0.0

    assert regularizers.get(penalty) is penalty
    assert regularizers.get(None) is None
    assert regularizers.Regularizer()(X) == 0.0
    with pytest.raises(NotImplementedError, match="must define `get_config"):
        regularizers.Regularizer().get_config()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regularizers.L1(-0.1), "`l1` must be a finite number of 0 or more.*-0.1"),
        (lambda: regularizers.L2("a"), "`l2` must be.*'a'"),
        (lambda: regularizers.L1L2(l2=float("nan")), "`l2` must be.*nan"),
        (lambda: regularizers.L1L2(l1=float("inf")), "`l1` must be.*inf"),
        (lambda: regularizers.OrthogonalRegularizer(mode="x"), "`mode` must be.*'x'"),
        (lambda: regularizers.OrthogonalRegularizer()(tf.ones((2,))), r"matrices only.*\(2,\)"),
        (lambda: regularizers.get("l3"), "Unknown name.*'l3'"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
