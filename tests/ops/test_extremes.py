"""Ops at infinities, NaN, zeros and in narrow dtypes, in a direct call, in a graph and in XLA."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tfkit import losses, ops

INF, NAN = np.inf, np.nan
DTYPES = ["float16", "bfloat16", "float32", "float64"]


def as_array(x):
    return (tf.cast(x, "float64") if x.dtype.is_floating else x).numpy()


def in_each_way(function, *arguments):
    """Yields the results of a direct call, of a graph and of XLA."""
    for jit_compile in (None, False, True):
        call = function
        if jit_compile is not None:
            call = tf.function(function, autograph=False, jit_compile=jit_compile)
        arguments = tf.nest.map_structure(tf.convert_to_tensor, arguments)
        yield tf.nest.map_structure(as_array, call(*arguments))


def all_in_each_way(functions, arguments):
    """Returns lists of the results of functions by name: one program for all, which compiles sooner."""

    def together(arguments):
        return {name: function(*arguments[name]) for name, function in functions.items()}

    found = list(in_each_way(together, arguments))
    return {name: [results[name] for results in found] for name in functions}


def gradient_of(function):
    """Returns the function and its gradient by its first argument, from ones and from zeros above."""

    def both(x, *others):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x, *others)
        above = tf.ones_like(y), tf.zeros_like(y)
        return y, *(tape.gradient(y, x, output_gradients=dy) for dy in above)

    return both


CALLS = {
    "hypot": (
        ops.hypot,
        ([INF, -INF, INF, NAN, 3.0, 3e38, 0.0], [INF, 1.0, NAN, 1.0, 4.0, 1e38, 0.0]),
        [INF, INF, INF, NAN, 5.0, np.hypot(3e38, 1e38), 0.0],
    ),
    "nancumsum": (ops.nancumsum, ([1.0, NAN, INF, 2.0, -INF],), [1, 1, INF, INF, NAN]),
    "nancumprod": (ops.nancumprod, ([2.0, NAN, -INF, 0.0],), [2, 2, -INF, NAN]),
    "maximum": (ops.maximum, ([0.0, NAN, 1.0], [NAN, 0.0, 2.0]), [NAN, NAN, 2]),
    "minimum": (ops.minimum, ([0.0, NAN, 1.0], [NAN, 0.0, 2.0]), [NAN, NAN, 1]),
    "max": (lambda x: ops.max(x, -1), ([[0.0, 1.0, NAN], [NAN, 0.0, 2.0]],), [NAN, NAN]),
    "min": (lambda x: ops.min(x, -1), ([[0.0, 1.0, NAN], [NAN, 0.0, 2.0]],), [NAN, NAN]),
    "ptp": (lambda x: ops.ptp(x, -1), ([[0.0, 1.0, NAN]],), [NAN]),
    "norm inf": (lambda x: ops.norm(x, INF), ([0.0, 1.0, NAN],), NAN),
    "argmax": (lambda x: ops.argmax(x, -1), ([[0.0, NAN, 9.0], [-INF, -3.4e38, -INF]],), [1, 1]),
    "argmin": (lambda x: ops.argmin(x, -1), ([[0.0, NAN, 9.0], [INF, 3.4e38, INF]],), [1, 1]),
    "sort": (ops.sort, ([3.0, NAN, -INF, 1.0, NAN, INF],), [-INF, 1, 3, INF, NAN, NAN]),
    "sort along an axis": (
        lambda x: ops.sort(x, 0),
        ([[NAN, 1.0], [2.0, 0.0], [1.0, NAN]],),
        [[1, 0], [2, 1], [NAN, NAN]],
    ),
    "argsort": (ops.argsort, ([3.0, NAN, -INF, 1.0, 3.0],), [2, 3, 0, 4, 1]),
    "top_k": (lambda x: tuple(ops.top_k(x, 2)), ([3.0, NAN, 5.0],), ([NAN, 5], [1, 2])),
    "digitize": (lambda x: ops.digitize(x, [0.0, 2.0]), ([NAN, 1.0],), [2, 1]),
    "searchsorted": (lambda x: ops.searchsorted([0.0, 2.0], x), ([NAN, 1.0],), [2, 1]),
    "sparsemax": (
        ops.sparsemax,
        ([[0.0, NAN, 1.0], [0.0, -INF, 0.0]],),
        [[NAN] * 3, [0.5, 0, 0.5]],
    ),
    "heaviside": (ops.heaviside, ([NAN, 0.0], [0.5, 0.5]), [NAN, 0.5]),
    "angle": (ops.angle, ([NAN, -1.0],), [NAN, np.pi]),
    "threshold": (lambda x: ops.threshold(x, 0.5, 7.0), ([NAN, 0.0, 1.0],), [NAN, 7, 1]),
    "hard_shrink": (ops.hard_shrink, ([NAN, 0.5, 1.0],), [NAN, 0, 1]),
    "soft_shrink": (ops.soft_shrink, ([NAN, 0.5, 1.0],), [NAN, 0, 0.5]),
    "softsign": (ops.softsign, ([INF, -INF, 1.0],), [1, -1, 0.5]),
    "sinc": (ops.sinc, ([0.0, INF, 3e38, 0.5],), [1, 0, 0, 2 / np.pi]),
    "squareplus": (ops.squareplus, ([1e30, -1e30, 0.0, INF, NAN],), [1e30, 1e-30, 1, INF, NAN]),
    "logaddexp": (ops.logaddexp, ([INF, -INF, 0.0], [INF, -INF, 0.0]), [INF, -INF, np.log(2)]),
    "ldexp": (
        lambda x: ops.ldexp(x, [200, 200, -200, 1]),
        ([1e-30, 0.0, 1e30, INF],),
        [np.ldexp(1e-30, 200), 0, np.ldexp(1e30, -200), INF],
    ),
    "fmod": (ops.fmod, ([-7, 7, -(2**31)], [3, -3, -1]), [-1, 1, 0]),
    "round of integers": (
        lambda x: ops.round(x, -1),
        ([123456789, 15, 25, -15],),
        [123456790, 20, 20, -20],
    ),
    "histogram": (
        lambda x: ops.histogram(x, 3),
        ([1.0, 2.0, 2.0, 5.0],),
        np.histogram([1, 2, 2, 5], 3),
    ),
    "histogram of integers": (
        lambda x: ops.histogram(x, 3),
        ([1, 2, 2, 5],),
        np.histogram([1, 2, 2, 5], 3),
    ),
    "histogram of one value": (
        lambda x: ops.histogram(x, 4),
        ([7.0, 7.0],),
        np.histogram([7, 7], 4),
    ),
    "histogram of nothing": (
        lambda x: ops.histogram(x[:0], 2),
        ([7.0, 7.0],),
        np.histogram([], 2),
    ),
    "histogram of NaN": (lambda x: ops.histogram(x, 2), ([1.0, NAN],), ([0, 0], [NAN] * 3)),
    "histogram of NaN in a range": (
        lambda x: ops.histogram(x, 2, (0, 2)),
        ([0.5, NAN, 3.0],),
        ([1, 0], [0, 1, 2]),
    ),
    "quantile of two axes": (
        lambda x: ops.quantile(x, [[0.0, 0.5], [1.0, 0.25]], axis=0),
        ([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],),
        np.quantile([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[0.0, 0.5], [1.0, 0.25]], axis=0),
    ),
    "quantile of NaN shares": (
        lambda x: ops.quantile([1.0, 3.0], x),
        ([NAN, 0.5],),
        [NAN, 2],
    ),
    "in_top_k of equal scores": (
        lambda x: ops.in_top_k([1, 2], x, 1),
        ([[1.0, 1.0, 1.0], [1.0, 2.0, NAN]],),
        [True, False],
    ),
    "in_top_k of sequences": (
        lambda x: ops.in_top_k([[0, 1], [2, 9]], x, 1),
        ([[[9.0, 1.0, 2.0], [5.0, 1.0, 2.0]], [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]],),
        [[True, False], [True, False]],
    ),
}


def in_32_bits(values):
    array = np.array(values)
    return array.astype("float32" if array.dtype.kind == "f" else "int32")


@pytest.fixture(scope="module")
def values():
    arguments = {name: [in_32_bits(a) for a in case[1]] for name, case in CALLS.items()}
    return all_in_each_way({name: case[0] for name, case in CALLS.items()}, arguments)


@pytest.mark.parametrize("name", CALLS)
def test_values(name, values):
    expected = CALLS[name][2]
    for result in values[name]:
        leaves = result if isinstance(expected, tuple) else (result,)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for leaf, each in zip(leaves, wanted, strict=True):
            np.testing.assert_allclose(leaf, np.array(each), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_normalize_at_zero(dtype):
    x = np.array([[0.0, 0.0], [3.0, 4.0], [300.0, 0.0]])
    orders = {o: gradient_of(lambda x, o=o: ops.normalize(x, order=o)) for o in (1, 2, 3, 4)}
    found = all_in_each_way(orders, {order: [tf.cast(x, dtype)] for order in orders})
    for order, results in found.items():
        length = (x**order).sum(-1, keepdims=True) ** (1 / order)
        for y, slope, no_slope in results:
            np.testing.assert_allclose(y, x / np.maximum(length, 1e-7), rtol=1e-2)
            assert np.isfinite(slope).all()
            np.testing.assert_array_equal(no_slope, 0)


def test_normalize_takes_all_axes_as_one_vector():
    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(ops.normalize(x, None, order=1), x / 6)
    np.testing.assert_allclose(ops.normalize(x, (0, 1), order=3), x / 6 ** (1 / 3), rtol=1e-6)


SLOPES = {
    "norm at zero": (ops.norm, [0.0, 0.0], [0, 0]),
    "norm 3 at zero": (lambda x: ops.norm(x, 3), [0.0, 0.0], [0, 0]),
    "norm -1 at zero": (lambda x: ops.norm(x, -1), [0.0, 1.0], [0, 0]),
    "std of equal numbers": (ops.std, [2.0, 2.0], [0, 0]),
    "nanstd of equal numbers": (ops.nanstd, [2.0, 2.0, NAN], [0, 0, 0]),
    "cdist of equal rows": (lambda x: ops.cdist(x[None], x[None]), [1.0, 2.0], [0, 0]),
    "hypot": (lambda x: ops.hypot(x, [0.0, 2.0, -3.0]), [0.0, 2.0, 4.0], [0, 0.5**0.5, 0.8]),
    "logaddexp": (lambda x: ops.logaddexp(x, [0.0, 1.0]), [0.0, INF], [0.5, 1]),
    "logaddexp2": (lambda x: ops.logaddexp2(x, [0.0]), [0.0], [0.5]),
    "sinc": (ops.sinc, [0.0, INF], [0, 0]),
    "celu": (ops.celu, [0.0, -1.0], [1, np.exp(-1)]),
    "selu": (ops.selu, [0.0, 1.0], [1.0507009, 1.0507009]),
    "power 0": (lambda x: ops.power(x, [0.0, 2.0]), [0.0, 0.0], [0, 0]),
    "fmod": (lambda x: ops.fmod(x, 3.0), [0.0, -7.0], [1, 1]),
    "ldexp": (lambda x: ops.ldexp(x, 3), [0.0, 1.0], [8, 8]),
    "sparse_plus": (ops.sparse_plus, [-3e38, 0.0, 3e38], [0, 0.5, 1]),
    "softsign": (ops.softsign, [INF, 0.0], [0, 1]),
    "squareplus": (ops.squareplus, [-3e38, 0.0, 3e38], [0, 0.5, 1]),
    "cumprod with a zero": (lambda x: ops.cumprod(x), [2.0, 0.0, 3.0], [1, 8, 0]),
    "cumprod with two zeros": (lambda x: ops.cumprod(x), [2.0, 0.0, 3.0, 0.0], [1, 8, 0, 0]),
}


@pytest.fixture(scope="module")
def slopes():
    arguments = {name: [in_32_bits(case[1])] for name, case in SLOPES.items()}
    return all_in_each_way({name: gradient_of(case[0]) for name, case in SLOPES.items()}, arguments)


@pytest.mark.parametrize("name", SLOPES)
def test_gradients(name, slopes):
    for _, slope, no_slope in slopes[name]:
        np.testing.assert_allclose(slope, SLOPES[name][2], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(no_slope, 0)


def test_circle_of_a_row_of_zeros_has_a_finite_gradient():
    def loss(x):
        return losses.Circle()(tf.constant([0, 0, 1, 1]), x)

    x = np.array([[0.0, 0.0], [1.0, 0.5], [0.2, 1.0], [0.1, 0.9]], "float32")
    for value, slope, no_slope in in_each_way(gradient_of(loss), x):
        assert np.isfinite(value)
        assert np.isfinite(slope).all()
        np.testing.assert_array_equal(no_slope, 0)


def test_half_precision_does_not_overflow_in_between():
    x = tf.constant([300.0, 300.0, 0.0], "float16")
    for name, expected in (("norm", 424.3), ("std", 141.4), ("nanstd", 141.4), ("nanmean", 200)):
        np.testing.assert_allclose(getattr(ops, name)(x), expected, rtol=2e-3)
    np.testing.assert_allclose(ops.squareplus(x), [300, 300, 1], rtol=2e-3)
    np.testing.assert_allclose(ops.round(x + 0.5, 2), [300.5, 300.5, 0.5])
    for _, slope, _ in in_each_way(gradient_of(ops.gelu), x):
        np.testing.assert_allclose(slope, [1, 1, 0.5])
    np.testing.assert_allclose(ops.psnr(x, x + 0.5, 255.0), 54.15, rtol=2e-3)
    np.testing.assert_allclose(losses.cosine_similarity(x, x + 100), -0.9847, rtol=2e-3)
    similarity = gradient_of(lambda x: losses.cosine_similarity(x, tf.ones_like(x)))
    for _, slope, no_slope in in_each_way(similarity, 0 * x):
        np.testing.assert_array_equal(slope, -INF)  # 6e6, which float16 does not have.
        np.testing.assert_array_equal(no_slope, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_colours_of_half_precision_have_the_slopes_of_float32(dtype):
    colours = tf.cast([[[0.3298, 0.7886, 0.3032], [0.5093, 0.5107, 0.753]]], dtype)
    expected = gradient_of(ops.image.rgb_to_hsv)(tf.cast(colours, "float32"))
    for _, slope, no_slope in in_each_way(gradient_of(ops.image.rgb_to_hsv), colours):
        np.testing.assert_allclose(slope, expected[1], rtol=2e-2, atol=2e-2)
        np.testing.assert_array_equal(no_slope, 0)


def test_float64_has_no_constants_of_float32():
    x = tf.constant([-3.0, 0.5, INF], "float64")
    np.testing.assert_allclose(ops.erf(x), [math.erf(-3), math.erf(0.5), 1], rtol=1e-9)
    np.testing.assert_allclose(ops.leaky_relu(x), [-0.6, 0.5, INF], rtol=1e-15)
    expected = 0.5 * 0.5 * (1 + math.erf(0.5**1.5))
    np.testing.assert_allclose(ops.gelu(x, approximate=False)[1], expected, rtol=1e-12)


def test_counts_of_a_histogram_do_not_wrap_around():
    counts, edges = ops.histogram(np.zeros(300, "uint8"), 2)
    np.testing.assert_array_equal(counts, [0, 300])
    np.testing.assert_array_equal(edges, [-0.5, 0, 0.5])
    counts, _ = ops.histogram(tf.zeros(3000, "float16"), 2)
    np.testing.assert_array_equal(counts, [0, 3000])
