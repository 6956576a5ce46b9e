"""Sparse operands against Keras: the same numbers, and sparse where Keras's results are."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import ops
from tfkit.src.ops.sparse import is_sparse
from tfkit.src.symbolic.tensors import KerasTensor

RNG = np.random.default_rng(3)
DENSE = tf.constant(RNG.uniform(0.2, 0.9, size=(2, 3)), "float32")
SPARSE = tf.SparseTensor([[0, 0], [1, 2]], [0.5, -0.25], (2, 3))
OTHER = tf.SparseTensor([[0, 0], [1, 1]], [4.0, 5.0], (2, 3))
SLICES = tf.IndexedSlices(tf.constant([[0.5, -0.25, 0.1]]), tf.constant([1]), tf.constant([2, 3]))
# The shape may be a tuple.
OTHER_SLICES = tf.IndexedSlices(DENSE, tf.constant([0, 1]), (2, 3))


def numpy_of(x):
    return keras.ops.convert_to_numpy(x)


def agree(mine, theirs):
    np.testing.assert_allclose(ops.convert_to_numpy(mine), numpy_of(theirs), rtol=1e-5, atol=1e-6)
    assert is_sparse(mine) == is_sparse(theirs)


STAY_SPARSE = """abs arcsin arcsinh arctan arctanh ceil conj copy erf expm1 floor log1p negative real relu
    round sign silu sin sinh sqrt square tan tanh""".split()  # noqa: SIM905
BECOME_DENSE = ["cos", "exp", "isfinite", "reciprocal", "sigmoid", "softplus"]


@pytest.mark.parametrize("x", [SPARSE, SLICES], ids=["tensor", "slices"])
@pytest.mark.parametrize("name", STAY_SPARSE + BECOME_DENSE)
def test_one_operand(name, x):
    result = getattr(ops, name)(x)
    assert is_sparse(result) == (name in STAY_SPARSE)
    dense = getattr(keras.ops, name)(tf.constant(numpy_of(x)))
    np.testing.assert_allclose(ops.convert_to_numpy(result), dense, rtol=1e-5, atol=1e-6)


BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "divide"]
PAIRS = {
    "both": (SPARSE, OTHER),
    "sparse-dense": (SPARSE, DENSE),
    "dense-sparse": (DENSE, SPARSE),
    "slices": (SLICES, OTHER_SLICES),
    "slices-dense": (SLICES, DENSE),
    "dense-slices": (DENSE, SLICES),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, pair):
    agree(getattr(ops, name)(*PAIRS[pair]), getattr(keras.ops, name)(*PAIRS[pair]))


def test_division_by_zero_is_written_out():
    divisor = tf.constant([[0.0, np.nan, 3.0], [0.0, 1.0, 0.0]])
    for x in (SPARSE, SLICES):
        agree(ops.divide(x, divisor), keras.ops.divide(x, divisor))


def test_rows_that_slices_name_twice_count_as_their_sum():
    twice = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 0]), tf.constant([2, 1]))
    np.testing.assert_allclose(ops.convert_to_numpy(ops.square(twice)), [[9.0], [0.0]])
    np.testing.assert_allclose(ops.convert_to_numpy(ops.maximum(twice, twice)), [[3.0], [0.0]])


OTHERS = [
    ("sum", {}),
    ("sum", {"axis": 0}),
    ("sum", {"axis": (0, 2), "keepdims": True}),
    ("mean", {"axis": ()}),
    ("mean", {"axis": 1}),
    ("mean", {"axis": (1, 2), "keepdims": True}),
    ("reshape", {"newshape": (3, -1)}),
    ("expand_dims", {"axis": -2}),
    ("squeeze", {}),
    ("squeeze", {"axis": 1}),
    ("transpose", {}),
    ("transpose", {"axes": (2, 0, 1)}),
    ("digitize", {"bins": [0.1, 0.6]}),
]


@pytest.mark.parametrize(("name", "options"), OTHERS)
def test_shapes_and_sums(name, options):
    x = tf.sparse.expand_dims(SPARSE, 1)
    result = getattr(ops, name)(x, **options)
    assert isinstance(result, tf.SparseTensor)
    dense = getattr(keras.ops, name)(tf.sparse.to_dense(x), **options)
    np.testing.assert_allclose(ops.convert_to_numpy(result), dense, rtol=1e-6)
    symbolic = getattr(ops, name)(KerasTensor((2, 1, 3), sparse=True), **options)
    assert symbolic.sparse
    assert symbolic.shape == tuple(dense.shape)


@pytest.mark.parametrize("name", ["sin", "add", "multiply", "divide", "sum"])
def test_symbolic_tensors_stay_sparse_and_know_their_shape(name):
    operands = [KerasTensor((None, 3), sparse=True)]
    if name in ("add", "multiply", "divide"):
        operands.append(KerasTensor((2, None), sparse=name == "add"))
    result = getattr(ops, name)(*operands, **({"axis": 0} if name == "sum" else {}))
    assert result.sparse
    assert result.shape == {"sin": (None, 3), "sum": (3,)}.get(name, (2, 3))


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_matmul(rank, dtype):
    shapes = [(2, 2)[: rank - 2] + (3, 4), (2, 2)[: rank - 2] + (4, 5)]
    x1, x2 = (
        ((RNG.uniform(size=s) < 0.4) * RNG.integers(1, 9, size=s)).astype(dtype) for s in shapes
    )
    expected = np.matmul(x1, x2)
    sparse1, sparse2 = tf.sparse.from_dense(x1), tf.sparse.from_dense(x2)
    for a, b in ((sparse1, x2), (x1, sparse2), (sparse1, sparse2)):
        result = ops.matmul(a, b)
        assert is_sparse(result) == (is_sparse(a) and is_sparse(b))
        np.testing.assert_allclose(ops.convert_to_numpy(result), expected, rtol=1e-5)


def test_products_of_sparse_tensors_are_sparse_whatever_is_known_of_the_batch():
    for k in (tfkit, keras):
        x = k.KerasTensor((None, 3, 3), sparse=True)
        assert k.ops.matmul(x, x).sparse
        assert k.ops.matmul(x, x).shape == (None, 3, 3)
    x = tf.sparse.from_dense(np.float32(np.eye(3) * [[[2.0]], [[3.0]]]))
    square = tf.function(ops.matmul, input_signature=[tf.SparseTensorSpec([None, 3, 3])] * 2)
    squares = tf.sparse.to_dense(square(x, x))
    np.testing.assert_array_equal(squares, np.eye(3)[None] * [[[4.0]], [[9.0]]])


def test_products_and_dense_results_know_their_shape():
    x1, x2 = KerasTensor((2, None), sparse=True), KerasTensor((None, 2))
    assert ops.matmul(x1, x2).shape == (2, 2)
    assert ops.matmul(x2, x1).shape == (None, None)
    assert ops.divide(x2, KerasTensor((3, 2), sparse=True)).shape == (3, 2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate(axis):
    for xs in ([SPARSE, OTHER], [SPARSE, DENSE], [DENSE, SPARSE]):
        agree(ops.concatenate(xs, axis), keras.ops.concatenate(xs, axis))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take_at_sparse_indices(axis):
    indices = tf.SparseTensor([[0, 0], [1, 1]], [-1, 1], (2, 2))
    expected = np.take(DENSE, numpy_of(indices), axis=axis)
    np.testing.assert_allclose(ops.take(DENSE, indices, axis), expected)


@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_gradients(name):
    values = tf.Variable([0.5, -0.25])
    with tf.GradientTape() as tape:
        result = getattr(ops, name)(SPARSE.with_values(values), DENSE)
        total = tf.reduce_sum(
            tf.square(tf.sparse.to_dense(result) if is_sparse(result) else result)
        )
    at = tf.gather_nd(DENSE, SPARSE.indices)
    slope = {"add": 2 * (values + at), "multiply": 2 * values * at**2, "divide": 2 * values / at**2}
    np.testing.assert_allclose(tape.gradient(total, values), slope[name], rtol=1e-5)
