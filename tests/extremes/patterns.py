"""All calls of the tests' tables with one special value in their data, in all ways and beside Keras.

`./tools/extremes patterns`: ops, losses, layers and metrics.
"""

import argparse
import collections
import itertools
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tests.extremes.calls import KINDS, Call
from tests.extremes.reasons import PATTERNS, Difference
from tests.extremes.table import DTYPES, INF, NAN, limits
from tests.extremes.ways import differs
from tfkit import export

GROUP = 24
WAYS = ("graph", "xla", "served", "keras")
# Errors relative to the largest value of a result.
ROUNDING = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 1e-4, "float64": 1e-4}


def patterns(arrays: list[np.ndarray], dtype: str) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yields the arrays with zeros, equal numbers, or one special number in one of them."""
    largest, tiny, denormal = limits(dtype)
    specials = {"nan": NAN, "inf": INF, "-inf": -INF, "largest": largest, "-largest": -largest}
    specials |= {"tiny": tiny, "denormal": denormal}
    yield "as they are", arrays
    for index, array in enumerate(arrays):
        found = {"zeros": np.zeros_like(array), "ones": np.ones_like(array)}
        found["-zeros"] = -found["zeros"]
        for name, value in specials.items():
            changed = array.copy()
            changed.reshape(-1)[array.size // 2] = value
            found[name] = changed
        for name, changed in found.items():
            yield f"{name} in {index}", [*arrays[:index], changed, *arrays[index + 1 :]]


def results_of(call: Callable[..., Any], tensors: Any, slopes: bool) -> dict[str, Any]:
    """Returns results, and gradients under ones and under zeros from above."""
    if not slopes:
        return _values(call, tensors)
    found = {}
    # A call for each: XLA cannot compile two gradients of one loop.
    for what, above in (("gradient", tf.ones_like), ("no gradient", tf.zeros_like)):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            values = _values(call, tensors)
        # TensorFlow has no ones of 8 bits.
        floats = [x for x in values.values() if x.dtype.is_floating and x.dtype.size > 1]
        found |= values
        if floats:
            gradients = tape.gradient(
                floats, tensors, [above(x) for x in floats], unconnected_gradients="zero"
            )
            found |= {f"{what} {i}": tf.convert_to_tensor(g) for i, g in enumerate(gradients)}
    return found


def _values(call: Callable[..., Any], tensors: Any) -> dict[str, Any]:
    results = tf.nest.flatten(call(*tensors))
    return {f"value {i}": tf.convert_to_tensor(x) for i, x in enumerate(results)}


def as_array(x: Any) -> np.ndarray:
    return (
        tf.cast(x, "complex128" if x.dtype.is_complex else "float64")
        if x.dtype.is_floating or x.dtype.is_complex
        else x
    ).numpy()


class Programs:
    """Programs of many calls, of fewer where one of them fails."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.functions: dict[tuple[int, ...], Any] = {}
        self.failed: dict[int, str] = {}

    def run(self, todo: list[tuple[int, Call]], inputs: dict[int, Any]) -> dict[int, Any]:
        todo = [(number, call) for number, call in todo if number not in self.failed]
        key = tuple(number for number, _ in todo)
        if not key:
            return {}
        given = {number: inputs[number] for number in key}
        try:
            if key not in self.functions:
                self.functions[key] = None  # Until it is made.
                self.functions[key] = self._program(todo, given)
            if self.functions[key] is not None:
                return self.functions[key](given)
        except Exception as error:
            if len(todo) == 1:
                self.failed[key[0]] = f"{type(error).__name__}: {str(error)[:100]}"
                return {}
        half = len(todo) // 2
        return {**self.run(todo[:half], inputs), **self.run(todo[half:], inputs)}

    def _program(self, todo: list[tuple[int, Call]], inputs: dict[int, Any]) -> Callable[..., Any]:
        if self.way != "served":
            return tf.function(
                lambda given: {n: results_of(call.call, given[n], call.slopes) for n, call in todo},
                autograph=False,
                jit_compile=self.way == "xla",
            )

        def named(given: Any) -> Any:
            return {f"x{n}_{i}": x for n in given for i, x in enumerate(given[n])}

        def served(given: Any) -> Any:
            return {
                f"y{n}_{i}": tf.identity(y)
                for n, call in todo
                for i, y in enumerate(
                    tf.nest.flatten(call.call(*(given[f"x{n}_{i}"] for i in range(len(inputs[n])))))
                )
            }

        archive = export.ExportArchive()
        specs = {name: tf.TensorSpec(x.shape, x.dtype) for name, x in named(inputs).items()}
        archive.add_endpoint("serve", served, [specs])
        with tempfile.TemporaryDirectory() as folder:
            archive.write_out(folder, verbose=False)
            loaded = tf.saved_model.load(folder)

        def run(given: Any, loaded: Any = loaded) -> Any:
            results: dict[int, Any] = collections.defaultdict(dict)
            for name, y in loaded.signatures["serving_default"](**named(given)).items():
                number, place = name[1:].split("_")
                results[int(number)][f"value {place}"] = y
            return results

        return run


def compare(
    group: list[tuple[int, Call]], dtype: str, ways: Any = WAYS, only: str = ""
) -> Iterator[Difference]:
    """Yields the differences of calls in all ways from those run eagerly."""
    programs = {way: Programs(way) for way in ways if way != "keras"}
    all_patterns = {number: list(patterns(call.arrays, dtype)) for number, call in group}
    first: dict[int, Any] = {}
    for step in range(max(map(len, all_patterns.values()))):
        todo = [(n, c) for n, c in group if step < len(all_patterns[n])]
        if step and only:
            todo = [(n, c) for n, c in todo if all_patterns[n][step][0].startswith(only)]
        inputs = {n: [tf.constant(a) for a in all_patterns[n][step][1]] for n, _ in todo}
        eager: dict[int, Any] = {}
        for number, call in todo:
            try:
                eager[number] = results_of(call.call, inputs[number], call.slopes)
            except Exception as error:
                eager[number] = f"{type(error).__name__}: {str(error)[:80]}"
        fine = [(n, c) for n, c in todo if not isinstance(eager[n], str)]
        found = {way: program.run(fine, inputs) for way, program in programs.items()}
        if not step:
            first = eager
        for number, call in todo:
            name = all_patterns[number][step][0]
            if isinstance(eager[number], str):
                yield Difference(call.label, dtype, name, "", "eager", eager[number])
                continue
            results = {way: found[way].get(number, {}) for way in found}
            if "keras" in ways and call.keras is not None:
                try:
                    results["keras"] = results_of(call.keras, inputs[number], False)
                except Exception:
                    results["keras"] = {}
            if name[:-5] in ("nan", "inf", "-inf") and int(name[-1]) in call.lost:
                results["without it"] = first[number]
            for way, got in results.items():
                yield from _differences(call.label, dtype, name, way, got, eager[number])
    for way, program in programs.items():
        for number, error in program.failed.items():
            yield Difference(dict(group)[number].label, dtype, "", "", way, error)


def _differences(
    label: str, dtype: str, pattern: str, way: str, got: Any, expected: Any
) -> Iterator[Difference]:
    for what in got.keys() & expected.keys():
        a, b = as_array(got[what]), as_array(expected[what])
        if a.shape != b.shape:
            continue
        finite = np.abs(b[np.isfinite(b)]) if b.dtype.kind in "fc" else 0
        size = min(max(1.0, np.max(finite, initial=0.0)), 1e30)
        wrong = (
            differs(a, b, dtype, ROUNDING[dtype], size)
            if b.dtype.kind != "c"
            else ~np.isclose(a, b, 1e-4, 1e-4, equal_nan=True)
        )
        if wrong.any():
            text = f"{a[wrong][:3]}, eager {b[wrong][:3]}"
            yield Difference(label, dtype, pattern, what, way, text)


def main() -> int:
    """Prints a table; the exit status is 1 if something differs without a reason."""
    parser = argparse.ArgumentParser(prog="tools/extremes patterns", description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--only", help="part of the names", default="")
    parser.add_argument("--calls", help="the first of a kind and their end", default="0:9999")
    parser.add_argument("--all", action="store_true", help="also print what has a reason")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.monotonic()
    first, end = (int(number) for number in options.calls.split(":"))
    explained: collections.Counter[str] = collections.Counter()
    num_calls = num_cases = 0
    for kind in options.kinds.split(","):
        for dtype in options.dtypes.split(","):
            count = itertools.count()

            def wanted(label: str, count: Any = count) -> bool:
                return first <= next(count) < end and options.only in label

            todo = list(enumerate(KINDS[kind](dtype, wanted)))
            for begin in range(0, len(todo), GROUP):
                group = todo[begin : begin + GROUP]
                num_calls += len(group)
                num_cases += sum(len(list(patterns(call.arrays, dtype))) for _, call in group)
                rows: dict[Any, list[str]] = collections.defaultdict(list)
                for d in compare(group, dtype, options.ways.split(",")):
                    reason = next((r.text for r in PATTERNS if r.explains(d)), "")
                    explained[reason] += 1
                    if options.all or not reason:
                        rows[d.label, d.what, d.way].append(f"{d.pattern}: {d.text}")
                for (label, what, way), found in rows.items():
                    examples = " | ".join(found[:3]).replace("\n", " ")
                    print(f"{label:40} {dtype} {what:11} {way:6} {len(found)}  {examples}")
                print(
                    f"-- {kind}, {dtype}: {min(begin + GROUP, len(todo))} of {len(todo)} calls, "
                    f"{time.monotonic() - start:.0f} s",
                    flush=True,
                )
    print(
        f"{num_cases} cases of {num_calls} calls, each eagerly and as {options.ways}; differences:"
    )
    for text, count in explained.items():
        print(f"{count:7}  {text or 'without a reason'}")
    return bool(explained[""])


if __name__ == "__main__":
    sys.exit(main())
