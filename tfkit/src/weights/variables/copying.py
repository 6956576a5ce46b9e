"""Values that replace variables in copies and pickles of objects."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.members import TRACKING, View
from tfkit.src.weights.variables.stateless import stored_dtype
from tfkit.src.weights.variables.variables import AGGREGATIONS, make_variable

_AGGREGATIONS = {kind: name for name, kind in AGGREGATIONS.items()}
_LABELS = ("label", "made", "path")


class SavedVariable:
    """A variable as data, and the variable that is made of it, once.

    Args:
        variable: the variable.
    """

    def __init__(self, variable: tf.Variable) -> None:
        self.value = variable.numpy()
        self.dtype = stored_dtype(variable).name
        # The flag of the copy: a frozen weight can be trained again.
        self.trainable = getattr(variable, "made_trainable", variable.trainable)
        self.frozen = self.trainable and not variable.trainable
        self.aggregation = _AGGREGATIONS.get(variable.aggregation, "none")
        self.synchronization = variable.synchronization.value
        self.labels = {name: getattr(variable, name) for name in _LABELS if hasattr(variable, name)}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}

    def variable(self) -> tf.Variable:
        """Returns the variable, which is made on first use."""
        if "_made" not in vars(self):
            self._made = make_variable(
                f"the copy of a variable '{self.labels.get('path', '')}'",
                self.value.shape,
                self.value,
                self.dtype,
                self.labels.get("label"),
                trainable=self.trainable,
                aggregation=self.aggregation,
                synchronization=tf.VariableSynchronization(self.synchronization),
            )
            for name, value in self.labels.items():
                setattr(self._made, name, value)
            if self.frozen:
                self._made.trainable = False
        return self._made


def attributes_of(owner: Any) -> dict[str, Any]:
    """Returns an object's attributes, with each variable in them, or in their nests, as a `SavedVariable`."""
    saved: dict[int, SavedVariable] = {}

    def replaced(value: Any) -> Any:
        if isinstance(value, tf.Variable) and not isinstance(value, View):
            return saved.setdefault(id(value), SavedVariable(value))
        return _mapped(replaced, value)

    attributes = {k: v for k, v in vars(owner).items() if k not in TRACKING}
    return {name: replaced(value) for name, value in attributes.items()}


def set_attributes(owner: Any, attributes: dict[str, Any], untracked: tuple[str, ...] = ()) -> None:
    """Sets the attributes that `attributes_of` returned, with new variables.

    Args:
        owner: a new object, whose constructor has not run.
        attributes: the attributes.
        untracked: names of attributes that are set past `tf.Module`.
    """

    def replaced(value: Any) -> Any:
        return value.variable() if isinstance(value, SavedVariable) else _mapped(replaced, value)

    for name, value in attributes.items():
        set_one = object.__setattr__ if name in untracked else setattr
        set_one(owner, name, replaced(value))


def _mapped(function: Any, value: Any) -> Any:
    """Returns a nest with `function` applied to its items; `tf.Module`'s wrappers become plain nests."""
    if isinstance(value, (dict, tuple)):
        value = getattr(value, "__wrapped__", value)
    if isinstance(value, list) and type(value).__module__.startswith("tensorflow."):
        value = list(value)
    return nests.mapped(function, value) if nests.is_nested(value) else value
