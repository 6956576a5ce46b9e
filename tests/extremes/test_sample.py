"""A sample of the sweep at extreme values, and that it would see what is wrong."""

import pathlib
import re

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests import weighing
from tests.extremes import ways
from tests.extremes.calls import KINDS
from tests.extremes.patterns import compare
from tests.extremes.reasons import PATTERNS, REASONS, reason_of
from tests.extremes.table import Case, binary, rows, unary
from tests.extremes.ways import Finding, check
from tests.metrics.test_weights_and_masks import ROWS, TABLE, make

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "extreme-values.md"
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


def test_reasons_of_patterns_are_about_calls_of_the_tables():
    labels = []
    for calls in KINDS.values():  # None is made.
        assert not list(calls("float32", lambda label: labels.append(label)))
    for reason in PATTERNS:
        assert any(re.fullmatch(reason.label, label) for label in labels), reason


@pytest.mark.parametrize(
    ("heading", "reasons"),
    [
        ("Remaining differences of functions", REASONS),
        ("Remaining differences of layers, losses and metrics", PATTERNS),
    ],
)
def test_the_documentation_has_all_reasons(heading, reasons):
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ") for line in section.splitlines() if line.startswith("|")]
    assert rows[2:] == list(dict.fromkeys(reason.text for reason in reasons))


CALLS = {
    "layers": r"layers\.(Dense|Conv2D|PReLU|Softmax|Discretization) #\d+",
    "metrics": r"metrics\.(BinaryIoU|F1Score|Mean(IoU|SquaredError)|SparseTopK.*|Recall|AUC)( of weight 0)?",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "dtype"), [("layers", "bfloat16"), ("metrics", "float32")])
def test_a_sample_of_layers_and_metrics_is_the_same_in_all_ways(kind, dtype):
    calls = list(KINDS[kind](dtype, lambda label: bool(re.fullmatch(CALLS[kind], label))))
    assert len(calls) > 8
    ways = ("xla", "served")
    found = list(compare(list(enumerate(calls)), dtype, ways, "nan"))
    assert not [d for d in found if not any(reason.explains(d) for reason in PATTERNS)]


@pytest.fixture(scope="module", params=[False, True], ids=["graph", "xla"])
def evaluated(request):
    """A model that returns its inputs, with all metrics, and the data of each kind."""
    data = {TABLE[name][1]: ROWS[name] for name in TABLE}
    data = {kind: [np.asarray(x, "float32") for x in pair] for kind, pair in data.items()}
    inputs = {kind: tfkit.Input(pair[1].shape[1:], name=kind) for kind, pair in data.items()}
    model = tfkit.Model(inputs, {k: tfkit.layers.Identity()(x) for k, x in inputs.items()})
    found = {kind: [make(n) for n in TABLE if TABLE[n][1] == kind] for kind in data}
    model.compile(loss={"numbers": "mse"}, weighted_metrics=found, jit_compile=request.param)
    return model, found, data


@pytest.mark.filterwarnings("ignore:The adjusted R2 score")
@pytest.mark.parametrize("place", ["y_true", "y_pred", "sample_weight"])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_evaluate_gives_the_values_of_direct_calls_where_one_is_nan(evaluated, place, weight):
    model, found, data = evaluated
    x, y, weights = {}, {}, {}
    for kind, (y_true, y_pred) in data.items():
        w = weighing.ROW_WEIGHTS.astype("float32")
        w[3] = weight
        arrays = {"y_true": y_true.copy(), "y_pred": y_pred.copy(), "sample_weight": w}
        if not (kind == "sparse" and place == "y_true" and weight):  # A class id that is refused.
            arrays[place].reshape(6, -1)[3, 0] = np.nan
        y[kind], x[kind], weights[kind] = arrays.values()
    model.evaluate(x, y, sample_weight=weights, batch_size=4, verbose=0)
    for kind, metrics in found.items():
        for metric in metrics:
            result = metric.result().numpy()
            metric.reset_state()
            for batch in (slice(0, 4), slice(4, 6)):
                metric.update_state(
                    y[kind][batch], tf.constant(x[kind][batch]), weights[kind][batch]
                )
            np.testing.assert_allclose(result, metric.result(), 1e-5, 1e-6, err_msg=metric.name)


def test_the_angle_to_a_zero_vector_has_one_gradient_in_half_precision():
    """The epsilon of the length is 0 in float16, and 0 / 0 was NaN in XLA."""
    layer = tfkit.layers.Dot(1, normalize=True, dtype="float16")
    y = tf.ones((2, 3), "float16")

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            cosine = layer([x, y])
        return tape.gradient(cosine, x)

    # x / 1e-7 has a slope beyond the range of float16.
    for run in (gradient, tf.function(gradient), tf.function(gradient, jit_compile=True)):
        np.testing.assert_array_equal(run(tf.zeros((2, 3), "float16")), np.inf)
