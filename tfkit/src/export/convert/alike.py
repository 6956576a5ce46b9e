"""Formulas that are the same in JAX and PyTorch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy

from tfkit.src.export.convert import blocks, diagonals, images
from tfkit.src.export.convert.gradients import SELU, SELU_SLOPE
from tfkit.src.export.convert.kit import Formula, Kit

# Elementwise functions. Their names in the modules are NumPy's: in lower case, with `arc` for `A`.
_FUNCTIONS = [
    *"Angle Ceil Conj Cos Cosh Exp Expm1 Floor Imag IsFinite IsInf IsNan".split(),  # noqa: SIM905
    *"Log Log1p Real Round Sign Sin Sinh Square Tan Tanh".split(),  # noqa: SIM905
]
_SPECIAL = ["Digamma", "Erf", "Erfc", "Erfinv"]
_INVERSES = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh"]


def alike(kit: Kit) -> dict[str, Formula]:
    """Returns formulas by type.

    Args:
        kit: what the formulas need of the framework.
    """
    np, special = kit.np, kit.special
    named = {kind: getattr(np, kind.lower()) for kind in _FUNCTIONS}
    named |= {kind: getattr(np, f"arc{kind[1:]}") for kind in _INVERSES}
    named |= {"ComplexAbs": np.abs, "OnesLike": np.ones_like, "Rint": np.round}
    named |= {"Cholesky": np.linalg.cholesky, "MatrixDeterminant": np.linalg.det}
    named |= {kind: getattr(special, kind.lower()) for kind in _SPECIAL}
    named["Lgamma"] = special.gammaln
    named |= {f"Bessel{kind.upper()}": getattr(special, kind) for kind in ("i0", "i1")}
    named |= {f"Bessel{kind.upper()}e": getattr(special, f"{kind}e") for kind in ("i0", "i1")}
    return {
        **{kind: _of_one(function) for kind, function in named.items()},
        **{kind: functools.partial(formula, kit) for kind, formula in _FORMULAS.items()},
    }


def _of_one(function: Callable[[Any], Any]) -> Formula:
    """Returns a function whose signature Python can read: PyTorch's own functions have none."""
    return lambda x: function(x)


def segments(formulas: Mapping[str, Formula], kit: Kit) -> dict[str, Formula]:
    """Returns formulas by type for segments in order, from the formulas for segments in any order."""
    kinds = ("Max", "Mean", "Min", "Prod", "Sum")
    return {f"Segment{kind}": _in_order(formulas, kind, kit) for kind in kinds}


def _in_order(formulas: Mapping[str, Formula], kind: str, kit: Kit) -> Formula:
    joined = formulas[f"UnsortedSegment{'Sum' if kind == 'Mean' else kind}"]

    def formula(x: Any, segment_ids: list[int]) -> Any:
        ids = numpy.array(segment_ids, "int32")
        counts = numpy.bincount(ids).reshape(-1, *[1] * (x.ndim - 1))
        result = joined(x, kit.array(ids, x), len(counts))
        if kind == "Mean":
            return result / kit.cast(kit.array(numpy.maximum(counts, 1), x), x.dtype)
        # Segments without rows are zero, except for products.
        return result if kind == "Prod" else kit.np.where(kit.array(counts == 0, x), 0, result)

    return formula


# --- Numbers ------------------------------------------------------------------------------------------


def _product_unless_zero(function: Callable[[Kit, Any], Any]) -> Formula:
    """Returns the formula of `x * function(y)`, which is 0 where `x` is 0."""

    def formula(kit: Kit, x: Any, y: Any) -> Any:
        where, zero = kit.np.where, x == 0
        return where(zero, 0, x * function(kit, where(zero, 1, y)))

    return formula


def _quotient_unless_zero(kit: Kit, x: Any, y: Any) -> Any:
    where, zero = kit.np.where, y == 0
    return where(zero, 0, x / where(zero, 1, y))


def _with_slopes(
    function: Callable[[Kit], Any], usual: Callable[[Kit, Any], Any], sign: int
) -> Formula:
    """Returns the formula of a function whose derivative is infinite where `usual` does not hold.

    TensorFlow's gradient there is infinite, or NaN where it is multiplied with 0.
    """

    def formula(kit: Kit, x: Any) -> Any:
        if not kit.has_slope(x):
            return function(kit)(x)
        where, chosen = kit.np.where, usual(kit, x)
        return where(
            chosen, function(kit)(where(chosen, x, 1)), _steep(kit, function(kit), x, ~chosen, sign)
        )

    return formula


def _steep(kit: Kit, function: Formula, x: Any, chosen: Any, sign: int) -> Any:
    """Returns values of a function whose gradient is infinite at the chosen `x` from 0 on, and 0 below."""
    np = kit.np
    # Not constants, which XLA would multiply with each other first.
    large = np.where(chosen, np.finfo(x.dtype).max, np.ones_like(x))
    part = np.where(chosen & np.isfinite(x), x, 0)
    zero = (part - kit.stop(part)) * (sign * large) * large
    return function(kit.stop(x)) + zero * np.where(x < 0, 0, np.ones_like(x))


def _is_not_too_small(kit: Kit, x: Any) -> Any:
    return x > float(kit.np.finfo(x.dtype).max) ** (-2 / 3)  # Where the derivative is finite.


def _cumulative(name: str, first: int) -> Formula:
    """Returns the formula of running sums or products, the first of which may be `first`."""

    def formula(kit: Kit, x: Any, axis: int, *, exclusive: bool, reverse: bool) -> Any:
        np = kit.np
        x = np.moveaxis(x, axis, 0)
        x = np.flip(x, (0,)) if reverse else x
        y = kit.cast(getattr(np, name)(x, 0), x.dtype)
        if exclusive:
            y = np.concatenate([np.full_like(y[:1], first), y[:-1]], 0)
        return np.moveaxis(np.flip(y, (0,)) if reverse else y, 0, axis)

    return formula


def _tuple(value: int | list[int]) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _select(kit: Kit, condition: Any, x: Any, y: Any) -> Any:
    """Returns elements of `x` or `y`; a condition that is a vector chooses rows."""
    if condition.ndim == 1 and x.ndim > 1:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return kit.np.where(condition, x, y)


# --- Matrices -----------------------------------------------------------------------------------------


def turned(kit: Kit, x: Any, is_adjoint: bool = True) -> Any:
    """Returns matrices, or their adjoints: transposed, of conjugated elements."""
    return kit.np.conj(x.mT) if is_adjoint else x


def _matmul(kit: Kit, x: Any, y: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    return (x.mT if transpose_a else x) @ (y.mT if transpose_b else y)


def _inverse(kit: Kit, x: Any, *, adjoint: bool) -> Any:
    return kit.np.linalg.inv(turned(kit, x, adjoint))


def _solve(kit: Kit, x: Any, y: Any, *, adjoint: bool) -> Any:
    return kit.np.linalg.solve(turned(kit, x, adjoint), y)


def _qr(kit: Kit, x: Any, *, full_matrices: bool) -> list[Any]:
    return list(kit.np.linalg.qr(x, "complete" if full_matrices else "reduced"))


def _svd(kit: Kit, x: Any, *, compute_uv: bool, full_matrices: bool) -> list[Any]:
    if not compute_uv:
        empty = kit.zeros((0,), x)
        return [kit.np.linalg.svdvals(x), empty, empty]
    u, values, v = kit.np.linalg.svd(x, full_matrices)
    return [values, u, turned(kit, v)]


def _eigen(kit: Kit, x: Any, *, compute_v: bool) -> list[Any]:
    if not compute_v:
        return [kit.np.linalg.eigvalsh(x), kit.zeros((0,), x)]
    return list(kit.np.linalg.eigh(x))


def _real_fourier(kit: Kit, x: Any, shape: list[Any]) -> Any:
    return kit.np.fft.rfftn(x, shape, tuple(range(-len(shape), 0)))


def _inverse_real_fourier(kit: Kit, x: Any, shape: list[Any]) -> Any:
    return kit.np.fft.irfftn(x, shape, tuple(range(-len(shape), 0)))


# --- Networks -----------------------------------------------------------------------------------------


def _bias_add(kit: Kit, x: Any, bias: Any, *, data_format: str) -> Any:
    return x + (bias if data_format == "NHWC" else bias.reshape(-1, *[1] * (x.ndim - 2)))


def _selu(kit: Kit, x: Any) -> Any:
    low = SELU_SLOPE * kit.np.expm1(kit.np.where(x < 0, x, 0))
    return kit.np.where(x < 0, low, SELU * x)


def _cross_entropy(kit: Kit, logits: Any, labels: Any) -> list[Any]:
    """Returns the losses of rows, and their gradients for `logits`."""
    np = kit.np
    shape = np.broadcast_shapes(logits.shape, labels.shape)
    logits, labels = np.broadcast_to(logits, shape), np.broadcast_to(labels, shape)
    logs = kit.nn.log_softmax(logits, -1)
    # Zero times minus infinity counts as zero.
    loss = -np.sum(labels * np.where((labels == 0) & np.isinf(logs), 0, logs), -1)
    # TensorFlow's gradient is `softmax - labels` also where the labels do not sum to 1: zeros that have it.
    total = kit.special.logsumexp(logits, -1)
    total = np.where(np.isfinite(total), total, 0)
    loss = loss + (1 - kit.stop(np.sum(labels, -1))) * (total - kit.stop(total))
    return [loss, kit.stop(np.exp(logs) - labels)]


def _batch_normalization(
    kit: Kit,
    x: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> list[Any]:
    """Returns normalized images, new moving moments, and the moments, which TensorFlow's gradient needs."""
    np, first = kit.np, data_format.startswith("NC")
    wide = kit.cast(np.moveaxis(x, 1, -1) if first else x, gamma.dtype)
    moments = [mean, variance]
    if is_training:
        axes = tuple(range(wide.ndim - 1))
        count = math.prod(wide.shape[:-1])
        mean = np.mean(wide, axes)
        variance = np.mean(np.square(wide - mean), axes)
        # TensorFlow returns Bessel's correction for the moving variance, and normalizes without it.
        unbiased = variance * (count / max(count - 1, 1))
        if exponential_avg_factor == 1:
            moments = [mean, unbiased]
        else:
            moments = [
                old + (new - old) * exponential_avg_factor
                for old, new in zip(moments, (mean, unbiased), strict=True)
            ]
    y = kit.cast((wide - mean) * (kit.rsqrt(variance + epsilon) * gamma) + beta, x.dtype)
    kept = [kit.stop(it) for it in (*moments, mean, variance)]
    return [np.moveaxis(y, -1, 1) if first else y, *kept, kit.zeros((0,), gamma)]


# --- Numbers that name places ---------------------------------------------------------------------------


def _one_hot(kit: Kit, indices: Any, depth: Any, on: Any, off: Any, *, axis: int) -> Any:
    hot = kit.np.where(indices[..., None] == kit.arange(depth, indices), on, off)
    return kit.np.moveaxis(hot, -1, axis if axis >= 0 else indices.ndim)


def _in_top(kit: Kit, x: Any, y: Any, k: int) -> Any:
    inside = (y >= 0) & (y < x.shape[-1])
    own = x[kit.arange(x.shape[0], x), kit.np.where(inside, y, 0)]
    larger = kit.np.sum(x > own[:, None], -1)
    return inside & kit.np.all(kit.np.isfinite(x), -1) & (larger < k)


def _band(kit: Kit, x: Any, lower: Any, upper: Any) -> Any:
    distance = kit.arange(x.shape[-1], x) - kit.arange(x.shape[-2], x)[:, None]
    outside = (distance < -lower) & (lower >= 0) | (distance > upper) & (upper >= 0)
    return kit.cast(kit.np.where(outside, 0, x), x.dtype)


# --- Random numbers -----------------------------------------------------------------------------------


def _uniform(kit: Kit, shape: Any, key: Any, counter: Any, alg: Any, *, dtype: str) -> Any:
    return kit.philox.unit(math.prod(shape), key, counter, dtype).reshape(shape)


def _normal(kit: Kit, shape: Any, key: Any, counter: Any, alg: Any, *, dtype: str) -> Any:
    """Returns floats with mean 0 and deviation 1, by Box and Muller's formula."""
    np, count = kit.np, math.prod(shape)
    drawn = "float64" if dtype == "float64" else "float32"
    pairs = kit.philox.unit((count + 1) // 2 * 2, key, counter, drawn).reshape(-1, 2)
    radius = np.sqrt(-2.0 * np.log(np.clip(pairs[:, 0], 1e-7, None)))
    angle = 2.0 * math.pi * pairs[:, 1]
    both = np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1)
    return kit.cast(both.reshape(-1)[:count].reshape(shape), dtype)


_RECIPROCAL = _with_slopes(lambda kit: kit.np.reciprocal, lambda kit, x: x != 0, -1)
# Arguments `a` and `b` may be Python numbers: see `interpreter.NUMBERS`.
_FORMULAS: dict[str, Formula] = {
    "AddN": lambda kit, values: functools.reduce(lambda x, y: x + y, values),
    "Atan2": lambda kit, y, x: kit.np.arctan2(y, x),
    "BatchToSpaceND": blocks.batch_to_space,
    "BiasAdd": _bias_add,
    "BitwiseAnd": lambda kit, x, y: x & y,
    "BitwiseOr": lambda kit, x, y: x | y,
    "BitwiseXor": lambda kit, x, y: x ^ y,
    "BroadcastTo": lambda kit, x, shape: kit.np.broadcast_to(x, shape),
    "ConcatV2": lambda kit, values, axis: kit.np.concatenate(values, axis),
    "Cumprod": _cumulative("cumprod", 1),
    "Cumsum": _cumulative("cumsum", 0),
    "Cross": lambda kit, x, y: kit.np.linalg.cross(x, y),
    "DepthToSpace": blocks.depth_to_space,
    "DivNoNan": _quotient_unless_zero,
    "Elu": lambda kit, x: kit.nn.elu(x),
    "EnsureShape": lambda kit, x: x,
    "Equal": lambda kit, a, b: a == b,
    "FFT": lambda kit, x: kit.np.fft.fft(x),
    "FFT2D": lambda kit, x: kit.np.fft.fft2(x),
    "FFT3D": lambda kit, x: kit.np.fft.fftn(x, None, (-3, -2, -1)),
    "FloorDiv": lambda kit, x, b: kit.np.floor_divide(x, b),
    "FloorMod": lambda kit, x, b: kit.np.remainder(x, b),
    "FusedBatchNormV3": _batch_normalization,
    "Greater": lambda kit, a, b: a > b,
    "GreaterEqual": lambda kit, a, b: a >= b,
    "HSVToRGB": images.hsv_to_rgb,
    "IFFT": lambda kit, x: kit.np.fft.ifft(x),
    "IFFT2D": lambda kit, x: kit.np.fft.ifft2(x),
    "IFFT3D": lambda kit, x: kit.np.fft.ifftn(x, None, (-3, -2, -1)),
    "IRFFT": _inverse_real_fourier,
    "IRFFT2D": _inverse_real_fourier,
    "Identity": lambda kit, x: x,
    "IdentityN": lambda kit, values: values,
    "ImageProjectiveTransformV3": images.projected,
    "InTopKV2": _in_top,
    "Inv": _RECIPROCAL,
    "Invert": lambda kit, x: ~x,
    "InvertPermutation": lambda kit, x: kit.cast(kit.np.argsort(x), x.dtype),
    "L2Loss": lambda kit, x: kit.np.sum(kit.np.square(x)) / 2,
    "Less": lambda kit, a, b: a < b,
    "LessEqual": lambda kit, a, b: a <= b,
    "LogMatrixDeterminant": lambda kit, x: list(kit.np.linalg.slogdet(x)),
    "LogSoftmax": lambda kit, x: kit.nn.log_softmax(x, -1),
    "LogicalAnd": lambda kit, x, y: x & y,
    "LogicalNot": lambda kit, x: ~x,
    "LogicalOr": lambda kit, x, y: x | y,
    "MatMul": _matmul,
    "MatrixBandPart": _band,
    "MatrixDiagPartV3": diagonals.diagonal_part,
    "MatrixDiagV3": diagonals.diagonal,
    "MatrixInverse": _inverse,
    "MatrixSetDiagV3": diagonals.with_diagonal,
    "MatrixSolve": _solve,
    "Mod": lambda kit, x, y: kit.np.fmod(x, y),
    "MulNoNan": lambda kit, x, y: kit.np.where(y == 0, 0, x * y),
    "Neg": lambda kit, x: -x,
    "NextAfter": lambda kit, x, y: kit.np.nextafter(x, y),
    "NotEqual": lambda kit, a, b: a != b,
    "OneHot": _one_hot,
    "Pack": lambda kit, values, *, axis: kit.np.stack(values, axis),
    "Qr": _qr,
    "RFFT": _real_fourier,
    "RFFT2D": _real_fourier,
    "RGBToHSV": images.rgb_to_hsv,
    "RealDiv": lambda kit, a, b: a / b,
    "Reciprocal": _RECIPROCAL,
    "Relu": lambda kit, x: kit.nn.relu(x),
    "ResizeBicubic": images.resized_bicubic,
    "ResizeBilinear": images.resized_bilinear,
    "ResizeNearestNeighbor": images.resized_nearest,
    "ReverseV2": lambda kit, x, axis: kit.np.flip(x, tuple(axis)),
    "Roll": lambda kit, x, size, axis: kit.np.roll(x, _tuple(size), _tuple(axis)),
    "Rsqrt": _with_slopes(lambda kit: kit.rsqrt, _is_not_too_small, -1),
    "ScaleAndTranslate": images.spanned,
    "Select": _select,
    "SelectV2": lambda kit, condition, x, y: kit.np.where(condition, x, y),
    "SelfAdjointEigV2": _eigen,
    "Selu": _selu,
    "Sigmoid": lambda kit, x: kit.nn.sigmoid(x),
    "Softmax": lambda kit, x: kit.nn.softmax(x, -1),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SpaceToBatchND": blocks.space_to_batch,
    "SpaceToDepth": blocks.space_to_depth,
    "Sqrt": _with_slopes(lambda kit: kit.np.sqrt, lambda kit, x: x > 0, 1),
    "SquaredDifference": lambda kit, a, b: kit.np.square(a - b),
    "StatelessRandomGetKeyCounter": lambda kit, seed: list(kit.philox.key_and_counter(seed)),
    "StatelessRandomNormalV2": _normal,
    "StatelessRandomUniformV2": _uniform,
    "StopGradient": lambda kit, x: kit.stop(x),
    "Svd": _svd,
    "Tile": lambda kit, x, multiples: kit.np.tile(x, multiples),
    "TruncateMod": lambda kit, x, y: kit.np.fmod(x, y),
    "Xdivy": _product_unless_zero(lambda kit, y: 1 / y),
    "Xlog1py": _product_unless_zero(lambda kit, y: kit.np.log1p(y)),
    "Xlogy": _product_unless_zero(lambda kit, y: kit.np.log(y)),
}
