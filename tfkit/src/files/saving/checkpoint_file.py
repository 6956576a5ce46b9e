"""The file from which a training run continues: variables by path, and a document with everything else.

The document is a nest of dicts, lists, tuples, strings, numbers, arrays and `None`. It is stored as JSON,
in which an array is written as `{"class_name": "__array__", "config": <its name in the group of arrays>}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.quoting import quoted
from tfkit.src.files.saving import hdf5, hdf5_writing
from tfkit.src.files.saving.atomic import atomic_write
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.files.saving.json_nest import from_json, to_json

DOCUMENT = "training"
VARIABLES = "variables"
ARRAYS = "arrays"
_MARK = "__array__"
_MOST_LINES = 20


def write(path: Path, document: dict[str, Any], variables: dict[str, tf.Variable]) -> None:
    """Writes the file, completely or not at all.

    Raises:
        TypeError: for a value that a document cannot contain, with its path.
    """
    arrays: dict[str, np.ndarray] = {}
    text = to_json(_without_arrays(document, "", arrays))
    with atomic_write(path) as temporary:
        hdf5_writing.write(temporary, {DOCUMENT: text}, {VARIABLES: variables, ARRAYS: arrays})


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns the document and the values of the variables.

    Raises:
        LoadError: for a damaged file, and for a file of any other kind.
    """
    with hdf5.Reader(path) as reader:
        text = reader.text(DOCUMENT)
        if not isinstance(text, dict):
            raise LoadError(
                f"File {path} does not contain the state of a training run. Expected a file that "
                "`BackupAndRestore` or `fit(resume=...)` wrote; for weights use `model.load_weights()`."
            )
        values = {name: reader.value(VARIABLES, name) for name in reader.shapes(VARIABLES)}
        arrays = {name: reader.value(ARRAYS, name) for name in reader.shapes(ARRAYS)}
    try:
        return _with_arrays(from_json(text), arrays), values
    except (KeyError, TypeError, ValueError) as error:
        raise LoadError(
            f"File {path}: `{DOCUMENT}` is not as tfkit writes it: {quoted(error)}"
        ) from error


def match(
    path: Path, variables: dict[str, tf.Variable], values: dict[str, np.ndarray]
) -> list[tuple[tf.Variable, np.ndarray]]:
    """Returns each variable with its value.

    Raises:
        LoadError: with a table, unless all paths, shapes and dtypes are the same.
    """
    ours = {name: (tuple(v.shape), v.dtype.name) for name, v in variables.items()}
    theirs = {name: (value.shape, value.dtype.name) for name, value in values.items()}
    lines = [
        f"  {name}: the file has {_describe(theirs.get(name))}, the model {_describe(ours.get(name))}"
        for name in {**ours, **theirs}
        if ours.get(name) != theirs.get(name)
    ]
    if lines:
        more = [f"  and {len(lines) - _MOST_LINES:,} more"] if len(lines) > _MOST_LINES else []
        raise LoadError(
            f"File {path} was saved by the training of a different model; nothing was loaded:\n"
            + "\n".join(lines[:_MOST_LINES] + more)
            + "\nTrain the model that it belongs to, or remove the file to start again."
        )
    return [(variable, values[name]) for name, variable in variables.items()]


def _describe(found: tuple[tuple[int, ...], str] | None) -> str:
    return "nothing" if found is None else f"{found[0]} {found[1]}"


def _without_arrays(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    """Returns a nest with names instead of arrays, which are added to `arrays`."""
    if isinstance(value, dict):
        return {k: _without_arrays(v, f"{path}/{k}", arrays) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_without_arrays(v, f"{path}/{i}", arrays) for i, v in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic, tf.Tensor, tf.Variable)):
        array = np.asarray(value)
        if array.dtype.name in hdf5.DTYPES:
            arrays[str(len(arrays))] = array
            # In the form of a configuration, so that a user's dict cannot be mistaken for it.
            return {"class_name": _MARK, "config": str(len(arrays) - 1)}
    raise TypeError(
        f"Cannot save the state of the training: '{path.lstrip('/')}' is {value!r} (of type "
        f"{type(value).__name__}). Expected dicts, lists, tuples, numbers, strings, numeric arrays or None."
    )


def _with_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, dict):
        if value.get("class_name") == _MARK:
            array = arrays[value["config"]]
            # A scalar of NumPy came as an array without axes.
            return array if array.ndim else array[()]
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_with_arrays(item, arrays) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value
