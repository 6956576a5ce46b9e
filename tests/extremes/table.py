"""Ops and activations beside formulas in float64: of one operand, of two, and of rows of three."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import scipy.special
import tensorflow as tf

import tfkit
from tfkit import activations, ops

DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
INF, NAN = np.inf, np.nan


@dataclasses.dataclass(frozen=True)
class Case:
    """One function beside its truth.

    Attributes:
        name: the printed name.
        call: from tensors of one float dtype to a tensor.
        truth: from arrays of float64 to an array, or `None` where there is only agreement to check.
    """

    name: str
    call: Callable[..., Any]
    truth: Callable[..., Any] | None


def limits(dtype: str) -> tuple[float, float, float]:
    """Returns the largest, the smallest normal and a denormal number of a dtype."""
    info = ml_dtypes.finfo(DTYPES[dtype])
    return float(info.max), float(info.tiny), float(info.smallest_subnormal) * 3


def specials(dtype: str) -> np.ndarray:
    """Returns the values of one operand, as float64."""
    largest, tiny, denormal = limits(dtype)
    sizes = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 6.0, 20.0, 200.0, 1e4, INF, largest, largest / 2]
    sizes += [tiny, denormal, tiny * 8, 0.0078125, 11.0, 88.0, 90.0, 710.0]
    values = np.array([*sizes, *(-s for s in sizes), NAN])
    return np.unique(np.array(values.astype(DTYPES[dtype]), "float64"), equal_nan=True)


def with_zeros(values: np.ndarray) -> np.ndarray:
    """Returns values with both zeros, of which `unique` keeps one, in an order that mixes sizes."""
    values = np.concatenate([values[values != 0], [0.0, -0.0]])
    return values[np.random.default_rng(0).permutation(len(values))]


def operands(kind: str, dtype: str) -> list[np.ndarray]:
    """Returns the arrays of float64 that all cases of a kind get."""
    values = with_zeros(specials(dtype))
    if kind == "unary":
        # Kernels compute most elements in groups and the last ones alone: each value is in both.
        return [np.concatenate([np.repeat(values, 16), values[:3]])]
    largest, tiny, denormal = limits(dtype)
    if kind == "binary":
        few = [0.0, 0.5, 1.0, 2.0, 3.0, 90.0, INF, largest, tiny, denormal]
        few = np.array([*few, *(-x for x in few), NAN])
        pairs = np.array(list(itertools.product(few, few)))
        return [pairs[:, 0], pairs[:, 1]]
    few = [0.0, -0.0, 1.0, -2.0, INF, -INF, NAN, largest, -largest, tiny, denormal]
    return [np.array(list(itertools.product(few, repeat=3)))]


# --- One operand ----------------------------------------------------------------------------------


def _sigmoid(x):
    return scipy.special.expit(x)


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _times(x, gate):
    """The product whose limit at minus infinity is 0."""
    return np.where(x == -INF, 0.0, x * gate)


def _tanh_gelu(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * np.power(x, 3))
    return _times(x, 0.5 * (1 + np.tanh(inner)))


def _sinc(x):
    return np.where(np.abs(x) > 1e300, 0.0, np.sinc(x))


def _soft_shrink(x, threshold=0.5):
    shrunk = np.where(x > threshold, x - threshold, np.where(x < -threshold, x + threshold, 0.0))
    return np.where(np.isnan(x), x, shrunk)


def _hard_shrink(x, threshold=0.5):
    return np.where(np.abs(x) <= threshold, 0.0, x)


def _threshold(x, threshold=0.5, value=-7.0):
    return np.where(x <= threshold, value, x)


def _sparse_plus(x):
    return np.where(x <= -1, 0.0, np.where(x < 1, 0.25 * np.square(x + 1), x))


def _squareplus(x, b=4):
    # (x + sqrt(x**2 + b)) / 2 without the difference of two large numbers.
    root = np.hypot(x, np.sqrt(b))
    return np.where(x < 0, b / (root - x) / 2, (x + root) / 2)


def _mish(x):
    return _times(x, np.tanh(np.logaddexp(0, x)))


UNARY_TRUTHS: dict[str, Any] = {
    **{
        name: getattr(np, name)
        for name in [
            "abs",
            "absolute",
            "fabs",
            "negative",
            "sign",
            "signbit",
            "ceil",
            "floor",
            "trunc",
            "round",
            "square",
            "sqrt",
            "cbrt",
            "reciprocal",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log10",
            "log2",
            "log1p",
            "sin",
            "cos",
            "tan",
            "arcsin",
            "arccos",
            "arctan",
            "sinh",
            "cosh",
            "tanh",
            "arcsinh",
            "arccosh",
            "arctanh",
            "deg2rad",
            "rad2deg",
            "isfinite",
            "isinf",
            "isnan",
            "isposinf",
            "isneginf",
            "isreal",
            "angle",
            "real",
            "imag",
            "conj",
            "conjugate",
            "logical_not",
            "i0",
        ]
    },
    "rsqrt": lambda x: np.where(x == 0, np.copysign(INF, x), 1 / np.sqrt(x)),
    "i0": scipy.special.i0,
    "sinc": _sinc,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfinv": scipy.special.erfinv,
    "relu": lambda x: np.maximum(x, 0.0),
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
    "elu": _elu,
    "selu": lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772),
    "celu": _elu,
    "gelu": _tanh_gelu,
    "silu": lambda x: _times(x, _sigmoid(x)),
    "swish": lambda x: _times(x, _sigmoid(x)),
    "squareplus": _squareplus,
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0.0, 1.0),
    "hard_silu": lambda x: _times(x, np.clip(x / 6 + 0.5, 0.0, 1.0)),
    "hard_swish": lambda x: _times(x, np.clip(x / 6 + 0.5, 0.0, 1.0)),
    "hard_tanh": lambda x: np.clip(x, -1.0, 1.0),
    "hard_shrink": _hard_shrink,
    "soft_shrink": _soft_shrink,
    "tanh_shrink": lambda x: x - np.tanh(x),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": lambda x: np.clip(0.5 * (x + 1), 0.0, 1.0),
}


def _nan_to_num(dtype: str) -> Callable[..., Any]:
    largest = limits(dtype)[0]
    return lambda x: np.nan_to_num(x, posinf=largest, neginf=-largest)


def unary(dtype: str) -> list[Case]:
    """Returns the cases of one operand."""
    found = [Case(name, getattr(ops, name), truth) for name, truth in UNARY_TRUTHS.items()]
    given: list[tuple[str, Any, Any]] = [
        ("nan_to_num", ops.nan_to_num, _nan_to_num(dtype)),
        (
            "gelu exact",
            lambda x: ops.gelu(x, approximate=False),
            lambda x: _times(x, scipy.special.ndtr(x)),
        ),
        ("elu 0.5", lambda x: ops.elu(x, 0.5), lambda x: _elu(x, 0.5)),
        (
            "celu 0.5",
            lambda x: ops.celu(x, 0.5),
            lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0) / 0.5)),
        ),
        ("squareplus 0", lambda x: ops.squareplus(x, 0), lambda x: np.maximum(x, 0.0)),
        ("threshold", lambda x: ops.threshold(x, 0.5, -7.0), _threshold),
        ("leaky_relu 0", lambda x: ops.leaky_relu(x, 0.0), lambda x: np.maximum(x, 0.0)),
        ("clip", lambda x: ops.clip(x, -1.0, 1.0), lambda x: np.clip(x, -1.0, 1.0)),
        ("clip open", lambda x: ops.clip(x, -INF, 1.0), lambda x: np.minimum(x, 1.0)),
        (
            "round 2",
            lambda x: ops.round(x, 2),
            lambda x: np.where(np.abs(x) > 1e15, x, np.round(x, 2)),
        ),
        (
            "round -1",
            lambda x: ops.round(x, -1),
            lambda x: np.where(np.abs(x) > 1e15, x, np.round(x, -1)),
        ),
        ("power 2", lambda x: ops.power(x, 2.0), lambda x: np.power(x, 2.0)),
        ("power 0.5", lambda x: ops.power(x, 0.5), lambda x: np.power(x, 0.5)),
        ("power 0", lambda x: ops.power(x, 0.0), lambda x: np.power(x, 0.0)),
        ("power -1", lambda x: ops.power(x, -1.0), lambda x: np.power(x, -1.0)),
        ("base 2", lambda x: ops.power(2.0, x), lambda x: np.power(2.0, x)),
        ("base 0", lambda x: ops.power(0.0, x), lambda x: np.power(0.0, x)),
        ("ldexp 3", lambda x: ops.ldexp(x, 3), lambda x: np.ldexp(x, 3)),
        ("activations.relu", activations.relu, lambda x: np.maximum(x, 0.0)),
        (
            "activations.relu 0.1 6 1",
            lambda x: activations.relu(x, 0.1, 6.0, 1.0),
            lambda x: np.where(
                np.isnan(x), x, np.where(x >= 6, 6.0, np.where(x > 1, x, 0.1 * (x - 1)))
            ),
        ),
        ("activations.exponential", activations.exponential, np.exp),
        ("activations.mish", activations.mish, _mish),
        ("activations.gelu", activations.gelu, lambda x: _times(x, scipy.special.ndtr(x))),
        ("activations.linear", activations.linear, lambda x: x),
        (
            "guarded sqrt",
            lambda x: tf.where(x > 0, ops.sqrt(x), 0),
            lambda x: np.where(x > 0, np.sqrt(x), 0),
        ),
        (
            "x / x by divide_no_nan",
            lambda x: ops.divide_no_nan(x, x),
            lambda x: np.where(x == 0, 0.0, x / x),
        ),
    ]
    return found + [Case(*case) for case in given]


# --- Two operands ---------------------------------------------------------------------------------


def _fmod(x, y):
    return np.fmod(x, y)


def _mod(x, y):
    return np.mod(x, y)


def _floor_divide(x, y):
    # NumPy gives NaN for infinity divided by a number and infinity for 1 / 0, as Python's would.
    return np.floor(x / y)


def _logaddexp2(x, y):
    return np.logaddexp2(x, y)


def _divide_no_nan(x, y):
    return np.where(y == 0, 0.0, x / y)


def _isclose(**options):
    return lambda x, y: np.isclose(x, y, **options)


BINARY_TRUTHS: dict[str, Any] = {
    **{
        name: getattr(np, name)
        for name in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "true_divide",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "arctan2",
            "hypot",
            "heaviside",
            "logaddexp",
            "logaddexp2",
            "equal",
            "not_equal",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "logical_and",
            "logical_or",
            "logical_xor",
            "power",
            "fmod",
            "mod",
            "isclose",
        ]
    },
    "divide_no_nan": _divide_no_nan,
    "floor_divide": _floor_divide,
}


def binary(dtype: str) -> list[Case]:
    """Returns the cases of two operands."""
    found = [Case(name, getattr(ops, name), truth) for name, truth in BINARY_TRUTHS.items()]
    kind = DTYPES[dtype]
    more: list[tuple[str, Any, Any]] = [
        (
            "isclose equal_nan",
            lambda x, y: ops.isclose(x, y, equal_nan=True),
            _isclose(equal_nan=True),
        ),
        ("clip to a least", lambda x, y: ops.clip(x, y, np.inf), lambda x, y: np.maximum(x, y)),
        ("where", lambda x, y: ops.where(x > y, x, y), lambda x, y: np.where(x > y, x, y)),
        (
            "nextafter",
            ops.nextafter,
            lambda x, y: np.nextafter(x.astype(kind), y.astype(kind)).astype("float64"),
        ),
    ]
    return found + [Case(*case) for case in more]


# --- Rows -----------------------------------------------------------------------------------------


def _argmax(x):
    return np.argmax(x, -1)


def _stable(function):
    """Returns a function of rows, applied to each: NumPy's own differ between vectors and matrices."""
    return lambda x: np.stack([function(row) for row in x])


def _quantile(q, method="linear"):
    """NumPy's, but for infinities: those it subtracts from each other."""

    def quantile(x):
        ordered = np.sort(x, -1)
        place = q * (x.shape[-1] - 1)
        lower, higher = ordered[:, int(np.floor(place))], ordered[:, int(np.ceil(place))]
        part = {"linear": place % 1, "higher": 1.0, "midpoint": 0.5}[method]
        result = np.where(
            lower == higher,
            lower,
            (lower * (1 - part) if part < 1 else 0) + (higher * part if part else 0),
        )
        return np.where(np.isnan(x).any(-1), NAN, result)

    return quantile


def _softmax(x):
    top = np.max(x, -1, keepdims=True)
    part = np.exp(x - np.where(np.isfinite(top), top, 0.0))
    part = np.where(np.isinf(top) & (top > 0), NAN, part)
    return part / np.sum(part, -1, keepdims=True)


def _log_softmax(x):
    top = np.max(x, -1, keepdims=True)
    shifted = x - np.where(np.isfinite(top), top, 0.0)
    shifted = np.where(np.isinf(top) & (top > 0), NAN, shifted)
    return shifted - np.log(np.sum(np.exp(shifted), -1, keepdims=True))


def _logsumexp(x):
    return np.logaddexp.reduce(x, -1)


def _lengths(x, order):
    size = np.abs(x)
    if order == INF:
        return np.max(size, -1, keepdims=True)
    if order == -INF:
        return np.min(size, -1, keepdims=True)
    if order == 0:
        return np.sum(x != 0, -1, keepdims=True).astype("float64")
    top = np.max(size, -1, keepdims=True)
    scale = np.where(np.isfinite(top) & (top > 0), top, 1.0)
    return scale * np.sum((size / scale) ** order, -1, keepdims=True) ** (1 / order)


def _norm(order):
    return lambda x: _lengths(x, order)[..., 0]


def _normalize(order, epsilon=1e-7):
    return lambda x: x / np.maximum(_lengths(x, order), epsilon)


def _layer_normalization(x, epsilon=1e-7):
    mean = np.mean(x, -1, keepdims=True)
    variance = np.mean(np.square(x - mean), -1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def _rms_normalization(x, epsilon=1e-7):
    return x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + epsilon)


def _average(x):
    return np.sum(x * np.array([1.0, 2.0, 1.0]), -1) / 4


def _last(function):
    return lambda x, **options: function(x, axis=-1, **options)


def _nan_arg(function):
    def found(x):
        empty = np.isnan(x).all(-1)
        return np.where(empty, -1, function(np.where(empty[:, None], 0.0, x), -1))

    return found


ROW_NAMES = [
    "sum",
    "mean",
    "var",
    "std",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
    "ptp",
    "any",
    "all",
    "count_nonzero",
    "sort",
    "cumsum",
    "cumprod",
    "median",
    "nansum",
    "nanmean",
    "nanvar",
    "nanstd",
    "nanprod",
    "nanmax",
    "nanmin",
    "nanmedian",
    "nancumsum",
    "nancumprod",
    "diff",
    "trapezoid",
    "argmax",
    "argmin",
]


def rows(dtype: str) -> list[Case]:
    """Returns the cases of rows of three."""
    found = [
        Case(name, _last(getattr(ops, name)), _last(getattr(np, name, None) or np.trapezoid))
        for name in ROW_NAMES
    ]
    more: list[tuple[str, Any, Any]] = [
        ("nanargmax", lambda x: ops.nanargmax(x, -1), _nan_arg(np.nanargmax)),
        ("nanargmin", lambda x: ops.nanargmin(x, -1), _nan_arg(np.nanargmin)),
        ("argsort", lambda x: ops.take_along_axis(x, ops.argsort(x), -1), lambda x: np.sort(x, -1)),
        ("top_k", lambda x: ops.top_k(x, 2)[0], None),
        ("logsumexp", lambda x: ops.logsumexp(x, -1), _logsumexp),
        ("softmax", ops.softmax, _softmax),
        ("log_softmax", ops.log_softmax, _log_softmax),
        ("sparsemax", ops.sparsemax, None),
        ("moments", lambda x: ops.moments(x, [-1])[1], None),
        ("average", lambda x: ops.average(x, -1, tf.constant([1.0, 2.0, 1.0], x.dtype)), _average),
        ("quantile 0.3", lambda x: ops.quantile(x, 0.3, -1), _quantile(0.3)),
        ("quantile 0", lambda x: ops.quantile(x, 0.0, -1), _quantile(0.0)),
        ("quantile 1", lambda x: ops.quantile(x, 1.0, -1), _quantile(1.0)),
        (
            "quantile higher",
            lambda x: ops.quantile(x, 0.3, -1, "higher"),
            _quantile(0.3, method="higher"),
        ),
        (
            "quantile midpoint",
            lambda x: ops.quantile(x, 0.3, -1, "midpoint"),
            _quantile(0.3, method="midpoint"),
        ),
        ("nanquantile 0.3", lambda x: ops.nanquantile(x, 0.3, -1), None),
        ("percentile 30", lambda x: ops.percentile(x, 30, -1), _quantile(0.3)),
        ("layer_normalization", ops.layer_normalization, _layer_normalization),
        ("rms_normalization", ops.rms_normalization, _rms_normalization),
        ("cross", lambda x: ops.cross(x, x[:, ::-1]), lambda x: np.cross(x, x[:, ::-1])),
        ("dot with itself", lambda x: ops.einsum("ij,ij->i", x, x), lambda x: np.sum(x * x, -1)),
        (
            "digitize",
            lambda x: ops.digitize(x, [-1.0, 0.0, 2.0]),
            lambda x: np.digitize(x, [-1.0, 0.0, 2.0]),
        ),
        (
            "digitize with infinite edges",
            lambda x: ops.digitize(x, [-INF, 0.0, INF]),
            lambda x: np.digitize(x, [-INF, 0.0, INF]),
        ),
        (
            "searchsorted",
            lambda x: ops.searchsorted(tf.constant([-1.0, 0.0, 2.0], x.dtype), x[:, 0]),
            lambda x: np.searchsorted([-1.0, 0.0, 2.0], x[:, 0]),
        ),
        ("isin", lambda x: ops.isin(x, [0.0, INF, NAN]), lambda x: np.isin(x, [0.0, INF, NAN])),
        *(
            (f"norm {o}", lambda x, o=o: ops.norm(x, o, -1), _norm(2 if o is None else o))
            for o in (None, 1, 2, 3, 0.5, 0, -1, INF, -INF)
        ),
        *(
            (f"normalize {o}", lambda x, o=o: ops.normalize(x, order=o), _normalize(o))
            for o in (1, 2, 3, 4)
        ),
    ]
    more += [(f"layers.{name}", *pair) for name, pair in _LAYERS.items()]
    return found + [Case(*case) for case in more]


def _layer(make):
    """Returns a layer without weights as a function, made once for each dtype."""
    made: dict[Any, Any] = {}

    def call(x):
        if x.dtype.name not in made:
            made[x.dtype.name] = make(x.dtype.name)
        return made[x.dtype.name].call(x)

    return call


_LAYERS: dict[str, Any] = {
    "UnitNormalization": (
        _layer(lambda dtype: tfkit.layers.UnitNormalization(dtype=dtype)),
        _normalize(2, 1e-12),
    ),
    "Softmax": (_layer(lambda dtype: tfkit.layers.Softmax(dtype=dtype)), _softmax),
}
KINDS = {"unary": unary, "binary": binary, "rows": rows}
