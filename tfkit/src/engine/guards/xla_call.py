"""Direct calls under `jit_compile=True`: in XLA, unless TensorFlow's kernels might refuse a value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.engine.guards.guarded_function import GuardedFunction
from tfkit.src.engine.shared_programs import SharedProgram
from tfkit.src.engine.xla_kernels import keep_zeros_in_gradients


class XlaCall:
    """A traced call that XLA compiles.

    Args:
        plain: the call as a `ConcreteFunction` from tensors to a list of tensors, not compiled by XLA.
        path_of: the path of the layer that an operation belongs to; see `StateWatch`.
    """

    has_draws = False  # The draws of XLA are not those of TensorFlow's kernels anyway.

    def __init__(self, plain: Any, path_of: Callable[[list[str]], str | None]) -> None:
        self._plain = plain
        keep_zeros_in_gradients(plain.graph)
        self._guarded = GuardedFunction(plain)
        self._has_warned = False
        for difference in self._guarded.differences[:1]:
            difference.warn(path_of)

    def run(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, if no tape watches."""
        # Where a value might be refused, the call has changed nothing, and the kernels decide.
        # `accepted` is the last result, so that the others have the same indices as in the plain function.
        *results, accepted = self._compiled.run_flat(tensors)
        return results if accepted else self._shared_plain.run_flat(tensors)

    def run_recorded(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the results, which a tape can follow."""
        # A tape could not follow `run_guarded`, which writes variables back; so a separate program checks the
        # values before the call.
        if not self._guarded.is_needed:
            return self._recorded(*tensors)
        if not self._guarded.can_ask_ahead:
            self._warn_once()
            return self._plain(*tensors)
        (accepted,) = self._ahead.run_flat(tensors)
        return self._recorded(*tensors) if accepted else self._plain(*tensors)

    @functools.cached_property
    def _compiled(self) -> SharedProgram:
        def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
            accepted, results = self._guarded.run_guarded(list(tensors))
            return [*results, accepted]

        return SharedProgram(self._traced(run))

    @functools.cached_property
    def _ahead(self) -> SharedProgram:
        return SharedProgram(self._traced(lambda *tensors: [self._guarded.ahead(list(tensors))]))

    @functools.cached_property
    def _recorded(self) -> Any:
        return self._traced(lambda *tensors: self._plain(*tensors))

    @functools.cached_property
    def _shared_plain(self) -> SharedProgram:
        return SharedProgram(self._plain)

    def _traced(self, run: Any) -> Any:
        # The signature of the plain trace, which may have unknown sizes. XLA compiles each size
        # that comes.
        specs = self._plain.structured_input_signature[0]
        function = tf.function(run, autograph=False, jit_compile=True)
        return function.get_concrete_function(*specs)

    def _warn_once(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn(
                "`jit_compile=True`, but a call that a GradientTape records runs without XLA: it has a check "
                "of values that are computed inside it. `fit()` compiles such a model."
            )
