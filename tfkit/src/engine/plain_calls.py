"""Runs the traced direct calls of layers."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from tfkit.src.base import execution
from tfkit.src.engine.counters import CountingProgram, program_of
from tfkit.src.engine.shared_programs import SharedProgram
from tfkit.src.engine.stateful_draws import has_draws


class PlainCall:
    """A traced call, run with gradients if necessary, and otherwise more directly.

    Args:
        function: a `ConcreteFunction` from tensors to a list of tensors.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._program: SharedProgram | CountingProgram | None = None

    @functools.cached_property
    def has_draws(self) -> bool:
        """Whether it would draw other values than the operations one by one."""
        return has_draws(self._function)

    def run(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, if no tape watches."""
        if self._program is None:
            self._program = program_of(self._function)
        return self._program.run_flat(tensors)

    def run_recorded(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, which a tape can follow."""
        results: list[tf.Tensor] = self._function(*tensors)
        return results


# Layers, which need nothing else of the engine's programs, run their calls by it.
execution.plain_call = PlainCall
