"""Copies of optimizers, by `pickle` and `copy.deepcopy`: the configuration, and what the variables hold.

A copy belongs to no model. It gets its slots at its first update, for whatever variables it updates then, and
they begin with what the original's held: so a copy of a model and its optimizer goes on where they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf


def reduced(optimizer: Any) -> tuple[Any, ...]:
    """What `pickle` keeps of an optimizer."""
    values = [np.array(variable.numpy()) for variable in optimizer.variables]
    return restored, (type(optimizer), optimizer.get_config(), values)


def restored(cls: Any, config: dict[str, Any], values: Sequence[Any]) -> Any:
    """An optimizer as `reduced` found it, its slots yet to be made."""
    optimizer = cls.from_config(config)
    optimizer._untracked.to_restore = list(values)
    _restore(optimizer, len(optimizer.variables))
    return optimizer


def restore_slots(optimizer: Any) -> None:
    """Gives the slots of a copy, which were just made, what the original's held.

    Raises:
        ValueError: where it is built for variables of other shapes than the original.
    """
    values, variables = optimizer._untracked.to_restore, optimizer.variables
    if [value.shape for value in values] != [tuple(variable.shape) for variable in variables]:
        raise ValueError(
            f"Optimizer '{optimizer.name}' is a copy of one that was built for variables of other shapes. "
            "Make a new one by `from_config(optimizer.get_config())`."
        )
    with tf.init_scope():
        _restore(optimizer, len(variables))
    optimizer._untracked.to_restore = []


def _restore(optimizer: Any, count: int) -> None:
    values = optimizer._untracked.to_restore
    for variable, value in zip(optimizer.variables[:count], values[:count], strict=True):
        variable.assign(value)
    if len(values) == count:
        optimizer._untracked.to_restore = []
