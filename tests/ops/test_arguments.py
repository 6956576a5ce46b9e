"""Mistakes that an op names itself: a `ValueError` and no kernel's error, eagerly and symbolically."""

import numpy as np
import pytest
import tensorflow as tf

from tfkit import ops
from tfkit.symbolic import KerasTensor

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
    "two free sizes": (lambda: ops.reshape(X, (-1, -1)), "save one -1"),
    "a negative size": (lambda: ops.reshape(X, (-2, 3)), "save one -1"),
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
    with pytest.raises(TypeError, match="must be integers"):
        ops.eye(3.0)


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
