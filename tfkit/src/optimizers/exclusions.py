"""Variables excluded from weight decay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.optimizers import distribution
from tfkit.src.weights.variables.name_scope import variable_path


def _keys_and_names(
    variables: Sequence[tf.Variable], patterns: Sequence[str]
) -> tuple[set[int], re.Pattern[str] | None]:
    names = re.compile("|".join(patterns)) if patterns else None
    return {distribution.key(variable) for variable in variables}, names


class Exclusions:
    """Variables excluded from weight decay: by identity, by patterns of names, or by positions.

    Positions are for copies of an optimizer, which have no variables until they are built.
    """

    def __init__(self) -> None:
        self._keys: set[int] = set()
        self._positions: set[int] = set()
        self._names: re.Pattern[str] | None = None

    def set(self, variables: Sequence[tf.Variable], patterns: Sequence[str]) -> None:
        """Excludes these variables, and those whose path contains a pattern, and no others."""
        self._keys, self._names = _keys_and_names(variables, patterns)

    def are(self, variables: Sequence[tf.Variable], patterns: Sequence[str]) -> bool:
        """Whether `set` with these arguments would change nothing."""
        return (self._keys, self._names) == _keys_and_names(variables, patterns)

    def learn(self, variables: Sequence[tf.Variable]) -> None:
        """Replaces positions by the variables at these positions."""
        self._keys |= {distribution.key(variables[position]) for position in self._positions}

    def has(self, variable: tf.Variable) -> bool:
        """Whether the variable is excluded."""
        if distribution.key(variable) in self._keys:
            return True
        if self._names is None:
            return False
        path = variable_path(distribution.whole_variable(variable))
        # TensorFlow's names end in `:0`, which patterns written for Keras may contain.
        return any(self._names.search(name) for name in (path, f"{path}:0"))

    def state(self, variables: Sequence[tf.Variable] | None, owner: str) -> tuple[Any, str | None]:
        """Returns positions and pattern, for `restore`.

        Args:
            variables: all variables of the optimizer; `None` before it is built.
            owner: name of the optimizer, for the message.

        Raises:
            TypeError: when variables are spared whose positions are not known yet.
        """
        positions = self._positions
        if variables is not None:
            positions = {i for i, v in enumerate(variables) if distribution.key(v) in self._keys}
        elif self._keys:
            raise TypeError(
                f"Optimizer '{owner}' cannot be copied yet: it knows the variables that "
                "`exclude_from_weight_decay(var_list=...)` named only by identity. Call "
                "`optimizer.build(trainable_variables)` first, or pass `var_names`."
            )
        return set(positions), None if self._names is None else self._names.pattern

    def restore(self, state: tuple[Any, str | None]) -> None:
        """Excludes the same variables as the optimizer that this one is a copy of."""
        self._positions, pattern = state
        self._names = None if pattern is None else re.compile(pattern)
