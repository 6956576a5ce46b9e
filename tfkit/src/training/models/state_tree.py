"""Converts all variables of a model to nested dicts by path, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import dicts
from tfkit.src.base.names import escaped, free
from tfkit.src.core import tracking
from tfkit.src.metrics.named_variables import named_variables
from tfkit.src.optimizers.base import Optimizer

if TYPE_CHECKING:
    from tfkit.src.training.models.model import Model

_FORMATS = ("backend_tensor", "numpy_array")


def get(model: Model, value_format: str) -> dict[str, Any]:
    """Returns the tree of a model, as `Model.get_state_tree`."""
    if value_format not in _FORMATS:
        raise ValueError(
            f"`value_format` must be one of {list(_FORMATS)}. Received: value_format={value_format!r}"
        )

    def value(variable: tf.Variable) -> Any:
        return variable if value_format == "backend_tensor" else np.array(variable)

    return {
        kind: dicts.by_path({path: value(variable) for path, variable in paths.items()})
        for kind, paths in _variables(model).items()
    }


def assign(model: Model, tree: dict[str, Any]) -> None:
    """Assigns the values of a tree, as `Model.set_state_tree`; all are checked before the first."""
    known = _variables(model)
    values: list[tuple[tf.Variable, Any]] = []
    for kind, branch in tree.items():
        if kind not in known:
            raise ValueError(
                f"Unknown kind of variables in a state tree: {kind!r}. Expected keys from: {list(known)}"
            )
        for place, value in dicts.leaves_by_path({kind: branch}).items():
            path = place.removeprefix(kind).lstrip("/")
            variable = known[kind].get(path)
            if variable is None:
                raise ValueError(
                    f"The model has no variable '{path}' among its {kind}. Expected paths from: "
                    f"{list(known[kind])}"
                )
            array = np.asarray(value)
            if not variable.shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"The variable '{path}' has the shape {tuple(variable.shape)}. Received: a value of "
                    f"shape {array.shape}"
                )
            values.append((variable, array.astype(variable.dtype.as_numpy_dtype)))
    for variable, value in values:
        variable.assign(value)


def _variables(model: Model) -> dict[str, dict[str, tf.Variable]]:
    """Returns the variables of each kind by path."""
    state = tracking.named_state(model)
    trained = {id(weight) for weight in model.trainable_weights}
    optimizer = getattr(model, "optimizer", None)
    return {
        "trainable_variables": {path: it for path, it in state.items() if id(it) in trained},
        "non_trainable_variables": {
            path: it for path, it in state.items() if id(it) not in trained
        },
        "optimizer_variables": {} if optimizer is None else _optimizer_variables(optimizer, model),
        "metrics_variables": {
            f"{escaped(metric.name)}/{name}": variable
            for metric in _metrics(model)
            for name, variable in named_variables(metric).items()
        },
    }


def _optimizer_variables(optimizer: Optimizer, model: Model) -> dict[str, tf.Variable]:
    """Returns an optimizer's variables: a slot of `dense/kernel` as `adam/dense_kernel_momentum`."""
    paths = {id(weight): path for path, weight in tracking.named_weights(model).items()}
    found: dict[str, tf.Variable] = {}
    for variable in optimizer.variables:
        slot = getattr(variable, "slot", None)
        name = getattr(variable, "label", "variable")
        if slot is not None and id(slot.weight) in paths:
            name = f"{paths[id(slot.weight)]}_{slot.name}".replace("/", "_")
        path = f"{escaped(optimizer.name)}/{escaped(name)}"
        found[free(path, set(found))] = variable
    return found


def _metrics(model: Model) -> list[Any]:
    """Returns the metrics of a model, with the metrics of `compile` one by one."""
    return [each for metric in model.metrics for each in getattr(metric, "metrics", [metric])]
