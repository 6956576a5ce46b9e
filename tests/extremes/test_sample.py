"""A sample of the sweep at extreme values, and that it would see what is wrong."""

import numpy as np
import pytest
import tensorflow as tf

from tests.extremes import ways
from tests.extremes.reasons import REASONS, reason_of
from tests.extremes.table import Case, binary, rows, unary
from tests.extremes.ways import Finding, check

SAMPLE = {
    "unary": ("float32", ["sinc", "softsign", "squareplus", "soft_shrink", "celu", "erf", "expm1"]),
    "binary": ("float32", ["maximum", "hypot", "logaddexp", "fmod", "heaviside"]),
    "rows": (
        "bfloat16",
        ["max", "argmax", "sort", "normalize 3", "norm None", "softmax", "cumprod"],
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of infinities.
@pytest.mark.parametrize("kind", SAMPLE)
def test_a_sample_has_no_difference_without_a_reason(kind):
    dtype, names = SAMPLE[kind]
    findings = list(check(kind, dtype, names))
    assert not [f for f in findings if isinstance(f, str)]
    assert not [f for f in findings if reason_of(f) is None]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_wrong_is_seen(monkeypatch):
    @tf.custom_gradient
    def lost(x):
        return tf.identity(x), lambda upstream: upstream / tf.zeros_like(upstream)

    def wrong(dtype):
        return [
            Case("nan", lambda x: tf.where(x > 0, x, tf.zeros_like(x)), lambda x: np.maximum(x, 0)),
            Case("slope", lambda x: tf.stop_gradient(x), lambda x: x),
            Case("guard", lost, lambda x: x),
        ]

    monkeypatch.setitem(ways.KINDS, "unary", wrong)
    found = {(f.name, f.what, f.way) for f in check("unary", "float32") if reason_of(f) is None}
    for way in ("eager", "graph", "xla"):
        assert ("nan", "value", way) in found
        assert ("slope", "gradient 0", way) in found
        assert ("guard", "no gradient 0", way) in found


def test_reasons_are_about_ops_of_the_table():
    names = {case.name for cases in (unary, binary, rows) for case in cases("float32")}
    for reason in REASONS:
        values = (0.0, 0.0), (np.inf, 1.0), (np.nan, 1.0), (1e-45, 1.0), (3.4e38, 1.0), (1.0, 1.0)
        assert any(
            reason.explains(Finding(name, "rows", "float32", what, "eager", value, 0, 1))
            for name in names
            for what in ("value", "gradient 0")
            for value in values
        ), reason
