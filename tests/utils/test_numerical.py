import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

CATEGORICAL = {
    "list": ([0, 2, 1], None),
    "more classes": ([0, 2, 1], 5),
    "column": ([[0], [2]], 3),
    "matrix": ([[0, 1], [2, 0]], None),
    "scalar": (1, 3),
    "negative counts from the end": ([-1, 0], 3),
}


@pytest.mark.parametrize(("x", "num_classes"), CATEGORICAL.values(), ids=CATEGORICAL)
def test_to_categorical_gives_what_keras_gives(x, num_classes):
    got = tfkit.utils.to_categorical(x, num_classes)
    expected = keras.utils.to_categorical(x, num_classes)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_to_categorical_of_a_tensor_is_a_tensor():
    x = tf.constant([[0], [2]])
    got = tfkit.utils.to_categorical(x, 3)
    expected = keras.utils.to_categorical(x, 3)
    assert tf.is_tensor(got)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="`num_classes` must be given with a tensor"):
        tfkit.utils.to_categorical(x)


def test_to_categorical_refuses_classes_that_do_not_exist():
    for library in (tfkit, keras):
        with pytest.raises(IndexError):
            library.utils.to_categorical([3], 3)


@pytest.mark.parametrize("order", [1, 2, np.inf])
@pytest.mark.parametrize(
    "x", [np.array([[3.0, -4.0], [0.0, 0.0]]), np.arange(4), np.ones((2, 3, 4))]
)
def test_normalize_gives_what_keras_gives(x, order):
    got = tfkit.utils.normalize(x, order=order)
    np.testing.assert_allclose(got, keras.utils.normalize(x, order=order), strict=True)


def test_normalize_along_the_first_axis():
    # Keras takes 0 for "not given" here and divides by norms of the wrong axis.
    got = tfkit.utils.normalize(np.array([[3.0, 0.0], [4.0, 1.0]]), axis=0)
    np.testing.assert_allclose(got, [[0.6, 0.0], [0.8, 1.0]])


def test_normalize_of_a_tensor_is_a_tensor():
    x = tf.constant([[3.0, 4.0], [1.0, 0.0]])
    got = tfkit.utils.normalize(x)
    assert tf.is_tensor(got)
    np.testing.assert_allclose(got, keras.utils.normalize(x))
