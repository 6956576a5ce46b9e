"""Merging, reshaping and resizing: masks, unknown sizes, and what they refuse."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.symbolic.tensors import KerasTensor

MERGES = ["Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract"]


def masked(value, mask):
    tensor = tf.constant(value, "float32")
    tensor._keras_mask = tf.constant(mask)
    return tensor


@pytest.mark.parametrize("name", MERGES)
@pytest.mark.parametrize("second_has_mask", [True, False])
def test_masks_of_merged_inputs_are_those_of_keras(name, second_has_mask):
    first = masked([[[1.0], [-2.0], [3.0], [4.0]]], [[True, False, True, False]])
    second = masked([[[5.0], [6.0], [-7.0], [-8.0]]], [[True, True, False, False]])
    if not second_has_mask:
        second = tf.identity(second)
    ours = getattr(layers, name)()([first, second])
    theirs = getattr(keras.layers, name)()([first, second])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    expected = getattr(theirs, "_keras_mask", None)
    if expected is None:
        assert getattr(ours, "_keras_mask", None) is None
    else:
        np.testing.assert_array_equal(ours._keras_mask, expected)


@pytest.mark.parametrize("name", MERGES)
def test_masks_may_be_floats_and_arrays_and_come_with_symbolic_inputs(name):
    masks = [np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 1.0]])]
    inputs = [KerasTensor((1, 3, 2)), KerasTensor((1, 3, 2))]
    mask = getattr(layers, name)().compute_mask(inputs, mask=masks)
    np.testing.assert_array_equal(mask, [[True, False, True]])
    assert getattr(layers, name)().compute_mask(inputs, mask=[None, None]) is None


@pytest.mark.parametrize(
    ("inputs", "mask", "message"),
    [
        ([KerasTensor((1, 2))] * 2, np.ones((1,)), "`mask` should be a list"),
        (KerasTensor((1, 2)), [None, None], "`inputs` should be a list"),
        ([KerasTensor((1, 2))] * 2, [None], "same length.*2 inputs, 1 masks"),
    ],
)
@pytest.mark.parametrize("name", ["Add", "Concatenate"])
def test_masks_of_another_form_are_refused(name, inputs, mask, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)().compute_mask(inputs, mask)


SPARSE = [
    tf.SparseTensor([[0, 1], [1, 2]], [1.0, -2.0], (2, 3)),
    tf.SparseTensor([[0, 0], [0, 1], [1, 1]], [3.0, -4.0, 5.0], (2, 3)),
]


@pytest.mark.parametrize("name", MERGES)
def test_sparse_inputs_are_merged_as_in_keras(name):
    layer, oracle = getattr(layers, name)(), getattr(keras.layers, name)()
    ours, theirs = layer(SPARSE), oracle(SPARSE)
    assert isinstance(ours, tf.SparseTensor)
    np.testing.assert_allclose(tf.sparse.to_dense(ours), tf.sparse.to_dense(theirs))
    dense = tf.reshape(tf.range(6.0), (2, 3))
    np.testing.assert_allclose(
        layer([SPARSE[0], dense]), oracle([tf.sparse.to_dense(SPARSE[0]), dense])
    )
    entries = [tfkit.Input((3,), sparse=True) for _ in SPARSE]
    model = tfkit.Model(entries, layer(entries))
    assert model.output.sparse
    assert model.output.shape == (None, ours.shape[1])
    np.testing.assert_allclose(tf.sparse.to_dense(model(SPARSE)), tf.sparse.to_dense(theirs))


@pytest.mark.parametrize(
    "make",
    [
        lambda where: where.Flatten(),
        lambda where: where.Flatten(data_format="channels_first"),
        lambda where: where.Permute((2, 1)),
        lambda where: where.Reshape((-1, 2)),
    ],
)
def test_entries_of_sparse_inputs_are_moved(make):
    dense = np.zeros((2, 3, 4), "float32")
    dense[0, 1, 2], dense[1, 2, 3] = 5, 6
    outputs = make(layers)(tf.sparse.from_dense(dense))
    assert isinstance(outputs, tf.SparseTensor)
    np.testing.assert_array_equal(tf.sparse.to_dense(outputs), make(keras.layers)(dense))
    symbolic = make(layers)(KerasTensor((None, 3, 4), sparse=True))
    assert symbolic.sparse
    assert symbolic.shape == (None, *outputs.shape[1:])


def test_sparse_ids_of_an_embedding_are_zero_where_there_is_none():
    ids = tf.SparseTensor([[0, 1], [1, 2]], [1, 2], (2, 3))
    layer = layers.Embedding(3, 4, mask_zero=True)
    np.testing.assert_array_equal(layer(ids), layer(tf.sparse.to_dense(ids)))
    assert layer(ids)._keras_mask.numpy().tolist() == [[False, True, False], [False, False, True]]


@pytest.mark.parametrize("name", ["MaxPooling2D", "AveragePooling2D"])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_strides_may_be_larger_than_the_window(name, padding):
    images = np.random.default_rng(0).normal(size=(1, 7, 8, 2)).astype("float32")
    ours, theirs = (
        getattr(where, name)((2, 1), (3, 4), padding)(images) for where in (layers, keras.layers)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_functional_forms():
    a, b = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 5.0]])
    for name in ["add", "average", "maximum", "minimum", "multiply", "subtract", "concatenate"]:
        ours, theirs = getattr(layers, name)([a, b]), getattr(keras.layers, name)([a, b])
        np.testing.assert_allclose(ours, theirs)
    np.testing.assert_allclose(layers.dot([a, b], axes=1), [[13.0]])


@pytest.mark.parametrize(
    ("layer", "inputs", "message"),
    [
        (layers.Add(), tf.ones((2, 3)), "'add.*list of at least 1 input"),
        (layers.Add(), [tf.ones((2, 3)), tf.ones((3, 3))], r"same batch size.*\(2, 3\).*\(3, 3\)"),
        (layers.Add(), [tf.ones((2, 3)), tf.ones((2, 4))], "broadcast to one shape"),
        (layers.Subtract(), [tf.ones((2, 3))] * 3, "exactly 2 inputs"),
        (
            layers.Concatenate(1),
            [tf.ones((2, 3, 4)), tf.ones((2, 3, 5))],
            "except for the concatenation axis, 1",
        ),
        (layers.Dot(1), [tf.ones((2, 3)), tf.ones((2, 4))], "equal sizes along the axes 1"),
        (layers.Dot(0), [tf.ones((2, 3)), tf.ones((2, 3))], "axes other than the batch"),
        (layers.Reshape((4,)), tf.ones((2, 3)), r"\(3,\), 3 entries.*target_shape=\(4,\)"),
        (
            layers.Cropping1D(2),
            tf.ones((2, 4, 1)),
            r"crop everything: cropping=\(2, 2\) along axis 1",
        ),
        (layers.Permute((2, 1)), tf.ones((2, 3)), "expected ndim=3, found ndim=2"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(layer, inputs, message):
    with pytest.raises(ValueError, match=message):
        layer(inputs)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: layers.Dot("last"), TypeError, "`axes` of layer Dot.*'last'"),
        (lambda: layers.Dot((1, 2, 3)), ValueError, "`axes` of layer Dot"),
        (lambda: layers.Permute((0, 1)), ValueError, r"`dims` of layer Permute.*\(0, 1\)"),
        (lambda: layers.RepeatVector(1.5), TypeError, "`n` of layer RepeatVector.*1.5"),
        (lambda: layers.RepeatVector(0), ValueError, "n=0"),
        (lambda: layers.Reshape((-1, -1)), ValueError, "`target_shape` of layer Reshape"),
        (lambda: layers.Reshape(4), ValueError, "`target_shape`.*target_shape=4"),
        (lambda: layers.Cropping2D((1, 2, 3)), ValueError, "`cropping` of layer Cropping2D"),
        (lambda: layers.ZeroPadding1D(-1), ValueError, "`padding`.*padding=-1"),
        (lambda: layers.UpSampling1D(2.0), TypeError, "`size` of layer UpSampling1D"),
        (
            lambda: layers.UpSampling2D(interpolation="cubic"),
            ValueError,
            "`interpolation`.*'cubic'",
        ),
        (lambda: layers.Flatten("channels"), ValueError, "'channels'"),
    ],
)
def test_bad_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (layers.Flatten(), (None, 3, 4), (None, 12)),
        (layers.Flatten(), (None, None, 4), (None, None)),
        (layers.Flatten(), (None,), (None, 1)),
        (layers.Reshape((-1, 2)), (None, 3, 4), (None, 6, 2)),
        (layers.Reshape((-1, 2)), (None, None, 4), (None, None, 2)),
        (layers.Cropping1D(), (None, None, 4), (None, None, 4)),
        (layers.UpSampling2D(2, interpolation="bilinear"), (None, None, 4, 3), (None, None, 8, 3)),
        (layers.Concatenate(), [(None, None, 2), (None, None, 3)], (None, None, 5)),
    ],
)
def test_what_is_known_of_a_shape_stays_known(layer, shape, expected):
    inputs = [KerasTensor(s) for s in shape] if isinstance(shape, list) else KerasTensor(shape)
    assert layer(inputs).shape == expected


def test_reshape_of_unknown_sizes_computes():
    layer = layers.Reshape((-1, 2))
    traced = tf.function(lambda x: layer(x), input_signature=[tf.TensorSpec([None, None, 4])])
    assert traced(tf.ones((3, 5, 4))).shape == (3, 10, 2)
    assert traced(tf.ones((0, 5, 4))).shape == (0, 10, 2)


def test_the_product_of_two_sparse_inputs_is_sparse():
    dense = [tf.sparse.to_dense(each) for each in SPARSE]
    layer = layers.Dot(1)
    outputs = layer(SPARSE)
    np.testing.assert_allclose(tf.sparse.to_dense(outputs), keras.layers.Dot(1)(dense))
    entries = [tfkit.Input((3,), sparse=True) for _ in SPARSE]
    symbolic = layer(entries)
    assert (symbolic.sparse, symbolic.shape) == (True, (None, 1))
    assert not layer([entries[0], tfkit.Input((3,))]).sparse


def test_area_interpolation_is_that_of_keras():
    images = tf.reshape(tf.range(6.0), (1, 2, 3, 1))
    np.testing.assert_allclose(
        layers.UpSampling2D((2, 3), interpolation="area")(images),
        keras.layers.UpSampling2D((2, 3), interpolation="area")(images),
        rtol=1e-6,
    )


@pytest.mark.parametrize("dtypes", [("int64", "float32"), ("bool", "uint8"), ("int32", "uint8")])
@pytest.mark.parametrize("make", [*MERGES, lambda where: where.Dot(1)])
def test_inputs_of_several_dtypes_meet_in_that_of_keras(make, dtypes):
    layer, oracle = (
        getattr(where, make)() if isinstance(make, str) else make(where)
        for where in (layers, keras.layers)
    )
    inputs = [tf.cast(x, dtype) for x, dtype in zip([[[1, 2]], [[3, 4]]], dtypes, strict=True)]
    ours, theirs = layer(inputs), oracle(inputs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_the_mean_of_integers_is_a_float():
    steps = tf.constant([[[1], [2], [4], [7]]])
    for mask in (None, tf.constant([[True, True, False, False]])):
        ours = layers.GlobalAveragePooling1D()(steps, mask=mask)
        theirs = keras.layers.GlobalAveragePooling1D()(tf.cast(steps, "float32"), mask=mask)
        assert ours.dtype == tf.float32
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("size", [np.int64(4), np.array(4), tf.constant(4)], ids=str)
def test_a_size_may_be_an_integer_of_numpy_or_a_tensor(size):
    dense = tfkit.layers.Dense(2)
    dense.build((None, size))
    shapes = [
        tfkit.Input((size, 2)).shape,
        tfkit.KerasTensor((None, size, 2)).shape,
        (None, *dense.kernel.shape),
        (None, *tfkit.layers.Layer().add_weight(shape=(size, 2)).shape),
        (None, *tfkit.layers.Reshape((size, 2)).target_shape),
    ]
    assert shapes == [(None, 4, 2)] * 5
    assert all(type(each) is int for shape in shapes for each in shape[1:])


@pytest.mark.parametrize("size", [4.0, tf.constant(4.0), np.float32(4), "4", -4, tf.constant(-4)])
def test_a_size_of_a_different_kind_is_refused(size):
    for make in (tfkit.Input, lambda shape: tfkit.layers.Layer().add_weight(shape=shape)):
        with pytest.raises(ValueError, match="non-negative integers"):
            make((size, 2))
