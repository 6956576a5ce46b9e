"""Finds how a tensor of a replica's step depends on the rows of the batch, by the operations that made it.

A replica computes on its rows only. What one device would have computed from all rows follows from the way
in which a value depends on them: for a sum over rows, it is the sum over the replicas; for a mean, their
mean, weighted by the rows; for a counter, the value itself. Where rows meet in any other way, no replica can
know the value, and the step is refused. `row_rules.py` has the rules for each kind of operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.frames import as_written, is_dependency, is_library


class Kind(NamedTuple):
    """The way in which a tensor depends on the `n` rows of the batch.

    Attributes:
        form: `"count"`: equal on all replicas, or that times a power of `n`; `"shape"`: sizes, `n` among
            them; `"rows"`: it has the rows along an axis, each computed from a row of the batch; `"sum"`: a
            sum over such rows; `"max"` or `"min"`: the largest or smallest of them; `"mixed"`: rows have met
            otherwise; `"unknown"`; `"other"`: a tensor of a different replica.
        degree: how many times it was divided by `n`: a mean is a sum of degree 1.
        axis: axis of the rows, or of `n` in sizes; `None` if it is not known.
        copies: how many rows it has for each row of the batch; 0 if that depends on the rows' values, -1 if
            it is not known. Of a count or sizes, 1 if it is `n` itself, or has it.
        size: number of values for each row of the batch, where `copies` is not known.
        op: the operation where rows met, or were added up.
        gradient: whether it is a part of a gradient.
        plus: a function that returns the tensor to add to a sum once, and not on each replica, or `None`.
    """

    form: str
    degree: int = 0
    axis: int | None = None
    copies: int = 1
    op: Any = None
    gradient: bool = False
    size: float | None = None
    plus: Callable[[], tf.Tensor] | None = None

    def origin(self) -> str:
        """Returns where rows met, for messages: the operation, its layers, and the user's line."""
        if self.op is None:
            return "an operation"
        *scopes, name = self.op.name.split("/")
        scopes = [it for it in scopes if not it.startswith(("replica_", "gradient_tape"))]
        layers = f" of '{'/'.join(scopes)}'" if scopes else ""
        for frame in reversed(self.op.traceback or ()):
            place = as_written(frame.filename, frame.lineno)
            filename, line = (
                (place.filename, place.line) if place else (frame.filename, frame.lineno)
            )
            if not is_library(filename) and not is_dependency(filename):
                return f"`{name}`{layers} ({filename}, line {line})"
        return f"`{name}`{layers}"


EQUAL = Kind("count")
ROWS = Kind("rows", axis=0)


class RowKinds:
    """The kinds of the tensors of one replica's step.

    Args:
        rule: function of a tensor and the kinds of its operation's inputs that returns its kind.
        names: the names of the tensors of all replicas that have rows of the batch; replicas share it.
    """

    def __init__(self, rule: Callable[[tf.Tensor, list[Kind]], Kind], names: set[str]) -> None:
        self._rule = rule
        self._of_all = names
        self._known: dict[str, Kind] = {}
        self._graph: Any = None

    def note(self, tensor: tf.Tensor, kind: Kind) -> None:
        """Notes the kind of a tensor that cannot be found from its inputs."""
        if tf.is_symbolic_tensor(tensor):
            self._graph = tensor.graph
            self._known[tensor.name] = kind
            if kind.form == "rows":
                self._of_all.add(tensor.name)

    def of(self, tensor: tf.Tensor) -> Kind:
        """Returns the kind of a tensor."""
        if not tf.is_symbolic_tensor(tensor):
            return EQUAL
        if tensor.graph is not self._graph:
            return Kind("unknown", op=tensor.op)  # Inside a loop or a condition.
        # Without recursion, as a step of a deep model is thousands of operations long.
        waiting = [tensor]
        while waiting:
            last = waiting[-1]
            missing = []
            if last.name not in self._known:
                # Noted by another replica, whose step is in the same graph: a value that was exchanged.
                if last.name in self._of_all:
                    self._known[last.name] = Kind("other")
                else:
                    missing = [it for it in last.op.inputs if it.name not in self._known]
                    if not missing:
                        kinds = [self._known[it.name] for it in last.op.inputs]
                        self._known[last.name] = self._rule(last, kinds)
            if missing:
                waiting += missing
            else:
                waiting.pop()
        # To the caller, values that replicas have exchanged are equal on all of them.
        found = self._known[tensor.name]
        return EQUAL if found.form == "other" else found


def mixed(op: Any) -> Kind:
    """Returns the kind of a value in which rows have met at an operation."""
    return Kind("mixed", op=op)


def axis_of_none(shape: tf.TensorShape) -> int | None:
    """Returns the only axis whose size is not known; `None` unless there is exactly one."""
    if shape.rank is None:
        return None
    axes = [axis for axis, size in enumerate(shape.as_list()) if size is None]
    return axes[0] if len(axes) == 1 else None


def static_value(tensor: tf.Tensor) -> Any:
    """Returns the value of a tensor if it is known in the trace, `None` otherwise."""
    value = tf.get_static_value(tensor)
    combine = _COMBINING.get(tensor.op.type)
    if (
        value is not None
        or combine is None
        or any(it.shape.rank is None for it in tensor.op.inputs)
    ):
        return value
    # TensorFlow computes orders of axes from a rank by a few operations, which `tf.get_static_value` does not
    # evaluate.
    parts = [static_value(it) for it in tensor.op.inputs]
    return None if any(it is None for it in parts) else combine(*parts)


_COMBINING: dict[str, Callable[..., Any]] = {
    "AddV2": np.add,
    "ConcatV2": lambda *parts: np.concatenate(parts[:-1]),
    "FloorMod": np.mod,
    "Pack": lambda *parts: np.stack(parts),
    "Range": np.arange,
    "Sub": np.subtract,
}


def joint_copies(kinds: list[Kind]) -> int:
    """Returns the copies of a result of several inputs with rows."""
    copies = [it.copies for it in kinds if it.form == "rows"]
    return 0 if 0 in copies else -1 if -1 in copies else max(copies, default=1)


def is_zero(tensor: tf.Tensor) -> bool:
    """Whether a tensor is known to contain only zeros."""
    op = tensor.op
    if op.type == "ZerosLike":
        return True
    value = tf.get_static_value(op.inputs[1] if op.type == "Fill" else tensor)
    return value is not None and value.dtype.kind in "fiuV" and not np.any(value)
