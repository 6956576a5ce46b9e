"""`Lambda`: a function as a layer, named in files and never stored in them."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfkit import layers
from tfkit.src.base.registry import tables as registry
from tfkit.src.symbolic.tensors import KerasTensor


@registry.register_keras_serializable("lambda_tests")
def scaled(x, factor, mask=None, training=False):
    x = x if mask is None else tf.where(mask[..., tf.newaxis], x, 0.0)
    return -factor * x if training else factor * x


def unregistered(x):
    return x + 1.0


def test_the_function_gets_arguments_training_and_mask():
    layer = layers.Lambda(scaled, arguments={"factor": 2.0})
    inputs = tf.ones((1, 2, 1))
    np.testing.assert_array_equal(layer(inputs), 2 * inputs)
    np.testing.assert_array_equal(layer(inputs, training=True), -2 * inputs)
    np.testing.assert_array_equal(
        layer(inputs, mask=tf.constant([[True, False]])), [[[2.0], [0.0]]]
    )


def test_a_registered_function_is_saved_by_name():
    layer = layers.Lambda(scaled, arguments={"factor": 2.0}, output_shape=(2, 1))
    config = json.loads(json.dumps(layers.serialize(layer)))
    assert config["config"]["function"]["config"] == "lambda_tests>scaled"
    copy = layers.deserialize(config)
    np.testing.assert_array_equal(copy(tf.ones((1, 2, 1))), 2 * np.ones((1, 2, 1)))


def test_a_custom_object_may_stand_for_the_name():
    config = layers.serialize(layers.Lambda(unregistered))
    copy = layers.deserialize(config, custom_objects={"unregistered": unregistered})
    np.testing.assert_array_equal(copy(tf.zeros((1, 1))), [[1.0]])
    with pytest.raises(ValueError, match=r"'unregistered'.*not registered"):
        layers.deserialize(config)


def test_a_lambda_computes_and_says_why_it_cannot_be_saved():
    layer = layers.Lambda(lambda x: x**2, name="square")
    np.testing.assert_array_equal(layer(tf.constant([3.0])), [9.0])
    with pytest.raises(TypeError, match=r"Lambda 'square'.*lambda.*register_keras_serializable"):
        layer.get_config()


def test_code_in_a_file_of_keras_is_refused():
    config = {"function": {"class_name": "__lambda__", "config": {"code": "4wA="}}}
    with pytest.raises(ValueError, match=r"bytecode.*register_keras_serializable"):
        layers.Lambda.from_config(config)


@pytest.mark.parametrize("shape", [(5,), lambda shape: (shape[0], 5)])
def test_output_shape_is_known_to_symbolic_tensors_and_held_to(shape):
    def opaque(x):
        return tf.py_function(lambda v: tf.tile(v, [1, 5]), [x], tf.float32)

    layer = layers.Lambda(opaque, output_shape=shape)
    assert layer(KerasTensor((None, 1))).shape == (None, 5)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="10"):
        tf.function(layer)(tf.ones((1, 2)))


@pytest.mark.parametrize("shape", [[(5,), ()], lambda shape: [(shape[0], 5), shape[:1]]])
def test_several_outputs_have_several_shapes(shape):
    def opaque(x):
        return tf.py_function(lambda v: (tf.tile(v, [1, 5]), v[:, 0]), [x], ["float32", "float32"])

    layer = layers.Lambda(opaque, output_shape=shape)
    assert [tuple(it.shape) for it in layer(KerasTensor((None, 1)))] == [(None, 5), (None,)]


def test_the_shapes_of_a_dict_of_outputs():
    layer = layers.Lambda(
        lambda x: {"a": x, "b": x[:, 0]}, output_shape=lambda it: {"b": it[:1], "a": it}
    )
    outputs = layer(KerasTensor((None, 3)))
    assert (outputs["a"].shape, outputs["b"].shape) == ((None, 3), (None,))


def test_an_output_shape_that_is_known_to_be_wrong_is_passed_over_as_in_keras():
    layer = layers.Lambda(lambda x: tf.ones(tf.shape(x)[1:2]), output_shape=(None, 3), name="ones")
    with pytest.warns(UserWarning, match=r"'ones'.*shape \(2,\), and not of \(None, None, 3\)"):
        np.testing.assert_array_equal(layer(tf.zeros((1, 2, 3))), [1.0, 1.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_unknown_sizes_of_an_output_shape_may_be_minus_one_or_a_tensor(compiled):
    """ncps cuts the state of a cell so; its `output_shape` is wrong, and has such sizes."""

    def cut(x, *shape):
        return layers.Lambda(lambda x: x[:, 1:3], output_shape=shape, name="cut")(x)

    def call(x):
        y = cut(x, 2), cut(x, -1), cut(x, tf.shape(x)[1])
        with pytest.warns(UserWarning, match=r"'cut'.*and not of \(None, None, None, 4\)"):
            return *y, cut(x, tf.shape(x)[0], -1, 4)

    x = np.arange(8.0, dtype="float32").reshape(2, 4)
    program = tf.function(call, input_signature=[tf.TensorSpec([None, 4])]) if compiled else call
    for y in program(tf.constant(x)):
        np.testing.assert_array_equal(y, x[:, 1:3])


def test_if_on_a_tensor_works_in_a_traced_function():
    def positive(x):
        if tf.reduce_sum(x) > 0:
            return x
        return -x

    layer = layers.Lambda(positive)
    traced = tf.function(lambda x: layer(x), autograph=False)
    np.testing.assert_array_equal(traced(tf.constant([-3.0])), [3.0])


def test_the_mask_is_computed_by_the_mask_function():
    layer = layers.Lambda(lambda x: 2 * x, mask=lambda inputs, mask: tf.logical_not(mask))
    inputs = tf.ones((1, 2))
    inputs._keras_mask = tf.constant([[True, False]])
    np.testing.assert_array_equal(layer(inputs)._keras_mask, [[False, True]])
