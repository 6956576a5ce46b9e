"""Singular values of matrices in 16 bits: by way of float32, as XLA's own of float16 are NaN or far off."""

import numpy as np
import pytest
import tensorflow as tf

from tfkit import ops

MATRIX = np.random.default_rng(0).normal(size=(4, 3))
FUNCTIONS = {
    "svd": lambda x: ops.svd(x, compute_uv=False),
    "vectors": lambda x: ops.abs(ops.svd(x, full_matrices=False)[0]),
    "norm": lambda x: ops.norm(x, ord=2, axis=(0, 1)),
    "pinv": lambda x: ops.pinv(x, rcond=1e-3),
    "lstsq": lambda x: ops.lstsq(x, ops.ones((4, 1), x.dtype), rcond=1e-3),
    "matrix_rank": ops.matrix_rank,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_those_of_float32_with_xla_and_without(name, dtype):
    function, x = FUNCTIONS[name], tf.cast(MATRIX, dtype)
    compiled = tf.function(function, jit_compile=True, autograph=False)
    expected = tf.cast(function(tf.cast(x, "float32")), "float32")
    for found in (function(x), compiled(x)):
        assert name == "matrix_rank" or found.dtype == dtype
        tolerance = 0.02 if dtype == "bfloat16" else 0.002
        np.testing.assert_allclose(tf.cast(found, "float32"), expected, atol=tolerance)
