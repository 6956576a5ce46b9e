"""Compares values and gradients of operations at special values: eager, in a graph, in a program, in XLA.

    python tools/other_values.py [DTYPE ...]

prints a line for each operation whose values or gradients, from an upstream gradient of 0 or 1, are other
than TensorFlow's kernels give eagerly, in a program of tfkit without XLA or with it, or in TensorFlow's own
XLA. Default: float32. It takes a minute or two for each dtype.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TFKIT_CACHE", "off")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import tensorflow as tf

from tfkit.src.training.step import traced

SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2, -2, 6, 100, -100]
ROLES = ("value", "gradient", "second gradient")
_MATH = """
    abs acos acosh asin asinh atan atanh cos cosh digamma erf erfc erfinv exp expm1 lgamma log log1p
    log_sigmoid ndtri negative reciprocal reciprocal_no_nan rsqrt sigmoid sign sin sinh softplus softsign sqrt
    square tan tanh bessel_i0e bessel_i1e cumsum cumprod cumulative_logsumexp l2_normalize
"""
_NN = "relu relu6 elu selu leaky_relu gelu silu softmax log_softmax"
_OF_TWO = """
    add subtract multiply divide divide_no_nan multiply_no_nan maximum minimum floordiv floormod atan2
    squared_difference xlogy xdivy xlog1py pow igamma igammac zeta polygamma
"""
_OVER_AXES = "sum mean prod max min logsumexp euclidean_norm std variance"


def of_one() -> dict:
    """Returns functions of a tensor, by name."""
    found = {name: getattr(tf.math, name) for name in _MATH.split()}
    found |= {name: getattr(tf.nn, name) for name in _NN.split()}
    for name in _OVER_AXES.split():
        reduce = getattr(tf.math, f"reduce_{name}")
        found[name] = lambda x, reduce=reduce: reduce(tf.stack([x, tf.zeros_like(x)]), 0)
    for power in (-1, 0, 0.5, 2, 3):
        found[f"power {power}"] = lambda x, power=power: tf.pow(x, tf.cast(power, x.dtype))
    found["clip_by_value"] = lambda x: tf.clip_by_value(x, -1, 1)
    found["mask"] = lambda x: tf.cast(x > 3, x.dtype) * x
    found["norm"] = lambda x: tf.norm(tf.stack([x, tf.zeros_like(x)]), axis=0)
    return found


def of_two() -> dict:
    """Returns functions of two tensors, by name."""
    return {name: getattr(tf.math, name) for name in _OF_TWO.split()}


def with_gradients(function):
    """Returns a function that returns the values of `function`, and its gradients from one from above."""

    def all_of(upstream, *tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            values = function(*tensors)
        gradients = tape.gradient(values, tensors, upstream * tf.ones_like(values))
        return [values, *(it for it in gradients if it is not None)]

    return all_of


def compared(name, function, tensors):
    """Yields lines on the differences of one operation."""
    dtype = tensors[0].dtype
    body = with_gradients(function)
    specs = [tf.TensorSpec([], dtype), *(tf.TensorSpec([None], dtype) for _ in tensors)]
    ways = {"XLA alone": tf.function(body, jit_compile=True, autograph=False)}
    for way, jit_compile in (("graph", False), ("XLA", True)):
        ways[way] = traced(body, specs, jit_compile=jit_compile)
    for upstream in (0.0, 1.0):
        arguments = [tf.constant(upstream, dtype), *tensors]
        expected = body(*arguments)
        for way, run in ways.items():
            try:
                given = run(*arguments)
            except tf.errors.OpError as error:
                yield f"{dtype.name} {name}: {way} refuses it: {str(error).splitlines()[0][:80]}"
                continue
            for role, mine, theirs in zip(ROLES, given, expected, strict=False):
                if places := different(mine, theirs):
                    x = [it.numpy()[places[0]] for it in tensors]
                    values = mine.numpy()[places[0]], theirs.numpy()[places[0]]
                    yield (
                        f"{dtype.name} {name}: {way}, {role} from {upstream:g}, {len(places)} values; "
                        f"at {', '.join(map(str, x))}: {values[0]} for {values[1]}"
                    )


def different(mine, theirs):
    """Returns the indices at which values differ by more than rounding."""
    rtol = {tf.float64: 1e-7, tf.float32: 1e-3}.get(mine.dtype, 3e-2)
    mine, theirs = (tf.cast(it, "float64").numpy() for it in (mine, theirs))
    return np.flatnonzero(~np.isclose(mine, theirs, rtol, 1e-6, equal_nan=True)).tolist()


def main() -> int:
    """Prints the table, and returns how many lines are of tfkit's programs."""
    num_found = 0
    for dtype in sys.argv[1:] or ["float32"]:
        x = tf.constant(SPECIAL, dtype)
        pair = [tf.reshape(it, [-1]) for it in tf.meshgrid(x, x)]
        cases = [(name, function, [x]) for name, function in of_one().items()]
        cases += [(name, function, pair) for name, function in of_two().items()]
        for case in cases:
            for line in compared(*case):
                num_found += "XLA alone" not in line
                print(line, flush=True)
    return min(num_found, 100)


if __name__ == "__main__":
    sys.exit(main())
