"""Runs a written program of another framework in this process, and compares it with the layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfkit.src.core.layer import Layer
from tfkit.src.export.endpoints import Endpoint
from tfkit.src.export.samples import made_up
from tfkit.src.export.verification import Arrays, compare, expected, unchanged

# Numbers of rows, and of steps where these are free, too.
FIRST, OTHERS = (3, 11), ((1, 11), (7, 11))


def check(
    layer: Layer,
    endpoint: Endpoint,
    run: Callable[[list[np.ndarray]], Sequence[np.ndarray]],
    where: str,
    with_other_sizes: bool,
) -> None:
    """Compares a program with a layer, for generated inputs.

    Args:
        layer: the layer.
        endpoint: its call.
        run: computes the program: its results for its inputs, both in the order of `tf.nest.flatten`.
        where: names the program in messages.
        with_other_sizes: whether the program accepts batches of other sizes than the first one.

    Raises:
        VerificationError: if it fails, or if its outputs differ from the layer's.
    """
    with unchanged(list(layer.variables)):
        for rows, steps in (FIRST, *(OTHERS if with_other_sizes else ())):
            inputs = _sized(endpoint, rows, steps)
            # Twice: a layer that draws random numbers differs from itself, and cannot be compared.
            wanted, again = expected(endpoint, inputs), expected(endpoint, inputs)
            found: Arrays | str
            try:
                results = run([inputs[name] for name in endpoint.inputs])
                names = [name for name in endpoint.outputs if name in wanted]
                found = dict(zip(names, results, strict=True))
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            else:
                found = {name: _as(found[name], wanted[name]) for name in names}
            compare(found, wanted, again, f"{where}, for {rows} rows,")


def _sized(endpoint: Endpoint, rows: int, steps: int) -> Arrays:
    """Returns generated inputs with these sizes where the endpoint's are free."""
    inputs = made_up(endpoint)
    for name, spec in zip(endpoint.inputs, endpoint.specs, strict=True):
        for axis, size in enumerate(spec.shape):
            if size is None:
                count = steps if axis else rows
                # Rows and steps are repeated to the wanted size.
                places = np.arange(count) % inputs[name].shape[axis]
                inputs[name] = np.take(inputs[name], places, axis)
    return inputs


def _as(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns integers in the layer's dtype: a framework may use wider ones instead."""
    whole = found.dtype.kind in "iu" and wanted.dtype.kind in "iu"
    return found.astype(wanted.dtype) if whole else found
