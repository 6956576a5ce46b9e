"""Programs: one compiled call that runs many steps. Python runs between programs, not between steps.

A step is traced once, for batches of any size (`StepTrace`). A program calls it in a loop inside
TensorFlow: over rows of arrays that stay in memory (`array_program.py`), or over batches of a `tf.data`
iterator (`iterator_program.py`). The plan determines what XLA compiles: the whole loop, each step, or
nothing.

XLA compiles for one size of batch. The smaller last batch of an epoch runs outside XLA, as compiling again
would cost more than it saves; under `jit_compile=True` it is compiled nevertheless.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base.errors import kernel_errors
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.settings import compile_after
from tfkit.src.engine import xla
from tfkit.src.engine.guards.rewriting import ASSERTED
from tfkit.src.training.compile_cost import steps_that_pay, steps_that_pay_for_parts
from tfkit.src.training.planner import GRAPH_LOOP, XLA_LOOP, XLA_STEP, Plan, choose, without_program
from tfkit.src.training.step import Step, StepTrace, traced

Logs = dict[str, Any]
_COMPILE_ERRORS = (
    tf.errors.InternalError,
    tf.errors.InvalidArgumentError,
    tf.errors.UnimplementedError,
)


class Program(Protocol):
    """The interface of all programs, including predictions and eager programs."""

    @property
    def trace(self) -> StepTrace | None:
        """The step that the program runs; `None` if it runs eagerly."""

    @property
    def plan(self) -> Plan:
        """The kind of program, and why it was chosen."""


class TracedProgram(Program, Protocol):
    """A program made from a traced step."""

    def __init__(self, trace: StepTrace, jit_compile: bool | str) -> None: ...

    @staticmethod
    def eagerly(step: Step) -> Program:
        """Returns the object that runs a step eagerly instead of such a program."""


def as_refusal(error: ValueError) -> Any:
    """Returns the error of a trace with static row counts in the form of an error of XLA's compiler."""
    refused = tf.errors.InvalidArgumentError(None, None, f"{kernel_errors.BY_XLA}{error}")
    # The kernel that refuses the values gives a clearer error than the guard.
    refused.is_of_shapes = ASSERTED not in str(error)
    return refused


class LoopProgram:
    """A TensorFlow loop around a traced step: the common part for arrays and datasets.

    Args:
        trace: the step.
        jit_compile: the argument of `compile`.

    Attributes:
        expected: the arguments of the latest `expect`, which the plan follows; `None` if it does not.
    """

    def __init__(self, trace: StepTrace, jit_compile: bool | str) -> None:
        self.trace = trace
        self.expected: tuple[int, int | None] | None = None
        self._strict = jit_compile is True
        self._proven = False
        self.plan = choose(trace, jit_compile)
        self._batch_size: int | None = None
        self._in_xla: Plan | None = None  # The plan for a training run of enough steps,
        # and, for a batch size, the estimate of how many these are.
        self._least: tuple[Any, int] = (0, 0)
        if jit_compile == "auto" and self.plan.kind != GRAPH_LOOP:
            self._in_xla = self.plan
        # The index of the step in progress, for errors: a TensorFlow loop does not report it.
        with tf.init_scope():
            self._position = tf.Variable(0, trainable=False, dtype="int64")

    def expect(self, num_steps: int, batch_size: int | None) -> None:
        """Lets XLA compile the program if that pays over a number of steps.

        The plan depends on these arguments alone, not on earlier ones: a training run that continues from an
        earlier state must follow the plan of that state, even in a process that has trained further since
        then.

        Args:
            num_steps: the steps of the training, including those that are done, as far as they are known.
            batch_size: rows of a batch; `None` if they are unknown.
        """
        self.expected = num_steps, batch_size
        self._batch_size = batch_size
        after = compile_after()
        if self._in_xla is not None:
            if after is None and self._least[0] != batch_size:
                self._least = batch_size, steps_that_pay(self.trace, batch_size)
            plan, least = self._in_xla, self._least[1] if after is None else after
            if num_steps < least:
                reason = f"XLA would compile for longer than it saves in less than {least} steps"
                plan = dataclasses.replace(plan, kind=GRAPH_LOOP, reason=reason)
            # A new kind is compiled at its first run, which XLA may refuse.
            self._proven = self._proven and plan.kind == self.plan.kind
            self.plan = plan
        if self.plan.kind == GRAPH_LOOP and self._least_for_parts is not None:
            pays = num_steps >= (self._least_for_parts if after is None else after)
            self.plan = dataclasses.replace(self.plan, compiles_updates=pays)

    @functools.cached_property
    def _least_for_parts(self) -> int | None:
        return steps_that_pay_for_parts(self.trace)

    def _traced(self, function: Callable[..., Any], specs: Any, jit_compile: bool = False) -> Any:
        """Returns a function of tensors as a program."""
        # A new trace of the same loop is needed for it: the parts are chosen when a program is registered.
        compiles_parts = self._strict or self.plan.compiles_updates
        return traced(function, specs, jit_compile, compiles_parts)

    def _guarded(self, run: Callable[[], Any], step: Callable[[], int]) -> Any:
        """Runs a call; if XLA refuses the program at its first run, continues without XLA.

        Args:
            run: runs the program.
            step: returns the index of the program's step in progress, from 0.
        """
        refused = None
        try:
            result = run()
        except tf.errors.OpError as error:
            refused = self._located(error, step)
            if not self._is_refused_by_xla(refused):
                raise self._explained(refused, step) from None
        if refused is not None:
            result = self._without_xla(run, step, refused)
        if not self._proven:
            # It is compiled: from now on, an error that looks like a refusal is an error in the user's data.
            self._proven = True
            if self.plan.kind != GRAPH_LOOP:
                xla.give_back_memory()
        return result

    def _explained(self, error: tf.errors.OpError, step: Callable[[], int]) -> Exception:
        """Returns the error of a kernel, or one that names the shapes that do not match in the first step.

        If several kernels cannot run, any of them may be the first to fail. A trace with the number of rows
        meets them in order.
        """
        is_of_shapes = isinstance(error, tf.errors.InvalidArgumentError)
        if self._batch_size is None or not is_of_shapes or kernel_errors.step_of(error):
            return error
        try:
            self.trace.check_shapes(self._batch_size)
        except ValueError as found:
            refused = as_refusal(found)
            if refused.is_of_shapes:
                return kernel_errors.as_value_error(self._located(refused, step))
        return error

    def _located(self, error: tf.errors.OpError, step: Callable[[], int]) -> Any:
        """Returns the error of a kernel with its layer and the step of the program."""
        error = kernel_errors.in_layer(error, self.trace.watch.path_of, self.trace.graph)
        return kernel_errors.located(error, step=step())

    def _is_refused_by_xla(self, error: tf.errors.OpError) -> bool:
        """Whether the program can continue without XLA: it was not compiled, and no part of it has run."""
        # XLA refuses a program when it compiles it, before the first operation has run. Afterwards nothing
        # could be repeated, as weights have changed.
        may_go_on = not self._proven and not self._strict
        is_refused = isinstance(error, _COMPILE_ERRORS) and kernel_errors.is_of_compiler(error)
        return may_go_on and is_refused

    def _without_xla(self, run: Callable[[], Any], step: Callable[[], int], refused: Any) -> Any:
        """Runs without XLA from now on, with a warning.

        If TensorFlow's kernels refuse the first step too, and XLA refused it because of shapes, XLA's error
        is raised, which names the shapes: kernels may first fail at a consequence of them.
        """
        reason = str(refused).replace("\n", " ")
        refusal = f"XLA refused the program: {reason}"
        self.plan = dataclasses.replace(self.plan, kind=GRAPH_LOOP, reason=refusal)
        self._in_xla = self.expected = None
        try:
            result = run()
        except tf.errors.OpError as error:
            located = self._located(error, step)
            if not getattr(refused, "is_of_shapes", False) or kernel_errors.step_of(located):
                raise located from None
        else:
            warn(
                f"XLA cannot compile a program of this model, which runs without XLA now: {reason} Pass "
                "`jit_compile=False` to `compile()` if it should, or change that part of the model."
            )
            return result
        raise kernel_errors.as_value_error(refused)

    def _at(self, position: tf.Tensor) -> contextlib.AbstractContextManager[Any]:
        """Returns a context for a step in a TensorFlow loop, which stores the step's index."""
        return tf.control_dependencies([self._position.assign(position)])

    def _step_of(self, kind: str) -> Callable[..., tuple[tf.Tensor, Logs]]:
        """Returns the step of a kind of program, which returns whether it ran, and its logs."""
        guarded = self.trace.guarded
        # The guards of an XLA loop are a result of the step, or are asked before it. Other kinds have a
        # step that falls back itself.
        if kind == XLA_LOOP and not guarded.asks_ahead:
            return lambda *batch: guarded.run_guarded(list(batch))
        if kind == XLA_LOOP:
            return lambda *batch: (tf.constant(True), guarded.run_accepted(list(batch)))
        step = self.trace.compiled if kind == XLA_STEP else self.trace
        return lambda *batch: (tf.constant(True), step(*batch))

    def _loop(self, cond: Any, body: Any, variables: tuple[Any, ...]) -> Any:
        # One step after the other: by default TensorFlow may run up to 10 of them at once.
        return tf.while_loop(cond, body, variables, parallel_iterations=1)

    def _with_finish(self, logs: Logs) -> Logs:
        # The results of metrics are read after the last update of their variables.
        with tf.control_dependencies(tf.nest.flatten(logs)):
            return {**logs, **self.trace.finish()}


class EagerProgram:
    """Runs steps eagerly: the common part for arrays and datasets.

    Args:
        step: the step.
    """

    trace = None
    expected = None

    def __init__(self, step: Step) -> None:
        self._step = step
        self.plan = without_program(step.called_as_is)

    def expect(self, num_steps: int, batch_size: int | None) -> None:
        """Does nothing: see `LoopProgram.expect`."""

    def run_batches(self, batches: Iterable[Any]) -> tuple[int, Logs]:
        """Runs steps over batches; returns how many there were, and the logs of the last one."""
        done, logs = 0, {}
        left, end = iter(batches), object()
        while True:
            try:  # Reading a batch may fail as well.
                batch = next(left, end)
                if batch is end:
                    break
                logs = self._step.run(batch)
            except tf.errors.OpError as error:
                raise kernel_errors.located(error, step=done) from None
            done += 1
        return done, {**logs, **self._step.finish()}
