"""Verifies a SavedModel: a fresh process runs it through TensorFlow's C library, as TF Serving does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.execution import governed_by
from tfkit.src.export import run_cases
from tfkit.src.export.endpoints import Endpoint
from tfkit.src.weights.variables.together import temporary_values

Arrays = dict[str, np.ndarray]
Case = tuple[str, Arrays]

_BATCH_SIZES = (0, 1, 7)
_TOLERANCE = {"float16": 5e-3, "bfloat16": 4e-2}
_SECONDS = 600


class VerificationError(RuntimeError):
    """An exported model does not load, does not run, or computes other results than the model.

    Example:
        ```python
        try:
            tfkit.export.to_serving(model, "/models", warmup=x[:8])
        except tfkit.export.VerificationError as error:
            print("Not published:", error)
        ```
    """


def run_elsewhere(jobs: Sequence[tuple[Any, Sequence[Case]]]) -> list[list[Arrays | str]]:
    """Runs signatures of SavedModels in one new process, where neither tfkit nor TensorFlow can be imported.

    Args:
        jobs: for each SavedModel its folder, and the signatures to run with their inputs.

    Returns:
        For each job and each case the outputs by name, or the text of an error.

    Raises:
        VerificationError: if a model does not load, or the process ends.
    """
    library = os.path.dirname(tf.__file__)
    lines = [
        json.dumps(
            {
                "model": str(folder),
                "library": library,
                "cases": [
                    (signature, {name: run_cases.encode(array) for name, array in inputs.items()})
                    for signature, inputs in cases
                ],
            }
        )
        for folder, cases in jobs
    ]
    done = subprocess.run(
        # A fresh process: nothing that this one has loaded or registered can make a broken file
        # work.
        [sys.executable, "-P", run_cases.__file__],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
        timeout=_SECONDS,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(jobs):
        raise VerificationError(
            f"The process that runs exported models ended with {done.returncode}: {done.stderr[-2000:]}"
        )
    for (folder, _), answer in zip(jobs, answers, strict=True):
        if isinstance(answer, dict):
            raise VerificationError(f"{str(folder)!r} does not load: {answer['error']}")
    return [[_decoded(result) for result in answer] for answer in answers]


def _decoded(result: dict[str, Any]) -> Arrays | str:
    if "error" in result:
        return result["error"]
    return {name: run_cases.decode(array) for name, array in result["outputs"].items()}


# --- Cases and expected outputs -----------------------------------------------------------------------


@contextlib.contextmanager
def unchanged(variables: Sequence[tf.Variable]) -> Iterator[None]:
    """Context manager that restores the values of variables at its end."""
    values = [tf.identity(getattr(variable, "uncast", variable)) for variable in variables]
    with temporary_values(variables, values, "state"):
        yield


class _PlainPython:
    """The settings under which layers run eagerly, operation by operation."""

    # Neither traces nor programs are shared with the export, which might have the same fault.
    run_eagerly = True
    jit_compile: bool | str = False
    model = None


def expected(endpoint: Endpoint, inputs: Arrays) -> Arrays:
    """Returns the outputs of an endpoint's function for these inputs, run eagerly."""
    tensors = [
        tf.constant(inputs[name], spec.dtype)
        for name, spec in zip(endpoint.inputs, endpoint.specs, strict=True)
    ]
    with governed_by(_PlainPython()):
        outputs = endpoint.named(endpoint.call(*endpoint.arguments(tensors)))
    return {name: output.numpy() for name, output in outputs.items()}


def resized(endpoint: Endpoint, inputs: Arrays) -> list[Arrays]:
    """Returns the inputs, and versions of them with other batch sizes, with rows repeated as needed."""
    free = all(spec.shape.rank and spec.shape[0] is None for spec in endpoint.specs)
    rows = {len(array) for array in inputs.values()} if free else set()
    if len(rows) != 1 or rows == {0}:
        return [inputs]
    (count,) = rows
    return [inputs] + [
        {name: array[np.arange(size) % count] for name, array in inputs.items()}
        for size in _BATCH_SIZES
        if size != count
    ]


def compare(found: Arrays | str, wanted: Arrays, again: Arrays, where: str) -> None:
    """Compares outputs with the model's.

    Args:
        found: outputs of the exported model.
        wanted: outputs of the model.
        again: outputs of a second call: values that differ are random, and only their form is checked.
        where: for the message.

    Raises:
        VerificationError: if they differ.
    """
    if isinstance(found, str):
        raise VerificationError(f"{where} fails: {found}")
    if found.keys() != wanted.keys():
        raise VerificationError(f"{where} gives {sorted(found)}. Expected: {sorted(wanted)}")
    for name, value in wanted.items():
        got = found[name]
        if got.dtype != value.dtype or got.shape != value.shape:
            raise VerificationError(
                f"{where} gives '{name}' as {got.dtype} {got.shape}. Expected: {value.dtype} {value.shape}"
            )
        if _close(value, again[name]) and not _close(got, value):
            raise VerificationError(
                f"{where} gives other values as '{name}' than the model: {_difference(got, value)}"
            )


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "OSUbiu":
        return bool(np.array_equal(one, other))
    tolerance = _TOLERANCE.get(one.dtype.name, 1e-5)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    scale = max(
        1.0, float(np.max(np.abs(one.astype(wide)), initial=0, where=np.isfinite(one.astype(wide))))
    )
    return bool(
        np.allclose(
            one.astype(wide), other.astype(wide), rtol=0, atol=tolerance * scale, equal_nan=True
        )
    )


def _difference(got: np.ndarray, value: np.ndarray) -> str:
    if got.dtype.kind in "OSUb":
        index = np.argwhere(got != value)[0]
        return f"{got[tuple(index)]!r} instead of {value[tuple(index)]!r} at {index.tolist()}"
    return f"they differ by up to {np.nanmax(np.abs(got - value)):.3g}"


def verify(
    folder: Path,
    endpoints: dict[str, Endpoint],
    cases: Sequence[Case],
    state: Sequence[tf.Variable] = (),
) -> None:
    """Runs a SavedModel in a new process, and compares it with the functions that it was made of.

    A model with a state, such as a counter, returns new outputs each time. So the functions are called in the
    same order as the SavedModel's signatures, from the state that was exported, and are then reset to it.

    Args:
        folder: the SavedModel.
        endpoints: its endpoints by signature.
        cases: signatures with inputs; each is run with batches of 0, 1 and 7 rows too.
        state: the variables that calls may change.

    Raises:
        VerificationError: for the first difference.
    """
    wanted = []
    with unchanged(state):
        for name, sample in cases:
            for inputs in resized(endpoints[name], sample):
                try:
                    with unchanged(state):
                        expected(endpoints[name], inputs)
                except (tf.errors.OpError, ValueError):
                    if inputs is sample:
                        raise
                    continue  # The model itself accepts no batch of this size.
                wanted.append((name, inputs, expected(endpoints[name], inputs)))
    with unchanged(state):
        again = [expected(endpoints[name], inputs) for name, inputs, _ in wanted]
    ((*found,),) = run_elsewhere([(folder, [(name, inputs) for name, inputs, _ in wanted])])
    for (name, inputs, outputs), repeated, result in zip(wanted, again, found, strict=True):
        shapes = {key: array.shape for key, array in inputs.items()}
        compare(result, outputs, repeated, f"Signature '{name}' of {folder} with inputs {shapes}")
