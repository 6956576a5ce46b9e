"""Weights into a file and out of it: all of them or none."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.core import tracking
from tfkit.saving import hdf5
from tfkit.saving.atomic import atomic_write
from tfkit.saving.errors import LoadError

WEIGHTS = "weights"
OPTIMIZER = "optimizer"


def optimizer_state(model: Any) -> dict[str, tf.Variable]:
    """The optimizer's variables by path, each with its place in front, for slots may share a name."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not optimizer.built:
        return {}
    return {f"{index:05d}": variable for index, variable in enumerate(optimizer.variables)}


def save_weights(model: Any, filepath: Any, overwrite: bool = True) -> None:
    """Writes the weights and seed states of a model, by attribute path.

    Raises:
        ValueError: for a model without weights yet, a name that does not end in `.weights.h5`, and an
            existing file where `overwrite` is False.
    """
    path = Path(filepath)
    if not str(path).endswith(".weights.h5"):
        raise ValueError(f"The filename must end in `.weights.h5`. Received: filepath={filepath}")
    check_writable(path, overwrite)
    if not model.built:
        raise ValueError(
            f"Model '{model.name}' has no weights yet. Call it on some data, or build it, before saving."
        )
    with atomic_write(path) as temporary:
        hdf5.write(temporary, {}, {WEIGHTS: tracking.named_state(model)})


def check_writable(path: Path, overwrite: bool) -> None:
    """Refuses a folder that does not exist, and a file that must not be replaced."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"File {path} exists. Pass `overwrite=True` to replace it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to save {path.name} in.")


def load_weights(model: Any, filepath: Any, skip_mismatch: bool = False) -> None:
    """Reads weights by attribute path; everything is checked before the first is assigned.

    Args:
        model: a built model.
        filepath: a file of `save_weights` or `save`.
        skip_mismatch: whether weights that do not fit are left as they are.

    Raises:
        LoadError: with a table of what is missing, unexpected, or of another shape; and for a damaged
            file. No weight has changed then.
    """
    if not model.built:
        raise ValueError(
            f"Model '{model.name}' has no weights yet to load into. Call it on some data, or build it, "
            "before `load_weights()`."
        )
    with hdf5.Reader(Path(filepath)) as reader:
        assign(read(reader, WEIGHTS, tracking.named_state(model), skip_mismatch))


def read(
    reader: hdf5.Reader, group: str, variables: dict[str, tf.Variable], skip_mismatch: bool = False
) -> list[tuple[tf.Variable, np.ndarray]]:
    """The values in a group for the given variables, all checked, to be assigned."""
    stored = reader.shapes(group)
    lines = []
    for path, variable in variables.items():
        if path not in stored:
            near = difflib.get_close_matches(path, [p for p in stored if p not in variables], n=1)
            hint = f" (did it move from {near[0]}?)" if near else ""
            lines.append(f"  missing in the file:  {path} {tuple(variable.shape)}{hint}")
        elif stored[path] != (tuple(variable.shape), variable.dtype.name):
            shape, dtype = stored[path]
            lines.append(
                f"  different:            {path}: the file has {shape} {dtype}, the model "
                f"{tuple(variable.shape)} {variable.dtype.name}"
            )
    for path, (shape, _) in stored.items():
        if path not in variables:
            lines.append(f"  not in the model:     {path} {shape}")
    if lines and not skip_mismatch:
        raise LoadError(
            f"File {reader.path} does not fit the model ({group}); nothing was loaded:\n"
            + "\n".join(lines)
            + "\nPass `skip_mismatch=True` to load what fits."
        )
    return [
        (variable, reader.value(group, path))
        for path, variable in variables.items()
        if stored.get(path) == (tuple(variable.shape), variable.dtype.name)
    ]


def assign(values: list[tuple[tf.Variable, np.ndarray]]) -> None:
    """Assigns values that have been checked."""
    for variable, value in values:
        variable.assign(value)
