"""Runs the traced direct calls of layers."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from tfkit.src.base import execution
from tfkit.src.engine.counters import CountingProgram, program_of
from tfkit.src.engine.recorded_calls import RecordedCalls
from tfkit.src.engine.shared_programs import SharedProgram
from tfkit.src.engine.stateful_draws import has_draws


class PlainCall:
    """A traced call, run with gradients if necessary, and otherwise more directly.

    Args:
        function: a `ConcreteFunction` from tensors to a list of tensors.
    """

    def __init__(self, function: Any) -> None:
        self._function = function

    @functools.cached_property
    def has_draws(self) -> bool:
        """Whether it would draw other values than the operations one by one."""
        return has_draws(self._function)

    @functools.cached_property
    def _program(self) -> SharedProgram | CountingProgram:
        return program_of(self._function)

    @functools.cached_property
    def _recorded(self) -> RecordedCalls:
        return RecordedCalls(self._function)

    def run(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, if no tape watches."""
        return self._program.run_flat(tensors)

    def run_recorded(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, which a tape can follow."""
        results = self._recorded.run(tensors)
        return self.run(tensors) if results is None else results


# Layers, which need nothing else of the engine's programs, run their calls by it.
execution.plain_call = PlainCall
