"""Dtypes of results against Keras's, for every pair of dtypes."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import config, ops
from tfkit.src.ops.promotion import result_type
from tfkit.src.symbolic.tensors import KerasTensor

DTYPES = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "int8",
    "int16",
    "int32",
    "int64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "complex64",
]


# Keras gives complex64, whose parts hold half of the digits.
WIDE = dict.fromkeys([("float64", "complex64"), ("complex64", "float64")], "complex128")


@pytest.mark.parametrize("left", DTYPES)
def test_result_type(left):
    for right in [*DTYPES, int, float]:
        expected = keras.backend.result_type(left, right)
        assert result_type(left, right) == WIDE.get((left, right), expected), right
    assert result_type(left) == keras.backend.result_type(left)


def test_result_type_of_python_numbers():
    assert result_type() == "float32"
    assert result_type(int) == "int32"
    assert result_type(int, float) == "float32"


def test_64_bit_types_are_not_narrowed():
    # Keras gives uint32 and complex64: values would be lost without a word.
    assert result_type("uint64", "uint8") == "uint64"
    assert result_type("complex128", "float32") == "complex128"


def test_types_without_a_common_type():
    with pytest.raises(ValueError, match="no common dtype"):
        result_type("string", "int32")


@pytest.mark.parametrize(
    "name", ["add", "multiply", "divide", "maximum", "equal", "where", "matmul"]
)
def test_operands_of_two_dtypes(name):
    for left, right in itertools.combinations(DTYPES, 2):
        if "complex64" in (left, right) and name in ("maximum", "matmul"):
            continue
        a, b = tf.cast([[1, 1]], left), tf.cast([[1], [1]], right)
        args = (a, b) if name != "where" else ([[True, False]], a, b)
        theirs = getattr(keras.ops, name)(*args)
        expected = theirs.dtype.name
        if expected == "complex64":
            expected = WIDE.get((left, right), expected)
        assert getattr(ops, name)(*args).dtype == expected, (left, right)


WITH_NUMBERS = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "mod",
    "maximum",
    "minimum",
]
WITH_NUMBERS += ["power", "arctan2", "logaddexp", "hypot", "heaviside", "divide_no_nan", "greater"]


@pytest.mark.parametrize("number", [2, 2.5])
def test_python_numbers_are_weak(number):
    for dtype in DTYPES[1:-1]:
        x = tf.cast([1, 3], dtype)
        for name in WITH_NUMBERS:
            theirs = getattr(keras.ops, name)(x, number)
            assert getattr(ops, name)(x, number).dtype == theirs.dtype, (name, dtype)
            assert getattr(ops, name)(number, x).dtype == theirs.dtype, (name, dtype)


REDUCTIONS = [
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "max",
    "min",
    "cumsum",
    "argmax",
    "median",
    "any",
    "count_nonzero",
]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_every_dtype(name):
    for dtype in DTYPES[:-1]:
        x = tf.cast([1, 0, 1], dtype)
        if name == "cumsum" and dtype == "bool":
            continue
        try:
            theirs = getattr(keras.ops, name)(x)
        except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
            continue
        assert getattr(ops, name)(x).dtype == theirs.dtype, dtype


@pytest.mark.parametrize(
    "name", ["exp", "sqrt", "sin", "log", "floor", "tanh", "square", "abs", "sign"]
)
def test_unary_of_every_dtype(name):
    for dtype in DTYPES[:-1]:
        if dtype == "bool" and name == "sign":
            continue
        x = tf.cast([1, 1], dtype)
        assert getattr(ops, name)(x).dtype == getattr(keras.ops, name)(x).dtype, dtype


@pytest.mark.parametrize(
    "args", [(3,), (3.0,), (0, 3), (0, 3.0), (np.int64(3),), (np.float32(3),), (0, 6, 2)]
)
def test_arange(args):
    mine, theirs = ops.arange(*args), keras.ops.arange(*args)
    assert mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("floatx", ["float16", "float64"])
def test_default_float_type(floatx):
    before = config.floatx(), keras.config.floatx()
    try:
        config.set_floatx(floatx)
        keras.config.set_floatx(floatx)
        for call in (
            lambda o: o.ones((2,)),
            lambda o: o.arange(3),
            lambda o: o.exp([1, 2]),
            lambda o: o.divide(tf.constant([1]), 2),
            lambda o: o.add(tf.constant([1]), 2.0),
        ):
            assert call(ops).dtype == call(keras.ops).dtype
    finally:
        config.set_floatx(before[0])
        keras.config.set_floatx(before[1])


@pytest.mark.parametrize(
    "x",
    [
        [[1.0, 2.0]],
        ((1.0, 2.0),),
        np.array([[1.0, 2.0]], "float32"),
        tf.constant([[1.0, 2.0]]),
        tf.Variable([[1.0, 2.0]]),
    ],
    ids=["list", "tuple", "array", "tensor", "variable"],
)
def test_what_ops_accept(x):
    for name, args in (
        ("add", (1,)), ("sum", ()), ("matmul", ([[1.0], [2.0]],)), ("relu", ()), ("softmax", ()),
        ("reshape", ((2,),)), ("transpose", ()), ("take", ([1], 1)), ("concatenate_", ()),
        ("split", (2, 1)), ("round", ()), ("clip", (0, 1)), ("erf", ()), ("one_hot", (3,)),
        ("shape", ()), ("cast", ("int32",)), ("tile", (2,)), ("squeeze", (0,)), ("norm", ()),
    ):  # fmt: skip
        if name != "concatenate_":
            result = getattr(ops, name)(x, *args)
            expected = getattr(ops, name)(tf.constant([[1.0, 2.0]]), *args)
            for a, b in zip(tf.nest.flatten(result), tf.nest.flatten(expected), strict=True):
                np.testing.assert_array_equal(a, b)


def test_python_floats_keep_their_digits_in_float64():
    x = tf.constant([1.0], "float64")
    assert ops.add(x, 0.1).numpy()[0] == 1.0 + 0.1
    assert ops.full((1,), 0.1, "float64").numpy()[0] == 0.1
    assert ops.full_like(x, 0.1).numpy()[0] == 0.1
    assert ops.convert_to_tensor(0.1, "float64").numpy() == 0.1
    assert ops.linspace(0.1, 1.0, 2, dtype="float64").numpy()[0] == 0.1
    assert ops.maximum(0.1, x - 1).numpy()[0] == 0.1


def test_fast_path_adds_no_operation():
    @tf.function
    def add(a, b):
        return ops.add(a, b)

    graph = add.get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([2])).graph
    assert [op.type for op in graph.get_operations()] == ["Placeholder"] * 2 + ["AddV2", "Identity"]


def test_shape_is_numbers_where_known():
    assert ops.shape(np.zeros((2, 3))) == (2, 3)
    assert ops.shape(KerasTensor((None, 3))) == (None, 3)

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def rows(x):
        batch, features = ops.shape(x)
        assert tf.is_tensor(batch)
        assert features == 3
        return ops.reshape(x, (batch * features,))

    assert rows(tf.zeros([2, 3])).shape == (6,)
