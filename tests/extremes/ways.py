"""Runs cases with extreme values eagerly, in a graph and in XLA, and compares them with their truth."""

import dataclasses
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.extremes.table import DTYPES, KINDS, Case, limits, operands

WAYS = ("eager", "graph", "xla")
# Errors relative to the true value: of an elementary function, and of a slope that is measured.
ROUNDING = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-9}
SLOPE = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 1e-3, "float64": 1e-3}


@dataclasses.dataclass(frozen=True)
class Finding:
    """A difference: what was computed how, of which values, and what was expected.

    `what` is `"value"`, `"gradient"` (from ones above) or `"no gradient"` (from zeros above).
    """

    name: str
    kind: str
    dtype: str
    what: str
    way: str
    values: tuple[float, ...]
    got: Any
    expected: Any


def _with_gradients(case: Case, tensors: Any) -> dict[str, Any]:
    """Returns the result of a case, and its gradients under ones and under zeros from above."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(tensors)
        result = tf.convert_to_tensor(case.call(*tensors))
    found = {"value": result}
    if result.dtype.is_floating:
        for what, dy in (
            ("gradient", tf.ones_like(result)),
            ("no gradient", tf.zeros_like(result)),
        ):
            gradients = tape.gradient(result, tensors, dy, unconnected_gradients="zero")
            found |= {f"{what} {i}": g for i, g in enumerate(gradients)}
    return found


def _as_arrays(found: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        what: (tf.cast(x, "float64") if x.dtype.is_floating else x).numpy()
        for what, x in found.items()
    }


def _together(
    cases: list[Case], tensors: Any, way: str, errors: dict[tuple[str, str], str]
) -> dict[str, Any]:
    """Returns the results of one program of all cases; of two with half of them each where it fails."""

    def body(*tensors: Any) -> Any:
        return {case.name: _with_gradients(case, list(tensors)) for case in cases}

    try:
        return tf.function(body, autograph=False, jit_compile=way == "xla")(*tensors)
    except Exception as error:
        if len(cases) == 1:
            errors[cases[0].name, way] = f"{type(error).__name__}: {str(error)[:160]}"
            return {}
    half = len(cases) // 2
    first = _together(cases[:half], tensors, way, errors)
    return {**first, **_together(cases[half:], tensors, way, errors)}


def run(
    cases: list[Case], arrays: list[np.ndarray], dtype: str, ways: Any = WAYS
) -> tuple[dict[str, dict[str, dict[str, np.ndarray]]], dict[tuple[str, str], str]]:
    """Returns results by way, case and quantity, and the errors of cases that TensorFlow refuses."""
    tensors = [tf.constant(array.astype(DTYPES[dtype])) for array in arrays]
    errors: dict[tuple[str, str], str] = {}
    found: dict[str, Any] = {"eager": {}}
    for case in cases:
        try:
            found["eager"][case.name] = _as_arrays(_with_gradients(case, tensors))
        except Exception as error:
            errors[case.name, "eager"] = f"{type(error).__name__}: {str(error)[:160]}"
    todo = [case for case in cases if (case.name, "eager") not in errors]

    def body(*tensors: Any) -> Any:
        return {case.name: _with_gradients(case, list(tensors)) for case in todo}

    for way in ways:
        if way in ("graph", "xla"):
            results = _together(todo, tensors, way, errors)
        elif way == "served":
            module = tf.Module()
            specs = [tf.TensorSpec(x.shape, x.dtype) for x in tensors]
            flat = tf.function(
                lambda *x: {str(i): y for i, y in enumerate(tf.nest.flatten(body(*x)))},
                autograph=False,
                input_signature=specs,
            )
            with tempfile.TemporaryDirectory() as folder:
                tf.saved_model.save(module, folder, signatures={"serving_default": flat})
                served = tf.saved_model.load(folder).signatures["serving_default"]
                inputs = zip(served.structured_input_signature[1], tensors, strict=True)
                leaves = served(**dict(inputs))
            results = tf.nest.pack_sequence_as(
                {name: dict.fromkeys(x) for name, x in found["eager"].items()},
                [leaves[str(i)] for i in range(len(leaves))],
            )
        else:
            continue
        found[way] = {name: _as_arrays(x) for name, x in results.items()}
    return found, errors


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Returns values of float64 as they are in a dtype."""
    if values.dtype.kind != "f":
        return values
    with np.errstate(all="ignore"):
        return values.astype(DTYPES[dtype]).astype("float64")


def differs(
    got: np.ndarray, expected: np.ndarray, dtype: str, rtol: float, size: Any = 0.0
) -> np.ndarray:
    """Returns where two arrays differ by more than rounding.

    A number that overflows may be the largest one or infinity; numbers below the smallest normal one
    are nothing: TensorFlow's threads and XLA replace them by 0.
    """
    if got.dtype.kind != "f" or expected.dtype.kind != "f":
        return got != expected
    largest, tiny, _ = limits(dtype)
    with np.errstate(all="ignore"):
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        near = np.abs(got - expected) <= rtol * np.maximum(np.abs(expected), size) + 2 * tiny
        over = np.minimum(np.abs(got), np.abs(expected)) > largest * (1 - 2 * rtol)
        over &= np.sign(got) == np.sign(expected)
    return ~(same | near | over)


def truths(case: Case, arrays: list[np.ndarray], dtype: str) -> list[np.ndarray]:
    """Returns the true values: of the values as they are, and with those below the normal ones as 0."""
    tiny = limits(dtype)[1]
    flushed = [np.where(np.abs(a) < tiny, np.copysign(0.0, a), a) for a in arrays]
    with np.errstate(all="ignore"):
        return [rounded(np.asarray(case.truth(*given)), dtype) for given in (arrays, flushed)]


def slopes(case: Case, arrays: list[np.ndarray], index: int, dtype: str) -> list[np.ndarray]:
    """Returns slopes of the truth to the left and right of each value, or of its limit at infinity."""
    largest = limits(dtype)[0]
    found = []
    x = arrays[index]
    with np.errstate(all="ignore"):
        at = np.where(np.isinf(x), np.copysign(1e100, x), x)
        step = np.where(np.isinf(x), 1e99, np.where(at == 0, 1e-9, np.abs(at) * 1e-6))
        step = np.where(np.abs(at) >= 1e300, np.abs(at) * 1e-6, step)
        for sign in (-1.0, 1.0):
            h = np.where(np.isinf(x), -np.sign(at), sign) * step
            h = np.where(np.isfinite(at + h), h, -h)
            given = [a if i != index else at for i, a in enumerate(arrays)]
            moved = [a if i != index else at + h for i, a in enumerate(arrays)]
            slope = (case.truth(*moved) - case.truth(*given)) / ((at + h) - at)
            found.append(np.where(np.abs(slope) > largest, np.nan, slope))
    return found


def check(kind: str, dtype: str, names: Any = None, ways: Any = WAYS) -> Iterator[Finding | str]:
    """Yields the findings of all cases of a kind in a dtype, and sentences about refusals."""
    arrays = operands(kind, dtype)
    arrays = [rounded(a, dtype) for a in arrays]
    cases = [c for c in KINDS[kind](dtype) if names is None or c.name in names]
    found, errors = run(cases, arrays, dtype, ways)
    for (name, way), error in errors.items():
        yield f"refused: {name} of {dtype}, {way}: {error}"
    for case in cases:
        if (case.name, "eager") in errors:
            continue
        expected: dict[str, list[np.ndarray]] = {}
        if case.truth is not None:
            expected["value"] = truths(case, arrays, dtype)
            if kind != "rows" and "gradient 0" in found["eager"][case.name]:
                for index in range(len(arrays)):
                    expected[f"gradient {index}"] = slopes(case, arrays, index, dtype)
        eager = found["eager"][case.name]
        for what, reference in eager.items():
            tolerance = (SLOPE if what.startswith("gradient") else ROUNDING)[dtype] * case.slack
            for way in ways:
                if case.name not in found[way]:
                    continue
                got = found[way][case.name][what]
                apart = differs(got, reference, dtype, tolerance)
                yield from _report(
                    case, kind, dtype, what, f"{way} beside eager", arrays, apart, got, reference
                )
                if what == "value" and case.truth is not None:
                    plain, flushed = expected[what]
                    wrong = differs(got, plain, dtype, tolerance) & differs(
                        got, flushed, dtype, tolerance
                    )
                    yield from _report(case, kind, dtype, what, way, arrays, wrong, got, plain)
                elif what in expected:
                    left, right = expected[what]
                    known = (
                        np.isfinite(left) & np.isfinite(right) & np.isfinite(expected["value"][0])
                    )
                    with np.errstate(all="ignore"):
                        low, high = np.minimum(left, right), np.maximum(left, right)
                        between = (got >= low) & (got <= high)
                    size = 1e-3 if dtype in ("float32", "float64") else 0.3
                    wrong = known & ~between
                    wrong &= differs(got, left, dtype, tolerance, size) & differs(
                        got, right, dtype, tolerance, size
                    )
                    yield from _report(case, kind, dtype, what, way, arrays, wrong, got, left)
                elif what.startswith("no gradient"):
                    wrong = got != 0
                    for a in arrays:
                        sick = ~np.isfinite(a)
                        wrong &= ~(sick.any(-1, keepdims=True) if kind == "rows" else sick)
                    yield from _report(
                        case, kind, dtype, what, way, arrays, wrong, got, np.zeros_like(got)
                    )


def _report(
    case: Case, kind: str, dtype: str, what: str, way: str,
    arrays: list[np.ndarray], wrong: np.ndarray, got: np.ndarray, expected: np.ndarray,
) -> Iterator[Finding]:  # fmt: skip
    if wrong.size and wrong.ndim:
        seen = set()
        for place in np.argwhere(wrong):
            place = tuple(place)
            if kind == "rows":
                values = (
                    tuple(arrays[0][place[0]].tolist()) if wrong.shape[0] == len(arrays[0]) else ()
                )
            else:
                values = tuple(float(a[place]) for a in arrays)
            if str(values) not in seen:
                seen.add(str(values))
                yield Finding(
                    case.name, kind, dtype, what, way, values, got[place], expected[place]
                )
