"""Every op against Keras: values, dtype, symbolic shape with an unknown batch, a recorded node."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.ops.cases import BOOLS, CASES, INTS, X
from tfkit import ops
from tfkit.src.symbolic.tensors import KerasTensor

TOLERANCE = {"fft2": 1e-4, "lstsq": 1e-3, "pinv": 1e-3, "inv": 1e-4, "cholesky_inverse": 1e-4}


def identifier(case):
    name, args, kwargs = case
    shapes = ",".join(
        str(np.shape(a)).replace(" ", "") if isinstance(a, np.ndarray) else type(a).__name__
        for a in args
    )
    options = "-".join(f"{k}={v}" if np.ndim(v) == 0 else k for k, v in kwargs.items())
    return f"{name}-{shapes}-{options}"


def flatten(result):
    return [tf.convert_to_tensor(leaf) for leaf in tf.nest.flatten(result)]


def agree(mine, theirs, tolerance):
    mine, theirs = flatten(mine), flatten(theirs)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype.is_bool or a.dtype.is_integer:
            np.testing.assert_array_equal(a, b)
        else:
            dtype = "complex128" if a.dtype.is_complex else "float64"
            np.testing.assert_allclose(
                tf.cast(a, dtype), tf.cast(b, dtype), rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize("case", CASES, ids=identifier)
def test_values_and_dtypes(case):
    name, args, kwargs = case
    agree(
        getattr(ops, name)(*args, **kwargs),
        getattr(keras.ops, name)(*map(tensors, args), **{k: tensors(v) for k, v in kwargs.items()}),
        TOLERANCE.get(name, 2e-6 * 10),
    )


def tensors(value):
    """Keras takes arrays less willingly than its documentation says."""
    return tf.convert_to_tensor(value) if isinstance(value, np.ndarray) else value


# --- Symbolic tensors -----------------------------------------------------------------------------

# The shape of the result is known to nobody before there are values, or is no function of shapes.
NO_STATIC_SHAPE = {"where", "nonzero", "unique", "bincount", "repeat", "cholesky_inverse"}
BATCHED = {}
for _name, _args, _kwargs in CASES:
    _first = _args[0] if _args else None
    if isinstance(_first, np.ndarray) and _first.ndim >= 2 and _name not in BATCHED:
        BATCHED[_name] = (_args, _kwargs)


@pytest.mark.parametrize("name", sorted(BATCHED))
def test_symbolic_tensor_is_recorded_and_traced(name):
    args, kwargs = BATCHED[name]
    x = KerasTensor(args[0].shape, args[0].dtype)
    symbolic = getattr(ops, name)(x, *args[1:], **kwargs)
    leaves = tf.nest.flatten(symbolic)
    assert all(isinstance(leaf, KerasTensor) for leaf in leaves)
    assert leaves[0].node.operation is getattr(ops, name)
    assert leaves[0].node.input_tensors == [x]
    values = flatten(getattr(ops, name)(*args, **kwargs))
    for leaf, value in zip(leaves, values, strict=True):
        assert leaf.dtype == value.dtype.name
        assert tf.TensorShape(leaf.shape).is_compatible_with(value.shape)
        if name not in NO_STATIC_SHAPE:
            assert leaf.shape == tuple(value.shape)


UNKNOWN_BATCH = [
    "exp",
    "add",
    "matmul",
    "sum",
    "mean",
    "max",
    "argmax",
    "softmax",
    "relu",
    "transpose",
    "squeeze",
    "expand_dims",
    "tile",
    "take",
    "split",
    "rot90",
    "flip",
    "roll",
    "pad",
    "conv",
    "depthwise_conv",
    "separable_conv",
    "conv_transpose",
    "max_pool",
    "average_pool",
    "adaptive_average_pool",
    "layer_normalization",
    "batch_normalization",
    "normalize",
    "moments",
    "one_hot",
    "multi_hot",
    "categorical_crossentropy",
    "sparse_categorical_crossentropy",
    "binary_crossentropy",
    "dot_product_attention",
    "einsum_",
    "tril",
    "triu",
    "sort",
    "argsort",
    "top_k",
    "cumsum",
    "cross",
    "unfold",
    "fold",
    "space_to_depth",
    "stft",
    "extract_sequences",
    "rearrange_",
    "swapaxes",
    "moveaxis",
    "det",
    "norm",
    "clip",
    "round",
    "isclose",
    "quantile_",
    "dot",
    "tensordot",
    "inner",
    "diff",
    "where_",
]


@pytest.mark.parametrize("name", [n for n in UNKNOWN_BATCH if not n.endswith("_")])
def test_unknown_batch(name):
    args, kwargs = BATCHED[name]
    if name in ("split", "multi_hot"):
        kwargs = {"axis": 1} if name == "split" else kwargs
    if name == "moments":
        args, kwargs = (args[0], [1]), {}
    partner = [
        KerasTensor((None, *a.shape[1:]), a.dtype)
        if isinstance(a, np.ndarray) and name.endswith(("entropy", "attention"))
        else a
        for a in args[1:]
    ]
    symbolic = tf.nest.flatten(
        getattr(ops, name)(
            KerasTensor((None, *args[0].shape[1:]), args[0].dtype), *partner, **kwargs
        )
    )
    values = flatten(getattr(ops, name)(*args, **kwargs))
    for leaf, value in zip(symbolic, values, strict=True):
        known = tuple(value.shape)
        assert len(leaf.shape) == len(known)
        assert [s for s in leaf.shape if s is not None] == [
            k for s, k in zip(leaf.shape, known, strict=True) if s is not None
        ]
        assert leaf.shape.count(None) <= 1


def test_every_op_of_keras_is_here():
    missing = {name for name in dir(keras.ops) if not name.startswith("_")} - set(dir(ops))
    assert sorted(missing) == []


NOT_HERE = {"elastic_transform"}  # Draws random numbers; those stand above this room.


@pytest.mark.parametrize("name", ["nn", "numpy", "linalg", "image"])
def test_faces_hold_what_keras_has(name):
    theirs = {n for n in dir(getattr(keras.ops, name)) if not n.startswith("_")}
    assert sorted(theirs - set(dir(getattr(ops, name))) - NOT_HERE) == []


SIGNATURE_DIFFERS = {
    "multi_hot": "`num_tokens`, a deprecated name, is gone",
}


@pytest.mark.parametrize(
    "name", sorted(n for n in dir(keras.ops) if callable(getattr(keras.ops, n)) and n[0] != "_")
)
def test_signature(name):
    def described(function):
        return [
            (p.name, p.default, p.kind) for p in inspect.signature(function).parameters.values()
        ]

    theirs = described(getattr(keras.ops, name))
    if name in SIGNATURE_DIFFERS:
        theirs = theirs[:-1]
    assert described(getattr(ops, name)) == theirs


XLA = [
    "exp",
    "add",
    "matmul",
    "sum",
    "mean",
    "var",
    "softmax",
    "relu",
    "gelu",
    "conv",
    "depthwise_conv",
    "max_pool",
    "average_pool",
    "layer_normalization",
    "rms_normalization",
    "normalize",
    "batch_normalization",
    "take",
    "take_along_axis",
    "one_hot",
    "concatenate",
    "stack",
    "split",
    "einsum",
    "tensordot",
    "categorical_crossentropy",
    "sparse_categorical_crossentropy",
    "binary_crossentropy",
    "dot_product_attention",
    "cumsum",
    "sort",
    "argsort",
    "top_k",
    "where",
    "pad",
    "roll",
    "flip",
    "tril",
    "triu",
    "quantile",
    "argmax",
    "std",
    "clip",
    "round",
    "moments",
    "norm",
    "arange",
    "linspace",
    "eye",
    "rfft",
    "segment_sum",
]


@pytest.mark.parametrize("name", XLA)
def test_compiles_with_xla(name):
    _, args, kwargs = next(c for c in CASES if c[0] == name)
    if name == "where":
        args = (BOOLS, X, INTS)

    @tf.function(jit_compile=True)
    def compiled():
        return getattr(ops, name)(*args, **kwargs)

    agree(compiled(), getattr(ops, name)(*args, **kwargs), 1e-5)
