"""Settings of the process, and the modules that give them under further names."""

import traceback

import keras
import pytest
import tensorflow as tf

import tfkit


def depth_of_a_failing_op():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
    return len(traceback.extract_tb(caught.value.__traceback__))


def test_traceback_filtering_hides_the_frames_of_tensorflow():
    assert tfkit.config.is_traceback_filtering_enabled()
    filtered = depth_of_a_failing_op()
    tfkit.config.disable_traceback_filtering()
    try:
        assert not tfkit.config.is_traceback_filtering_enabled()
        assert depth_of_a_failing_op() > filtered
    finally:
        tfkit.config.enable_traceback_filtering()
    assert depth_of_a_failing_op() == filtered


def test_further_names_are_the_same_objects():
    assert tfkit.mixed_precision.Policy is tfkit.DTypePolicy is tfkit.FloatDTypePolicy
    assert tfkit.mixed_precision.set_global_policy is tfkit.config.set_dtype_policy
    assert tfkit.mixed_precision.LossScaleOptimizer is tfkit.optimizers.LossScaleOptimizer
    assert tfkit.backend.set_floatx is tfkit.config.set_floatx


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "bfloat16",
        "int32",
        "uint8",
        "bool",
        "string",
        "complex64",
        float,
        int,
        "int",
        bool,
        str,
        None,
    ],
)
def test_kinds_of_dtypes_are_those_of_keras(dtype):
    assert tfkit.backend.is_float_dtype(dtype) == keras.backend.is_float_dtype(dtype)
    assert tfkit.backend.is_int_dtype(dtype) == keras.backend.is_int_dtype(dtype)
    assert tfkit.backend.standardize_dtype(dtype) == keras.backend.standardize_dtype(dtype)


def test_a_dtype_of_tensorflow_is_itself_under_another_float_type():
    keras.config.set_floatx("float64")
    tfkit.config.set_floatx("float64")
    try:
        for dtype in (tf.float32, tf.float64, tf.int64, None):
            expected = keras.backend.standardize_dtype(dtype)
            assert tfkit.backend.standardize_dtype(dtype) == expected
    finally:
        keras.config.set_floatx("float32")
        tfkit.config.set_floatx("float32")


def test_get_uid_counts_as_keras_counts():
    for library in (tfkit, keras):
        library.backend.clear_session()
        assert [library.backend.get_uid("dense") for _ in range(2)] == [1, 2]
        assert library.layers.Dense(1).name == "dense_2"
        assert library.backend.get_uid() == 1


def test_custom_object_scope_is_a_class_name_in_old_programs():
    with tfkit.saving.CustomObjectScope({"double": lambda x: 2 * x}):
        assert tfkit.activations.get("double")(2) == 4
