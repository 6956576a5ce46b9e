"""All calls of the tests' tables with one number replaced, in all ways and beside Keras.

`PYTHONPATH=. python -m tests.extremes.patterns`: ops, losses and layers.
"""

import argparse
import collections
import dataclasses
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES as LAYERS
from tests.extremes.ways import differs
from tests.losses.test_functions import CASES as LOSSES
from tests.ops.cases import CASES as OPS

# Results that do not depend on the values of floats, or are not unique.
LEFT_OUT = {"view", "eig", "eigh", "svd", "qr", "empty", "empty_like", "shape", "size"}
GROUP = 24


@dataclasses.dataclass
class Call:
    """A call of floats.

    Attributes:
        label: the printed name.
        arrays: the floats that it takes.
        call: from tensors to a nest of tensors.
        keras: the same of Keras's, if there is one.
    """

    label: str
    arrays: list[np.ndarray]
    call: Callable[..., Any]
    keras: Callable[..., Any] | None = None


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32 and value.size > 0


def filled(function: Any, args: Any, kwargs: Any) -> Callable[..., Any]:
    """Returns `function` of the floats among its arguments."""
    leaves = tf.nest.flatten((args, kwargs))

    def call(*tensors: Any) -> Any:
        rest = iter(tensors)
        given = [next(rest) if is_float(leaf) else leaf for leaf in leaves]
        given = [tf.constant(x) if isinstance(x, np.ndarray) else x for x in given]
        args_now, kwargs_now = tf.nest.pack_sequence_as((args, kwargs), given)
        return function(*args_now, **kwargs_now)

    return call


def calls() -> Iterator[Call]:
    """Yields all calls that take floats."""
    for name, args, kwargs in OPS:
        arrays = [leaf for leaf in tf.nest.flatten((args, kwargs)) if is_float(leaf)]
        if arrays and name not in LEFT_OUT:
            mine, theirs = (getattr(module.ops, name) for module in (tfkit, keras))
            options = ",".join(f"{k}={v}" for k, v in kwargs.items() if np.ndim(v) == 0)
            yield Call(
                f"ops.{name}({options})",
                arrays,
                filled(mine, args, kwargs),
                filled(theirs, args, kwargs),
            )
    for name, _, options, data in LOSSES:
        arrays = [leaf for leaf in tf.nest.flatten(data) if is_float(leaf)]
        if arrays and hasattr(keras.losses, name):
            mine, theirs = (getattr(module.losses, name) for module in (tfkit, keras))
            yield Call(
                f"losses.{name}({options})",
                arrays,
                filled(mine, data, options),
                filled(theirs, data, options),
            )
    for number, case in enumerate(LAYERS):
        yield from layer_call(case, number)


def layer_call(case: Any, number: int) -> Iterator[Call]:
    """Yields the call of a layer of the conformance table, with the weights of the seed 1."""
    inputs = case.data()
    arrays = [leaf for leaf in tf.nest.flatten(inputs) if is_float(leaf)]
    if not arrays:
        return
    tfkit.utils.set_random_seed(1)
    try:
        layer = case.make(tfkit.layers, dtype="float32")
        layer(*tf.nest.map_structure(tf.constant, inputs))
    except Exception:
        return

    def run(*given: Any) -> Any:
        return layer._tfkit_call_in_phases(given, {})

    yield Call(f"layers.{case.layer} #{number}", arrays, filled(run, inputs, {}))


def patterns(arrays: list[np.ndarray]) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yields the arrays with zeros, equal numbers, or one special number in one of them."""
    largest = float(np.finfo("float32").max)
    yield "as they are", arrays
    for index, array in enumerate(arrays):
        found: dict[str, np.ndarray] = {"zeros": np.zeros_like(array), "ones": np.ones_like(array)}
        for name, value in (
            ("nan", np.nan),
            ("inf", np.inf),
            ("-inf", -np.inf),
            ("largest", largest),
        ):
            changed = array.copy()
            changed.reshape(-1)[array.size // 2] = value
            found[name] = changed
        for name, changed in found.items():
            yield f"{name} in {index}", [*arrays[:index], changed, *arrays[index + 1 :]]


def with_gradients(call: Any, tensors: Any) -> dict[str, Any]:
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        results = [tf.convert_to_tensor(x) for x in tf.nest.flatten(call(*tensors))]
        floats = [x for x in results if x.dtype in (tf.float32, tf.float64)]
    found = {f"value {i}": x for i, x in enumerate(results)}
    if floats:
        gradients = tape.gradient(floats, tensors, unconnected_gradients="zero")
        found |= {f"gradient {i}": tf.convert_to_tensor(g) for i, g in enumerate(gradients)}
    return found


def values_of(call: Any, tensors: Any) -> dict[str, Any]:
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

    def __init__(self, jit_compile: bool | None) -> None:
        self.jit_compile = jit_compile
        self.functions: dict[tuple[int, ...], Any] = {}
        self.failed: dict[int, str] = {}

    def run(self, todo: list[tuple[int, Call]], inputs: dict[int, Any]) -> dict[int, Any]:
        todo = [(number, call) for number, call in todo if number not in self.failed]
        key = tuple(number for number, _ in todo)
        if not key:
            return {}
        if key not in self.functions:
            self.functions[key] = tf.function(
                lambda given: {
                    number: with_gradients(call.call, given[number]) for number, call in todo
                },
                autograph=False,
                jit_compile=self.jit_compile,
            )
        if self.functions[key] is not None:
            try:
                return self.functions[key]({number: inputs[number] for number in key})
            except Exception as error:
                self.functions[key] = None
                if len(todo) == 1:
                    self.failed[key[0]] = f"{type(error).__name__}: {str(error)[:100]}"
                    return {}
        half = len(todo) // 2
        return {**self.run(todo[:half], inputs), **self.run(todo[half:], inputs)}


def compare(group: list[tuple[int, Call]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yields label, pattern, quantity, way and difference."""
    programs = {"graph": Programs(None), "xla": Programs(True)}
    all_patterns = {number: list(patterns(call.arrays)) for number, call in group}
    for step in range(max(map(len, all_patterns.values()))):
        todo = [(n, c) for n, c in group if step < len(all_patterns[n])]
        inputs = {n: [tf.constant(a) for a in all_patterns[n][step][1]] for n, _ in todo}
        eager: dict[int, Any] = {}
        for number, call in todo:
            try:
                eager[number] = with_gradients(call.call, inputs[number])
            except Exception as error:
                eager[number] = f"{type(error).__name__}: {str(error)[:80]}"
        fine = [(n, c) for n, c in todo if not isinstance(eager[n], str)]
        found = {way: program.run(fine, inputs) for way, program in programs.items()}
        found["keras"] = {}
        for number, call in fine:
            if call.keras is not None:
                try:
                    found["keras"][number] = values_of(call.keras, inputs[number])
                except Exception:
                    continue
        for number, call in todo:
            name = all_patterns[number][step][0]
            if isinstance(eager[number], str):
                yield call.label, name, "", "eager", eager[number]
                continue
            for way, results in found.items():
                for what, got in results.get(number, {}).items():
                    reference = eager[number].get(what)
                    if reference is None or got.shape != reference.shape:
                        continue
                    a, b = as_array(got), as_array(reference)
                    size = (
                        max(1.0, np.max(np.abs(b[np.isfinite(b)]), initial=0.0))
                        if b.dtype.kind in "fc"
                        else 0
                    )
                    wrong = (
                        differs(a, b, "float32", 1e-4, min(size, 1e30))
                        if b.dtype.kind != "c"
                        else ~np.isclose(a, b, 1e-4, 1e-4, equal_nan=True)
                    )
                    if wrong.any():
                        yield call.label, name, what, way, f"{a[wrong][:3]}, eager {b[wrong][:3]}"
    for way, program in programs.items():
        for number, error in program.failed.items():
            yield dict(group)[number].label, "", "", way, error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="part of the names", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.monotonic()
    todo = [(i, call) for i, call in enumerate(calls()) if options.only in call.label]
    count: collections.Counter[str] = collections.Counter()
    for first in range(0, len(todo), GROUP):
        rows: dict[Any, list[str]] = collections.defaultdict(list)
        for label, pattern, what, way, difference in compare(todo[first : first + GROUP]):
            rows[label, what, way].append(f"{pattern}: {difference}")
            count[way] += 1
        for (label, what, way), found in rows.items():
            print(
                f"{label:40} {what:11} {way:6} {len(found)}  {' | '.join(found[:3])}".replace(
                    "\n", " "
                ),
                flush=True,
            )
        print(
            f"-- {first + GROUP} of {len(todo)} calls, {time.monotonic() - start:.0f} s", flush=True
        )
    print(dict(count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
