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
SIZE = {"float16": 1.0, "bfloat16": 1.0, "float32": 1e-3, "float64": 1e-3}
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


def slopes(
    case: Case, arrays: list[np.ndarray], index: int, dtype: str, rows: bool
) -> list[np.ndarray]:
    """Returns slopes of the truth to the left and right of each value, or of its limit at infinity.

    Two steps are taken to each side: one that is relative to the value and one that is not. NaN where a slope
    is not known: it is larger than the dtype holds, or lost in the rounding of the truth.
    """
    x, (largest, _, _) = arrays[index], limits(dtype)
    found = []
    with np.errstate(all="ignore"):
        at = np.where(np.isinf(x), np.copysign(1e100, x), x)
        for smallest in (1e-3, 0.0):
            step = np.maximum(np.maximum(np.abs(at), smallest) * 1e-6, 1e-300)
            step = np.where(np.isinf(x), 1e99, step)
            for sign in (-1.0, 1.0):
                h = np.where(np.isinf(x), -np.sign(at), sign) * step
                h = np.where(np.isfinite(at + h), h, -h)
                if not rows:
                    found.append(_slope(case, arrays, index, at, h))
                    continue
                columns = []
                for column in range(x.shape[-1]):
                    only = np.zeros_like(h)
                    only[:, column] = h[:, column]
                    slope = _slope(case, arrays, index, at, only)
                    columns.append(slope.sum(-1) if slope.ndim > 1 else slope)
                found.append(np.stack(columns, -1))
        return [np.where(np.abs(slope) > min(largest, 1e8), np.nan, slope) for slope in found]


def _slope(case: Case, arrays: list[np.ndarray], index: int, at: np.ndarray, h: np.ndarray) -> Any:
    def truth(x: np.ndarray) -> np.ndarray:
        return np.asarray(
            case.truth(*[x if i == index else a for i, a in enumerate(arrays)]), "float64"
        )

    before, after = truth(at), truth(at + h)
    moved = ((at + h) - at).sum(-1) if at.ndim > 1 else (at + h) - at
    if at.ndim > 1 and before.ndim > 1:
        moved = moved[:, None]
    slope = (after - before) / moved
    noise = np.spacing(np.maximum(np.abs(before), np.abs(after))) / np.abs(moved)
    return np.where(noise > 1e-4 * np.maximum(np.abs(slope), 1e-2), np.nan, slope)


def check(kind: str, dtype: str, names: Any = None, ways: Any = WAYS) -> Iterator[Finding | str]:
    """Yields the findings of all cases of a kind in a dtype, and sentences about refusals."""
    arrays = [rounded(a, dtype) for a in operands(kind, dtype)]
    cases = [c for c in KINDS[kind](dtype) if names is None or c.name in names]
    found, errors = run(cases, arrays, dtype, ways)
    for (name, way), error in errors.items():
        yield f"refused: {name} of {dtype}, {way}: {error}"
    for case in cases:
        if case.name in found["eager"]:
            results = {way: found[way][case.name] for way in ways if case.name in found[way]}
            yield from _differences(case, kind, dtype, arrays, results)


def _differences(
    case: Case, kind: str, dtype: str, arrays: list[np.ndarray], results: dict[str, Any]
) -> Iterator[Finding]:
    eager = results["eager"]
    if case.truth is not None:
        plain, flushed = truths(case, arrays, dtype)
    for what, reference in eager.items():
        is_slope = what.startswith("gradient")
        tolerance = (SLOPE if is_slope else ROUNDING)[dtype]
        size = max(1e-2, SIZE[dtype]) if what == "value" else SIZE[dtype]
        known = None
        if what != "value" and case.truth is not None:
            around = slopes(case, arrays, int(what[-1]), dtype, kind == "rows")
            steep = np.stack(
                [np.where(np.isnan(slope), around[i ^ 2], slope) for i, slope in enumerate(around)]
            )
            finite = (
                np.isfinite(plain) if plain.ndim == reference.ndim else np.isfinite(plain)[:, None]
            )
            known = (
                np.isfinite(steep).all(0) & finite.all(-1, keepdims=kind == "rows")
                if kind == "rows"
                else (np.isfinite(steep).all(0) & finite)
            )
        for way, found in results.items():
            got = found[what]

            def report(
                wrong: np.ndarray,
                expected: np.ndarray,
                way: str = way,
                got: Any = got,
                what: str = what,
            ) -> Any:
                return _report(case, kind, dtype, what, way, arrays, wrong, got, expected)

            if way != "eager":
                apart = differs(got, reference, dtype, tolerance, size)
                yield from report(apart, reference, f"{way} beside eager")
            if what == "value" and case.truth is not None:
                wrong = differs(got, plain, dtype, tolerance, size)
                yield from report(wrong & differs(got, flushed, dtype, tolerance, size), plain)
            elif is_slope and known is not None:
                with np.errstate(all="ignore"):
                    wrong = known & ~((got >= steep.min(0)) & (got <= steep.max(0)))
                    for slope in steep:
                        wrong &= differs(got, slope, dtype, tolerance, size)
                yield from report(wrong, steep[0])
            elif known is not None:
                yield from report((got != 0) & known, np.zeros_like(got))


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
