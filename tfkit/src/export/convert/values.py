"""Sets a layer's variables to values from another framework, by path: all of them, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.names import nearest
from tfkit.src.core.layer import Layer
from tfkit.src.core.tracking import named_state


def set_values(layer: Layer, values: Mapping[str, Any], with_state: bool, source: str) -> None:
    """Sets trained variables, and the others too if `with_state`.

    Args:
        layer: the layer.
        values: arrays by path.
        with_state: whether values of the variables that are not trained are given.
        source: name of the function that was called, for errors.

    Raises:
        TypeError: if `layer` is not a layer, or `values` is not a mapping.
        ValueError: for paths, shapes and kinds of dtype that do not match the variables. Nothing is set.
    """
    if not isinstance(layer, Layer) or not isinstance(values, Mapping):
        raise TypeError(
            f"`{source}` takes a layer and a dict of values by path. Received: {layer!r} and a "
            f"{type(values).__name__}"
        )
    if not all(isinstance(path, str) for path in values):
        raise TypeError(f"`{source}` takes values by path. Received the paths: {list(values)[:20]}")
    trained = {id(it) for it in layer.trainable_variables}
    variables = {
        path: it for path, it in named_state(layer).items() if with_state or id(it) in trained
    }
    faults = [f"'{path}' is missing" for path in variables if path not in values]
    arrays = {}
    for path, value in values.items():
        if path not in variables:
            near = nearest(path, variables, 0.6)
            faults.append(f"'{path}' is not known" + (f" (did you mean '{near}'?)" if near else ""))
            continue
        try:
            arrays[path] = np.asarray(value)
        except (TypeError, ValueError) as error:
            faults.append(
                f"'{path}' cannot be set: the value is not an array ({str(error).splitlines()[0]})"
            )
            continue
        faults += _faults(path, variables[path], arrays[path])
    if faults:
        raise ValueError(
            f"The values do not fit '{layer.name}', and none was set: {'; '.join(sorted(faults))}."
        )
    for path, array in arrays.items():
        variables[path].assign(tf.cast(array, variables[path].dtype))


def _faults(path: str, variable: tf.Variable, array: np.ndarray) -> list[str]:
    if tuple(variable.shape) != array.shape:
        return [f"'{path}' has shape {tuple(variable.shape)}, and the value {array.shape}"]
    kinds = [_kind(tf.as_dtype(it)) for it in (variable.dtype, array.dtype)]
    if kinds[0] != kinds[1]:
        return [f"'{path}' is of dtype {variable.dtype.name}, and the value of {array.dtype}"]
    if kinds[0] == "integer" and array.size:
        least, most = int(array.min()), int(array.max())
        if least < variable.dtype.min or most > variable.dtype.max:
            held = f"{least}" if least == most else f"numbers from {least} to {most}"
            return [f"'{path}' is of dtype {variable.dtype.name}, and the value has {held}"]
    return []


def _kind(dtype: tf.DType) -> str:
    if dtype.is_floating:
        return "float"
    return "complex" if dtype.is_complex else "integer" if dtype.is_integer else dtype.name
