"""Mistakes that an op names itself: a `ValueError` and no kernel's error, eagerly and symbolically."""

import numpy as np
import pytest
import tensorflow as tf

from tfkit import ops
from tfkit.src.symbolic.tensors import KerasTensor

X = np.ones((2, 3), "float32")
PAIR = (X, X)

OUT_OF_BOUNDS = {
    "append": lambda x: ops.append(x, x, axis=5),
    "argsort": lambda x: ops.argsort(x, axis=5),
    "concatenate": lambda x: ops.concatenate([x, x], axis=5),
    "cumprod": lambda x: ops.cumprod(x, axis=5),
    "cumsum": lambda x: ops.cumsum(x, axis=5),
    "diagonal": lambda x: ops.diagonal(x, axis1=0, axis2=5),
    "diff": lambda x: ops.diff(x, axis=5),
    "expand_dims": lambda x: ops.expand_dims(x, 5),
    "flip": lambda x: ops.flip(x, (0, 5)),
    "layer_normalization": lambda x: ops.layer_normalization(x, axis=5),
    "log_softmax": lambda x: ops.log_softmax(x, axis=5),
    "median": lambda x: ops.median(x, axis=5),
    "moveaxis": lambda x: ops.moveaxis(x, 0, 5),
    "normalize": lambda x: ops.normalize(x, axis=5),
    "quantile": lambda x: ops.quantile(x, 0.5, axis=5),
    "roll": lambda x: ops.roll(x, 1, axis=5),
    "rot90": lambda x: ops.rot90(x, 1, (0, 5)),
    "softmax": lambda x: ops.softmax(x, axis=(0, 5)),
    "sort": lambda x: ops.sort(x, axis=5),
    "split": lambda x: ops.split(x, 2, axis=5),
    "squeeze": lambda x: ops.squeeze(x, 5),
    "stack": lambda x: ops.stack([x, x], axis=5),
    "swapaxes": lambda x: ops.swapaxes(x, 0, 5),
    "take": lambda x: ops.take(x, [0], axis=5),
    "take_along_axis": lambda x: ops.take_along_axis(x, [[0]], axis=5),
    "argmax": lambda x: ops.argmax(x, axis=5),
    "argpartition": lambda x: ops.argpartition(x, 1, axis=5),
    "trace": lambda x: ops.trace(x, axis1=0, axis2=5),
    "transpose": lambda x: ops.transpose(x, (0, 5)),
    "trapezoid": lambda x: ops.trapezoid(x, axis=5),
    "unstack": lambda x: ops.unstack(x, axis=5),
}


@pytest.mark.parametrize("x", [X, KerasTensor((2, 3))], ids=["eager", "symbolic"])
@pytest.mark.parametrize("name", OUT_OF_BOUNDS)
def test_axis_out_of_bounds(name, x):
    with pytest.raises(ValueError, match="axis 5 is out of bounds"):
        OUT_OF_BOUNDS[name](x)


ONE_AXIS = {
    "argmax": ops.argmax,
    "cumsum": ops.cumsum,
    "concatenate": lambda x, axis: ops.concatenate([x, x], axis=axis),
    "diff": lambda x, axis: ops.diff(x, axis=axis),
    "expand_dims": ops.expand_dims,
    "flip": ops.flip,
    "layer_normalization": lambda x, axis: ops.layer_normalization(x, axis=axis),
    "log_softmax": ops.log_softmax,
    "max": ops.max,
    "median": ops.median,
    "nanquantile": lambda x, axis: ops.nanquantile(x, 0.5, axis=axis),
    "norm": lambda x, axis: ops.norm(x, axis=axis),
    "normalize": ops.normalize,
    "rms_normalization": lambda x, axis: ops.rms_normalization(x, axis=axis),
    "softmax": ops.softmax,
    "stack": lambda x, axis: ops.stack([x, x], axis=axis),
}


@pytest.mark.parametrize("name", ONE_AXIS)
def test_an_axis_is_an_integer_of_any_type(name):
    x = np.arange(6.0, dtype="float32").reshape(2, 3)
    expected = ONE_AXIS[name](x, axis=1)
    for axis in (np.int64(1), np.array(1), tf.constant(1)):
        np.testing.assert_array_equal(ONE_AXIS[name](x, axis=axis), expected)


@pytest.mark.parametrize("axis", [1.0, "a"])
@pytest.mark.parametrize("name", sorted(ONE_AXIS.keys() - {"max", "norm", "rms_normalization"}))
def test_an_axis_is_no_float(name, axis):
    with pytest.raises(ValueError, match=r"`axis` must be an integer\. Received: axis="):
        ONE_AXIS[name](X, axis=axis)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running_results_take_a_tuple_of_one_axis(name):
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(getattr(ops, name)(x, (1,)), getattr(ops, name)(x, 1))
    assert getattr(ops, name)(KerasTensor((None, 3)), axis=(1,)).shape == (None, 3)


@pytest.mark.parametrize("x", [X, KerasTensor((2, 3))], ids=["eager", "symbolic"])
@pytest.mark.parametrize(
    "name",
    ["cholesky", "cholesky_inverse", "det", "eig", "eigh", "inv", "logdet", "lu_factor", "slogdet"],
)
def test_matrices_that_are_not_square(name, x):
    with pytest.raises(ValueError, match=r"must be a square matrix.*\(2, 3\)"):
        getattr(ops, name)(x)


MISTAKES = {
    "rows of a system": (lambda: ops.solve(np.eye(2), np.ones(3)), "as many rows"),
    "a vector for a matrix": (lambda: ops.qr(np.ones(3)), "rank >= 2"),
    "singular values of a vector": (lambda: ops.svd(np.ones(3)), "rank >= 2"),
    "not positive definite": (lambda: ops.cholesky([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
    "no Fourier length": (
        lambda: ops.rfft(X, fft_length=0),
        "`fft_length` must be a positive integer",
    ),
    "a vector for fft2": (lambda: ops.fft2((X[0], X[0])), "rank >= 2"),
    "no stride": (lambda: ops.stft(X, 2, 0, 2), "`sequence_stride` must be a positive integer"),
    "half a stride": (
        lambda: ops.istft(PAIR, 4, 1.5, 4),
        "`sequence_stride` must be a positive integer",
    ),
    "no sequence": (lambda: ops.extract_sequences(X, 0, 1), "`sequence_length` must be a positive"),
    "segments of other rows": (lambda: ops.segment_sum(X, [0, 0, 1]), "same leading dimension"),
    "segments in two axes": (lambda: ops.segment_max(X, np.zeros((2, 3), int)), "must be a vector"),
    "heads": (
        lambda: ops.dot_product_attention(np.ones((1, 2, 8, 4)), *[np.ones((1, 2, 6, 4))] * 2),
        "multiple of the heads",
    ),
    "axes of ctc_loss": (lambda: ops.ctc_loss(X, X, [1, 1], [1, 1]), r"\(batch, time, classes\)"),
    "batch of ctc_loss": (
        lambda: ops.ctc_loss(X, np.ones((3, 5, 4)), [1, 1], [1, 1]),
        "same first dimension",
    ),
    "columns to fold": (lambda: ops.fold(np.ones((1, 5, 9)), (4, 4), 2), "divisible"),
    "vectors of a batch normalization": (
        lambda: ops.batch_normalization(X, np.ones(2), np.ones(3), -1),
        "`mean` must be a vector of length",
    ),
    "two free sizes": (lambda: ops.reshape(X, (-1, -1)), "at most one unknown"),
    "a negative size": (lambda: ops.reshape(X, (-2, 3)), "non-negative integer"),
    "size of an image": (lambda: ops.image.resize(np.ones((4, 4, 3)), (0, 3)), "positive height"),
    "channels of colours": (
        lambda: ops.image.rgb_to_hsv(np.ones((4, 4, 4), "float32")),
        "3 channels",
    ),
    "no bins": (lambda: ops.histogram(X, bins=0), "above 0"),
    "a range upside down": (lambda: ops.histogram(X, range=(3, 1)), "smaller one first"),
    "rank of a slice": (lambda: ops.slice(X, (0, 0), (2, 3, 1)), "number of dimensions"),
    "an element that is not there": (lambda: ops.argpartition(X, 3), "`kth` must be in the range"),
    "one axis twice": (lambda: ops.diagonal(X, axis1=0, axis2=0), "each axis once"),
    "no axis to join along": (lambda: ops.concatenate([X, X], axis=None), "must be an integer"),
    "no axis to run along": (lambda: ops.cumsum(X, ()), "one integer. Received: axis="),
    "two axes to run along": (lambda: ops.argmax(X, (0, 1)), "one integer. Received: axis="),
    "several elements": (lambda: ops.argpartition(X, (1, 2)), "`kth` must be an integer"),
    "edges in two axes": (lambda: ops.digitize(X, X), "1D array of edges"),
    "symbolic edges in two axes": (
        lambda: ops.digitize(X, KerasTensor((2, 3))),
        "1D array of edges",
    ),
    "last axes of an inner product": (lambda: ops.inner(X, np.ones(4)), "last dimension"),
    "points of a perspective": (
        lambda: ops.image.perspective_transform(np.ones((4, 4, 3)), X, X),
        "Invalid start_points shape: expected",
    ),
    "points of two shapes": (
        lambda: ops.image.perspective_transform(
            np.ones((4, 4, 3)), np.ones((4, 2)), np.ones((2, 4, 2))
        ),
        "must have the same shape",
    ),
    "an image without channels": (
        lambda: ops.image.perspective_transform(X, X, X),
        "Invalid images rank",
    ),
    "a scalar to transform": (lambda: ops.fft((np.array(1), np.array(1))), "rank >= 1"),
    "indices of another rank": (lambda: ops.take_along_axis(X, [0], axis=0), "rank of `x`"),
    "sizes of a scan": (
        lambda: ops.associative_scan(lambda a, b: a, (np.ones(2), np.ones(3))),
        "same size along axis 0",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    call, message = MISTAKES[mistake]
    with pytest.raises(ValueError, match=message):
        call()


def test_branches_of_a_symbolic_condition_agree():
    with pytest.raises(ValueError, match="same structure, shape and dtype"):
        ops.cond(KerasTensor((), "bool"), lambda: tf.ones(3), lambda: tf.zeros(4))
    assert ops.cond(KerasTensor((), "bool"), lambda: tf.ones(3), lambda: tf.zeros(3)).shape == (3,)


def test_rows_and_columns_are_integers():
    for call in (
        lambda: ops.eye(3.0),
        lambda: ops.eye(3, 2.0),
        lambda: ops.eye(np.float32(3)),
        lambda: ops.eye(tf.constant(3.0, tf.bfloat16)),
        lambda: ops.tri(3, 2.0),
        lambda: ops.identity(3.0),
    ):
        with pytest.raises(TypeError, match="must be an integer"):
            call()
    assert ops.eye(np.int64(2), tf.constant(3), k=1.0).numpy().tolist() == [[0, 1, 0], [0, 0, 1]]


def test_a_tensor_is_not_sparse_and_ragged_at_once():
    with pytest.raises(ValueError, match="at once"):
        KerasTensor((2,), sparse=True, ragged=True)


def test_warnings():
    with pytest.warns(UserWarning, match="size 1"):
        ops.softmax(np.ones((2, 1)))
    with pytest.warns(UserWarning, match="deprecated"):
        ops.layer_normalization(X, rms_scaling=True)


# --- Static shapes where TensorFlow alone knows none ----------------------------------------------

TARGET = {"target_height": 4, "target_width": 5}
SHAPES = {
    "array_split": (lambda: ops.array_split(KerasTensor((None, 4)), 2)[0], (None, 4)),
    "split": (lambda: ops.split(KerasTensor((None, 4)), [1, 3])[1], (2, 4)),
    "squeeze": (lambda: ops.squeeze(KerasTensor((None, 1, 3))), (None, 3)),
    "repeat": (lambda: ops.repeat(KerasTensor((2, 3)), [1, 2], axis=0), (3, 3)),
    "unique": (lambda: ops.unique(KerasTensor((5, 4)), axis=0, size=3), (3, 4)),
    "histogram": (lambda: ops.histogram(KerasTensor((None, 3)), bins=4)[0], (4,)),
    "linspace": (lambda: ops.linspace(KerasTensor((None, 3)), KerasTensor((2, 3)), 5), (5, 2, 3)),
    "crop": (
        lambda: ops.image.crop_images(
            KerasTensor((None, None, 3)), 1, 1, target_height=4, target_width=5
        ),
        (4, 5, 3),
    ),
    "pad": (
        lambda: ops.image.pad_images(
            KerasTensor((None, None, 3)), 1, 1, target_height=4, target_width=5
        ),
        (4, 5, 3),
    ),
    "softmax": (lambda: ops.softmax(KerasTensor((2, None, 3)), axis=(0, 1)), (2, None, 3)),
    "jvp": (lambda: ops.jvp(lambda x: x * x, (KerasTensor((2,)),), (KerasTensor((2,)),))[1], (2,)),
    "digitize": (lambda: ops.digitize(KerasTensor((2, 3)), KerasTensor((4,))), (2, 3)),
    "irfft": (lambda: ops.irfft((KerasTensor((4, None)), KerasTensor((4, None)))), (4, None)),
    "rfft": (lambda: ops.rfft(KerasTensor((4, None)))[0], (4, None)),
    "istft": (
        lambda: ops.istft((KerasTensor((4, 5, None)), KerasTensor((4, 5, None))), 8, 2, 8),
        (4, 8),
    ),
    "istft of an unknown length": (
        lambda: ops.istft((KerasTensor((4, None, 5)), KerasTensor((4, None, 5))), 8, 2, 8),
        (4, None),
    ),
    "associative_scan": (lambda: ops.associative_scan(tf.add, KerasTensor((None, 2))), (None, 2)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_static_shapes(name):
    call, shape = SHAPES[name]
    assert call().shape == shape


@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_over_an_unknown_size(reverse):
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def running(x):
        return ops.associative_scan(tf.add, x, reverse=reverse)

    for count in (1, 2, 5):
        x = np.arange(2.0 * count).reshape(count, 2).astype("float32")
        expected = x[::-1].cumsum(0)[::-1] if reverse else x.cumsum(0)
        np.testing.assert_allclose(running(x), expected)


def test_array_split_of_an_unknown_size():
    parts = tf.function(lambda x: ops.array_split(x, 3), input_signature=[tf.TensorSpec([None])])(
        np.arange(7.0, dtype="float32")
    )
    assert [part.shape[0] for part in parts] == [3, 2, 2]


def test_correlation_with_a_longer_vector_is_numpys():
    for mode in ("valid", "full"):
        a, b = np.array([1.0, 2.0]), np.array([0.0, 1.0, 0.5])
        np.testing.assert_allclose(ops.correlate(a, b, mode), np.correlate(a, b, mode))


def test_histogram_compiles():
    compiled = tf.function(lambda x: ops.histogram(x, bins=4)[0], jit_compile=True)
    x = np.array([0.0, 1.0, 2.0, 2.5, 4.0], "float32")
    np.testing.assert_array_equal(compiled(x), np.histogram(x, 4)[0])


@pytest.mark.parametrize(
    ("name", "signature", "shapes"),
    [
        ("trace", "(n,n)->()", [(3, 3)]),
        ("diag", "(n,n)->(n)", [(5, 3, 3)]),
        ("dot", "(n),(n)->()", [(4, 1, 3), (2, 3)]),
    ],
)
def test_vectorize_with_a_signature(name, signature, shapes):
    tensors = [np.random.default_rng(0).normal(size=shape).astype("float32") for shape in shapes]
    result = ops.vectorize(getattr(ops, name), signature=signature)(*tensors)
    expected = np.vectorize(getattr(np, name), signature=signature)(*tensors)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_signatures_that_do_not_fit():
    with pytest.raises(ValueError, match="must be of the form"):
        ops.vectorize(ops.trace, signature="n,n->")
    with pytest.raises(ValueError, match="names 1 arguments"):
        ops.vectorize(ops.trace, signature="(n,n)->()")(X, X)


def test_what_numpy_takes():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0.1, 0.9, size=(3, 2)), rng.normal(size=(2, 5))
    np.testing.assert_allclose(ops.einsum("i...,...j", a, b), np.einsum("i...,...j", a, b))
    np.testing.assert_allclose(
        ops.geomspace(a, 5.0, 4, axis=-1), np.geomspace(a, 5, 4, axis=-1), rtol=1e-5
    )
    for shift, axis in ((1, (0, 1)), ((1, 2), 0), ((1, -1), (1, 0))):
        np.testing.assert_array_equal(ops.roll(a, shift, axis), np.roll(a, shift, axis))
    real, imaginary = ops.rfft(np.arange(6))
    np.testing.assert_allclose(
        real.numpy() + 1j * imaginary.numpy(), np.fft.rfft(np.arange(6)), rtol=1e-5
    )
    targets, predictions = (1.0, 0.0), ((0.1, 0.9), (0.2, 0.8))
    np.testing.assert_array_equal(ops.in_top_k(targets, predictions, 1), [True, False])
    targets, scores = np.array([1, 0], "uint8"), [[1, 9], [2, 8]]
    np.testing.assert_array_equal(ops.in_top_k(targets, scores, 1), [True, False])
