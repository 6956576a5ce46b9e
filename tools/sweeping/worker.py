"""A process that runs rows in one dtype on its kernels, and writes or compares results.

`python -m sweeping.worker JOB`, where JOB is JSON: see `Job`. Each row is announced before it runs, so that
the process above knows where a crash was.
"""

import dataclasses
import json
import os
import pickle
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from sweeping.cases import NO_GRADIENT, Row, is_float, rows
from tests.tolerances import eps
from tfkit.src.engine import machine

BATCHES = (0, 1, 5)


@dataclasses.dataclass
class Job:
    """The job of the process.

    Attributes:
        dtype: of the floats.
        kinds: of `"eager"`, `"traced"` (with gradients), `"forward"` (traced without) and `"xla"`; none
        writes
            the reference.
        reference: file of the reference.
        only: names of ops and layers, all unless given.
        start: number of the first row.
    """

    dtype: str
    kinds: list[str]
    reference: str
    only: list[str] | None = None
    start: int = 0


def say(**message: Any) -> None:
    """Prints one line for the parent process."""
    print(json.dumps(message), flush=True)


def _numbers(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Returns sizes of the finite floats among arrays."""
    return [np.abs(a[np.isfinite(a)]) for a in arrays if a.dtype.kind in "fc" and a.size]


def arrays_of(result: Any) -> list[np.ndarray]:
    """Returns the leaves in float64, complex128 or unchanged."""
    found = []
    for leaf in tf.nest.flatten(result):
        tensor = tf.convert_to_tensor(leaf)
        wide = {"f": "float64", "c": "complex128"}.get(tensor.dtype.as_numpy_dtype(0).dtype.kind)
        wide = "float64" if tensor.dtype == tf.bfloat16 else wide
        found.append((tensor if wide is None else tf.cast(tensor, wide)).numpy())
    return found


def as_tensors(arrays: list[np.ndarray], dtype: str) -> list[tf.Tensor]:
    """Returns arrays as tensors, floats in a dtype."""
    return [tf.cast(a, dtype) if is_float(a) else tf.constant(a) for a in arrays]


def no_kernel(error: Exception) -> bool:
    """Whether TensorFlow reports that it has no kernel for a dtype."""
    signs = (
        "list of allowed values",
        "No OpKernel",
        "Could not find device",
        "unsupported operations",
        "expected to be a float tensor",
        "does not match expected type of float32",
        "float32 or tf.float64",
        "float32 or float64",
        "[tf.float32, tf.float64]",
    )
    return any(sign in str(error) for sign in signs)


def with_gradients(call: Any, tensors: Any, weights: list[Any]) -> tuple[Any, list[Any]]:
    """Returns a result, and the gradients of its squares by floats among the arguments and by weights."""
    floats = [x for x in tensors if x.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        result = call(*tensors)
        leaves = [
            x for x in map(tf.convert_to_tensor, tf.nest.flatten(result)) if x.dtype.is_floating
        ]
        total = tf.add_n([tf.reduce_sum(tf.square(tf.cast(x, "float64"))) for x in leaves] or [0.0])
    found = tape.gradient(total, [*floats, *weights], unconnected_gradients="zero")
    return result, [tf.convert_to_tensor(x) for x in found]


class Runner:
    """One row in one dtype, whose weights are rounded to the dtype under test."""

    def __init__(self, row: Row, dtype: str, rounded_to: str) -> None:
        self.row, self.dtype, self.rounded_to = row, dtype, rounded_to
        self.weights: list[Any] = []
        self.call = row.call
        if row.make is not None:
            self.call, layer = row.make(dtype)
            layer.set_weights(
                [np.array(tf.cast(tf.cast(w, rounded_to), "float64")) for w in layer.get_weights()]
            )
            self.weights = layer.trainable_weights

    def run(
        self, inputs: list[np.ndarray], kind: str
    ) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
        """Returns results, and gradients if there are any."""
        tensors = as_tensors(inputs, self.dtype)
        if kind == "eager":
            return arrays_of(self.call(*tensors)), None
        specs = [
            tf.TensorSpec([None, *x.shape[1:]] if free and kind != "xla" else x.shape, x.dtype)
            for x, free in zip(tensors, self.row.batched, strict=True)
        ]
        result, gradients = self.program(specs, kind)(*tensors)
        return arrays_of(result), arrays_of(gradients)

    def takes(self, count: int) -> bool:
        """Whether a call with this many rows is possible."""
        try:
            self.run(self.row.inputs(self.rounded_to, count), "eager")
        except Exception as error:
            return no_kernel(error)
        return True

    def program(self, specs: list[Any], kind: str) -> Any:
        """Returns the traced function for these shapes; with gradients if TensorFlow has them."""
        key = kind, tuple(specs)
        if key not in self._programs:
            bodies = [
                lambda *x: with_gradients(self.call, x, self.weights),
                lambda *x: (self.call(*x), []),
            ]
            # A gradient keeps the parts of a formula separate that one kernel would replace.
            for body in bodies[kind == "forward" :]:
                function = tf.function(
                    body, input_signature=specs, autograph=False, jit_compile=kind == "xla" or None
                )
                try:
                    self._programs[key] = function.get_concrete_function()
                    break
                except (LookupError, TypeError, ValueError, NotImplementedError) as error:
                    self._programs[key] = error
        program = self._programs[key]
        if isinstance(program, Exception):
            raise program
        return program

    @property
    def _programs(self) -> dict[Any, Any]:
        return self.__dict__.setdefault("programs", {})


def sizes(row: Row) -> list[int | None]:
    """Returns the numbers of rows to try."""
    return list(BATCHES) if any(row.batched) else [None]


def reference_of(row: Row, runner: "Runner", dtype: str, count: int | None) -> dict[str, Any]:
    """Returns the result in float64 of rounded inputs; with that of the formula, if there is one.

    Eager and traced calls are kept apart: with an unknown number of rows less can be refused.
    """
    inputs = row.inputs(dtype, count)
    found: dict[str, Any] = {"inputs": inputs}
    for kind in ("eager", "traced"):
        try:
            found[kind] = runner.run(inputs, kind)
        except Exception as error:
            found[kind] = f"{type(error).__name__}: {str(error)[:120]}"
            if row.formula is not None and no_kernel(error):
                some = row.inputs(dtype, count or 1)
                found[kind] = [np.asarray(row.formula(*some))[:count]], None
            elif no_kernel(error):
                found[kind] = None
    if row.formula is not None and count != 0 and isinstance(found["eager"], tuple):
        found["formula"] = [np.asarray(row.formula(*inputs))]
    return found


def disagreement(
    actual: list[np.ndarray],
    expected: list[np.ndarray],
    dtype: str,
    inputs: list[np.ndarray],
    slack: float = 1,
) -> str | None:
    """Returns a description of differences larger than rounding explains.

    The longest sum that a call can hold has a term for each element; numbers are as large as the largest one
    that goes in or comes out.
    """
    if len(actual) != len(expected):
        return f"{len(actual)} results, not {len(expected)}"
    terms = max((a.size for a in [*inputs, *expected]), default=1)
    largest = {"float64": np.finfo("float64").max, "float16": 65504.0}.get(dtype, 3.3e38)
    known = [a[a < largest / 4] for a in _numbers([*expected, *inputs])]
    size = max(1.0, *(np.max(a, initial=0.0) for a in known), 1.0)
    allowed = slack * eps(dtype) * (8 + terms) * size
    for a, b in zip(actual, expected, strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape}, not {b.shape}"
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return f"{int(np.sum(a != b))} of {a.size} elements differ"
            continue
        # The largest number of a dtype represents itself.
        a, b = (np.where(np.abs(x) > 0.99 * largest, np.sign(x) * np.inf, x) for x in (a, b))
        finite = np.isfinite(b) & np.isfinite(a)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return f"{a[~finite][:3]}, not {b[~finite][:3]}"
        worst = np.max(np.abs(a[finite] - b[finite]), initial=0.0)
        if worst > allowed:
            return f"off by {worst:.3g}, allowed {allowed:.3g}, largest {size:.3g}"
    return None


def write_reference(job: Job, todo: list[Row]) -> None:
    """Computes float64 results and checks them by formula."""
    found = {}
    for number, row in enumerate(todo):
        say(row=number)
        if not row.has_floats and job.dtype != "float32":
            continue
        try:
            runner = Runner(row, "float64" if row.has_floats else "float32", job.dtype)
        except Exception as error:
            if not no_kernel(error):
                raise
            continue
        if any(row.batched) and not runner.takes(5):
            row.batched = [False] * len(row.batched)
        for count in sizes(row):
            entry = found[row.label, count] = reference_of(row, runner, job.dtype, count)
            if count == 0 and isinstance(entry["eager"], str):
                say(refused=f"{row.label}: {entry['eager']}")
            if "formula" in entry:
                wrong = disagreement(
                    entry["eager"][0], entry["formula"], "float64", entry["inputs"]
                )
                if wrong:
                    say(label=row.label, rows=count, kind="float64 beside NumPy", what=wrong)
                say(by_formula=1)
    with open(job.reference, "wb") as file:
        pickle.dump(found, file)


def compare(job: Job, todo: list[Row]) -> None:
    """Runs rows and compares them with the reference."""
    with open(job.reference, "rb") as file:
        reference = pickle.load(file)
    for number, row in enumerate(todo):
        if number < job.start:
            continue
        say(row=number)
        if (row.label, 5) not in reference:
            row.batched = [False] * len(row.batched)
        runner = None
        for kind in job.kinds:
            for count in sizes(row):
                entry = reference.get((row.label, count))
                expected = entry and entry["eager" if kind == "eager" else "traced"]
                if kind == "forward" and isinstance(
                    expected, str
                ):  # Perhaps only the gradient is refused.
                    expected = entry["eager"]
                if expected is None or (kind == "xla" and count == 1):
                    continue
                say(done=1)
                message = {"label": row.label, "rows": count, "kind": kind}
                try:
                    runner = runner or Runner(
                        row, job.dtype if row.has_floats else "float32", job.dtype
                    )
                    found = runner.run(row.inputs(job.dtype, count), kind)
                except Exception as error:
                    if no_kernel(error):
                        say(unsupported=1)
                    elif not isinstance(expected, str):
                        say(**message, what=f"{type(error).__name__}: {str(error)[:150]}")
                    continue
                if isinstance(expected, str):
                    # XLA drops checks of kernels, which does not concern CPUs.
                    say(dropped=f"{row.label}, {count} rows: {expected}") if kind == "xla" else say(
                        **message, what=f"a result, where float64 has {expected}"
                    )
                    continue
                what = disagreement(found[0], expected[0], job.dtype, entry["inputs"])
                if what is None and found[1] and expected[1] and row.name not in NO_GRADIENT:
                    # Of squares: as large as a result times its own gradient.
                    scale = max((np.max(a, initial=1.0) for a in _numbers(found[0])), default=1.0)
                    given = [*entry["inputs"], *expected[0]]
                    wrong = disagreement(found[1], expected[1], job.dtype, given, 4 * scale)
                    what = wrong and f"gradients: {wrong}"
                if what:
                    say(**message, what=what)


def main() -> None:
    """Reads the job from the command line."""
    job = Job(**json.loads(sys.argv[1]))
    todo = rows(None if job.only is None else set(job.only))
    say(onednn=machine.onednn_is_on())
    (compare if job.kinds else write_reference)(job, todo)
    say(end=True)


if __name__ == "__main__":
    main()
