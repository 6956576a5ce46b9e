import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10)
DATA = {
    "array": lambda: X,
    "tuple": lambda: (X, Y),
    "list": lambda: [X, Y],
    "list of one": lambda: [X],
    "dataset": lambda: tf.data.Dataset.from_tensor_slices((X, Y)),
    "batched dataset": lambda: tf.data.Dataset.from_tensor_slices({"x": X, "y": Y}).batch(3),
}
SIZES = [(0.75, None), (None, 0.25), (7, None), (None, 4), (0.5, 0.2), (3, 4), (2, 0.5)]


def assert_equal_datasets(got, expected):
    assert got.element_spec == expected.element_spec
    for ours, theirs in zip(got, expected, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, ours, theirs)


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("shuffle", [False, True])
def test_parts_are_those_of_keras(data, shuffle):
    options = {"left_size": 0.7, "shuffle": shuffle, "seed": 5}
    for got, expected in zip(
        tfkit.utils.split_dataset(data(), **options),
        keras.utils.split_dataset(data(), **options),
        strict=True,
    ):
        assert_equal_datasets(got, expected)


@pytest.mark.parametrize(("left", "right"), SIZES)
def test_sizes_are_those_of_keras(left, right):
    for got, expected in zip(
        tfkit.utils.split_dataset(X, left, right),
        keras.utils.split_dataset(X, left, right),
        strict=True,
    ):
        assert_equal_datasets(got, expected)


def test_what_is_drawn_after_a_shuffle_is_what_keras_draws():
    drawn = []
    for library in (tfkit, keras):
        random.seed(0)
        library.utils.split_dataset(X, 0.5, shuffle=True)
        drawn.append(random.random())
    assert drawn[0] == drawn[1]


REFUSED = {
    "no sizes": (X, {}, ValueError, "Pass at least one"),
    "no data": ("abc", {"left_size": 1}, TypeError, "`dataset` must be an array"),
    "string": (X, {"left_size": "1"}, TypeError, "`left_size` must be an integer"),
    "all": (X, {"left_size": 10}, ValueError, "Received: left_size=10"),
    "whole": (X, {"right_size": 1.0}, ValueError, "Received: right_size=1.0"),
    "none": (X, {"left_size": 0}, ValueError, "Received: left_size=0"),
    "too much": (X, {"left_size": 0.7, "right_size": 4}, ValueError, "which are 7 and 4"),
    "empty part": (X, {"left_size": 0.01}, ValueError, "Both parts need samples"),
    "lengths": ((X, Y[:5]), {"left_size": 1}, ValueError, "must have the same length"),
    "empty": ((), {"left_size": 1}, ValueError, "must have the same length"),
    "lists": (([1, 2], [3, 4]), {"left_size": 1}, ValueError, "NumPy arrays only"),
}


@pytest.mark.parametrize(("data", "options", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_keras_refuses(data, options, error, message):
    with pytest.raises(error, match=message):
        tfkit.utils.split_dataset(data, **options)
    with pytest.raises(error):
        keras.utils.split_dataset(data, **options)


def test_only_tensorflow_splits():
    with pytest.raises(ValueError, match="preferred_backend='torch'"):
        tfkit.utils.split_dataset(X, 0.5, preferred_backend="torch")
