"""Weights into a file and out of it: all of them or none."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.core import tracking
from tfkit.core.layer import Layer
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


# --- Layers that say themselves what a file keeps of them -------------------------------------------------


def _own_stores(model: Any) -> list[tuple[str, Layer]]:
    """The layers that override `save_own_variables` or `load_own_variables`, with their prefixes."""
    return [
        (f"{path}/vars/".lstrip("/"), layer)
        for path, layer in tracking.named_layers(model)
        if type(layer).save_own_variables is not Layer.save_own_variables
        or type(layer).load_own_variables is not Layer.load_own_variables
    ]


def _plain_state(model: Any) -> dict[str, tf.Variable]:
    """The weights and seed states by path, without those that a layer stores itself."""
    own = {id(w) for _, layer in _own_stores(model) for w in tracking.own_weights(layer)}
    state = tracking.named_state(model)
    return {path: variable for path, variable in state.items() if id(variable) not in own}


def model_state(model: Any) -> dict[str, Any]:
    """What a file keeps of a model: variables, and what layers store themselves, by path."""
    state: dict[str, Any] = dict(_plain_state(model))
    for prefix, layer in _own_stores(model):
        store: dict[str, Any] = {}
        layer.save_own_variables(store)
        for key, value in store.items():
            array = np.asarray(value)
            if array.dtype.name not in hdf5.DTYPES or f"{prefix}{key}" in state:
                raise ValueError(
                    f"Layer '{prefix.removesuffix('/vars/')}' (of type {type(layer).__name__}) cannot store "
                    f"{key!r} in `save_own_variables()`. Expected an array of numbers, under a key that is "
                    f"not taken. Received: {value!r}"
                )
            state[f"{prefix}{key}"] = array
    return state


@dataclasses.dataclass
class Loaded:
    """Values that were read and checked, and not yet assigned.

    Args:
        values: variables with their values.
        stores: layers that read their variables themselves, with their paths and stores.
    """

    values: list[tuple[tf.Variable, np.ndarray]]
    stores: list[tuple[str, Layer, dict[str, np.ndarray]]]

    def assign(self, skip_mismatch: bool = False) -> None:
        """Assigns everything; first what can still fail, and if it does, no weight has changed."""
        before: list[tuple[tf.Variable, np.ndarray]] = []
        for path, layer, store in self.stores:
            mine = [(variable, variable.numpy()) for variable in layer.variables]
            before = [*mine, *before]
            try:
                layer.load_own_variables(store)
            except Exception as error:
                assign(mine if skip_mismatch else before)
                if not skip_mismatch:
                    raise LoadError(
                        f"Layer '{path}' (of type {type(layer).__name__}) cannot load its variables; "
                        f"nothing was loaded. Its `load_own_variables()` raised {type(error).__name__}: "
                        f"{error}. The file has: { {key: value.shape for key, value in store.items()} }"
                    ) from error
        assign(self.values)


def read_model(reader: hdf5.Reader, model: Any, skip_mismatch: bool = False) -> Loaded:
    """What a file has for a model, all read and checked."""
    stores = []
    paths = list(reader.shapes(WEIGHTS))
    for prefix, layer in _own_stores(model):
        found = {
            path.removeprefix(prefix): reader.value(WEIGHTS, path)
            for path in paths
            if path.startswith(prefix)
        }
        stores.append((prefix.removesuffix("vars/").rstrip("/") or layer.name, layer, found))
    apart = tuple(prefix for prefix, _ in _own_stores(model))
    return Loaded(read(reader, WEIGHTS, _plain_state(model), skip_mismatch, apart), stores)


# --- Files ------------------------------------------------------------------------------------------------


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
    state = model_state(model)
    with atomic_write(path) as temporary:
        hdf5.write(temporary, {}, {WEIGHTS: state})


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
        read_model(reader, model, skip_mismatch).assign(skip_mismatch)


def read(
    reader: hdf5.Reader,
    group: str,
    variables: dict[str, tf.Variable],
    skip_mismatch: bool = False,
    apart: tuple[str, ...] = (),
) -> list[tuple[tf.Variable, np.ndarray]]:
    """The values in a group for the given variables, all checked, to be assigned.

    Args:
        reader: the file.
        group: name of the group.
        variables: the variables by path.
        skip_mismatch: whether values that do not fit are left out.
        apart: beginnings of paths that others read.
    """
    stored = {path: it for path, it in reader.shapes(group).items() if not path.startswith(apart)}
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
