"""Operators and plain TensorFlow functions on symbolic tensors."""

import operator

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import ops
from tfkit.src.symbolic.tensors import KerasTensor

BINARY = {
    operator.add: ops.add,
    operator.sub: ops.subtract,
    operator.mul: ops.multiply,
    operator.truediv: ops.true_divide,
    operator.floordiv: ops.floor_divide,
    operator.mod: ops.mod,
    operator.pow: ops.power,
    operator.ne: ops.not_equal,
    operator.lt: ops.less,
    operator.le: ops.less_equal,
    operator.gt: ops.greater,
    operator.ge: ops.greater_equal,
    operator.and_: ops.logical_and,
    operator.or_: ops.logical_or,
    operator.xor: ops.logical_xor,
}
MIRRORED = {operator.lt: ops.greater, operator.gt: ops.less,
            operator.le: ops.greater_equal, operator.ge: ops.less_equal}  # fmt: skip


@pytest.mark.parametrize("python_operator", BINARY, ids=lambda f: f.__name__)
def test_binary_operator(python_operator):
    op = BINARY[python_operator]
    x, y = KerasTensor((None, 3)), KerasTensor((None, 3))
    theirs = python_operator(keras.KerasTensor((None, 3)), keras.KerasTensor((None, 3)))
    result = python_operator(x, y)
    assert (result.shape, result.dtype) == (theirs.shape, theirs.dtype)
    assert result.node.operation is op
    assert result.node.input_tensors == [x, y]
    for left, right in ((x, 2.0), (2.0, x)):
        result = python_operator(left, right)
        assert result.shape == (None, 3)
        expected = MIRRORED.get(python_operator, op) if left == 2.0 else op
        assert result.node.operation is expected


def test_reflected_operands_keep_their_order():
    x = KerasTensor((2,))
    assert (1.0 - x).node.args[0] == 1.0
    assert (2.0**x).node.args[0] == 2.0


def test_matmul_unary_and_round():
    x = KerasTensor((None, 3))
    assert (x @ np.ones((3, 2), "float32")).shape == (None, 2)
    for result, op in ((-x, ops.negative), (abs(x), ops.abs), (~(x > 0), ops.logical_not)):
        assert result.shape == (None, 3)
        assert result.node.operation is op
    assert round(x, 1).node.args[1] == 1


def test_equality_is_identity_as_in_keras():
    x, y = KerasTensor((2,)), KerasTensor((2,))
    assert (x == y) is (keras.KerasTensor((2,)) == keras.KerasTensor((2,))) is False
    assert x == x
    assert {x: 1}[x] == 1
    assert [y, x].index(x) == 1


@pytest.mark.parametrize(
    "key",
    [0, -1, slice(1, 3), (slice(None), 1), (slice(None), None), (..., 0), (..., None, slice(0, 2)),
     (slice(None), slice(None, None, 2), slice(-1, None))],
    ids=str,
)  # fmt: skip
def test_get_item(key):
    x = KerasTensor((4, 5, 3))
    assert x[key].shape == np.zeros((4, 5, 3))[key].shape
    assert x[key].node.operation is ops.get_item


def test_unknown_batch_stays_unknown():
    x = KerasTensor((None, 5, 3))
    assert x[:, 0].shape == (None, 3)
    assert x[:, None].shape == (None, 1, 5, 3)
    assert x[..., -1].shape == (None, 5)
    assert ops.reshape(x, (ops.shape(x)[0], 15)).shape == (None, 15)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: tf.reduce_sum(x, axis=1), (None,)),
        (lambda x: tf.nn.relu(x), (None, 3)),
        (lambda x: tf.concat([x, x], axis=-1), (None, 6)),
        (lambda x: tf.matmul(x, tf.ones([3, 2])), (None, 2)),
        (lambda x: tf.transpose(x), (3, None)),
        (lambda x: tf.where(x > 0, x, 0.0), (None, 3)),
    ],
)
def test_plain_tensorflow_functions(function, shape):
    result = function(KerasTensor((None, 3)))
    assert isinstance(result, KerasTensor)
    assert result.shape == shape


def test_nests_and_several_outputs():
    x = KerasTensor((None, 4))
    parts = ops.split(x, 2, axis=1)
    assert [part.shape for part in parts] == [(None, 2)] * 2
    assert parts[0].node is parts[1].node
    assert ops.concatenate(parts, axis=1).node.input_tensors == parts
    values, indices = ops.top_k(x, 2)
    assert (values.shape, indices.dtype) == ((None, 2), "int32")


def test_symbolic_tensors_are_no_numbers():
    x = KerasTensor((None, 3))
    for use, error in ((list, NotImplementedError), (float, ValueError), (int, ValueError)):
        for tensor in (x, keras.KerasTensor((None, 3))):
            with pytest.raises(error):
                use(tensor)


def test_methods_are_those_of_keras():
    assert KerasTensor((1, 2, 3)).reshape((3, 2)).shape == (3, 2)
    assert KerasTensor((1, 2, 3)).squeeze(0).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "value"), [("shape", (2,)), ("dtype", "int32"), ("sparse", True), ("ragged", True)]
)
def test_what_a_symbolic_tensor_stands_for_is_not_changed(name, value):
    x = KerasTensor((None, 3))
    before = getattr(x, name)
    with pytest.raises(AttributeError, match=f"`{name}` attribute of KerasTensor is immutable"):
        setattr(x, name, value)
    assert getattr(x, name) == before


def test_what_is_no_value_says_so():
    x = KerasTensor((None, 3))
    with pytest.raises(TypeError, match="cannot be used as a boolean, as in an `if`"):
        bool(x)
    with pytest.raises(ValueError, match="doesn't have any actual numerical value yet"):
        np.array(x)


def test_the_origin_of_a_tensor_has_the_attributes_of_keras():
    for library in (keras, tfkit):
        inputs = library.Input((4,))
        dense = library.layers.Dense(4)
        first, second = dense(inputs), dense(2 * inputs)
        parts = library.ops.split(second, 2, axis=1)
        assert (first._keras_history.operation, *first._keras_history[1:]) == (dense, 0, 0)
        assert (second._keras_history[0], *second._keras_history[1:]) == (dense, 1, 0)
        assert (parts[1]._keras_history.node_index, parts[1]._keras_history.tensor_index) == (0, 1)
        assert dense._inbound_nodes[1].outputs is not None
        assert not hasattr(library.KerasTensor((2,)), "_keras_history")


@pytest.mark.parametrize(
    "name",
    [
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
        *("left_shift", "right_shift", "gcd", "lcm", "ldexp"),
    ],
)
def test_functions_of_integers_describe_floats_as_keras_and_refuse_to_compute_them(name):
    """A symbolic tensor is of floats where nobody has given a dtype."""
    shapes = [(None, 3)] if name == "bitwise_not" else [(None, 3), (3,)]
    found = getattr(ops, name)(*map(tfkit.KerasTensor, shapes))
    wanted = getattr(keras.ops, name)(*map(keras.KerasTensor, shapes))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    values = [np.ones((2, 3), "float32")] * len(shapes)
    inputs = [tfkit.Input((3,)) for _ in shapes]
    model = tfkit.Model(inputs, getattr(ops, name)(*inputs))
    for call in (getattr(ops, name), lambda *values: model(list(values))):
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
            call(*values)
