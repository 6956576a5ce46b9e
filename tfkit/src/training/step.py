"""Traces a step once for batches of any size, for all kinds of programs."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.watching import StateWatch
from tfkit.src.borrowed.private import default_variable_creator_v2, last_variable_creator
from tfkit.src.engine import xla
from tfkit.src.engine.guards.guarded_function import GuardedFunction
from tfkit.src.engine.known_rows import have_rows
from tfkit.src.engine.passes import mark_products
from tfkit.src.engine.shared_programs import SharedProgram, differs_in_xla


@dataclasses.dataclass(frozen=True)
class Step:
    """The interface of the step that a program runs repeatedly.

    Args:
        run: function of a batch that returns a nest of tensors.
        finish: function that returns further logs after the last step. Default: there are none.
        scope: returns a context in which the step is traced. Default: none.
        program: returns the program of a class for a trace of the step. Default: what the class makes.
        called_as_is: name of the user's function that the step is, which is called for each batch and not
            traced. Default: the step is traced.
    """

    run: Callable[[Any], Any]
    finish: Callable[[], dict[str, Any]] = dict
    scope: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext
    program: Callable[[Any, Any], Any] | None = None
    called_as_is: str | None = None


class StepTrace:
    """A step as a function of a batch's tensors.

    Args:
        step: the step.
        structure: a batch, or anything of its form with a spec instead of each tensor.
        known_size: rows of every batch, which the step then sees in shapes; `None` for any number of rows.

    Attributes:
        finish: function that returns further logs after the last step.
        known_size: rows of every batch, `None` for any number of rows.
        batch: the nest of a batch, with a spec instead of each tensor.
        specs: a spec for each tensor of a batch.
        function: the step as a `ConcreteFunction` of a batch's flat tensors.
        graph: the graph in which the user's code has made the operations of the step.
        outputs: the nest that the step returns, of specs.
        watch: the layers that took part.
        version: the version of the settings that the trace has read, for `Programs`.
        programs: the programs that run the trace, by their class.
        is_distributed: whether the replicas of a strategy run the step together.
        relies_on_rows: whether the step is for batches of one row and more only.
    """

    def __init__(self, step: Step, structure: Any, known_size: int | None = None) -> None:
        # Specs instead of the data, which may be large.
        batch = tf.nest.map_structure(free_batch, structure)
        self.finish = step.finish
        self.batch = batch
        self.specs = tf.nest.flatten(batch)
        self.known_size = known_size
        self.watch = StateWatch()
        self.version = -1
        self.programs: dict[type, Any] = {}

        # The replicas of a strategy may get batches without rows.
        may_rely = step.scope is contextlib.nullcontext and step.program is None
        self.relies_on_rows = False

        def flat_step(*tensors: Any) -> Any:
            if known_size is not None:
                tensors = tuple(_with_size(tensor, known_size) for tensor in tensors)
            with self.watch, have_rows(tensors if may_rely else ()) as known:
                results = step.run(tf.nest.pack_sequence_as(batch, tensors))
                if not tf.executing_eagerly():
                    mark_products(tf.compat.v1.get_default_graph())
            self.relies_on_rows = self.relies_on_rows or known.were_used
            return tf.nest.map_structure(_as_tensor, results)

        self._flat_step = flat_step
        with step.scope():
            self.function = trace_once(flat_step, self.specs)
        self.graph = self.function.graph
        self.is_distributed = step.scope is not contextlib.nullcontext
        outputs = self.function.structured_outputs
        self.outputs = tf.nest.map_structure(tf.type_spec_from_value, outputs)
        self._compiled = tf.function(self._run_in_xla, autograph=False, jit_compile=True)

    def __call__(self, *tensors: Any) -> Any:
        """Adds the step, as TensorFlow's kernels run it, to the current trace."""
        return self.guarded.run_plain(list(tensors))

    @functools.cached_property
    def guarded(self) -> GuardedFunction:
        """The step with guards, in the forms in which programs run it."""
        return GuardedFunction(self.function, self.definition)

    @functools.cached_property
    def definition(self) -> Any:
        """The step as a `GraphDef`."""
        return self.function.graph.as_graph_def()

    def _run_in_xla(self, *tensors: Any) -> tuple[tf.Tensor, Any]:
        guarded = self.guarded
        if self.loop_gradient:
            # XLA compiles the gradient of a loop only if the trace knows the number of rows.
            specs = [tf.TensorSpec.from_tensor(tensor) for tensor in tensors]
            guarded = GuardedFunction(trace_once(self._flat_step, specs))
        if self.guarded.asks_ahead:
            return tf.constant(True), guarded.run_accepted(list(tensors))
        return guarded.run_guarded(list(tensors))

    def compiled(self, *tensors: Any) -> Any:
        """Runs the step as one XLA program, which is compiled for each batch size.

        Where TensorFlow's kernels might refuse a value, they run the step themselves.
        """
        if self.guarded.asks_ahead:
            accepted = self.guarded.ahead(list(tensors))
            return tf.cond(accepted, lambda: self._compiled(*tensors)[1], lambda: self(*tensors))
        accepted, outputs = self._compiled(*tensors)
        if not self.guarded.is_needed:
            return outputs
        return tf.cond(accepted, lambda: outputs, lambda: self(*tensors))

    def run_eagerly(self, tensors: list[Any]) -> Any:
        """Returns the results for a batch's tensors, which may have no rows."""
        return self._flat_step(*tensors)

    def check_shapes(self, batch_size: int) -> None:
        """Traces the step again, for a number of rows.

        Raises:
            ValueError: if shapes do not match.
        """
        specs = [
            tf.TensorSpec([batch_size, *spec.shape[1:]], spec.dtype)
            if isinstance(spec, tf.TensorSpec) and spec.shape.rank
            else spec
            for spec in self.specs
        ]
        trace_once(lambda *tensors: self(*tensors), specs)

    @functools.cached_property
    def operations(self) -> list[tuple[str, str]]:
        """Type and name of each operation."""
        return list(xla.operations(self.definition))

    @functools.cached_property
    def operations_in_xla(self) -> list[tuple[str, str]]:
        """Type and name of each operation, except in functions that XLA replaces by others."""
        return list(xla.operations(self.definition, differs_in_xla))

    @functools.cached_property
    def loop_gradient(self) -> tuple[str, str] | None:
        """Type and name of a loop that TensorFlow made as the gradient of another loop, or `None`."""
        return xla.gradient_loop(self.definition)

    def no_outputs(self) -> Any:
        """Returns zeros in the form of the outputs, as a loop's initial value."""
        return tf.nest.map_structure(_no_values, self.outputs)

    @property
    def has_one_size(self) -> bool:
        """Whether the outputs have the same shapes for all batches, as the logs of most steps."""
        return all(spec.shape.is_fully_defined() for spec in tf.nest.flatten(self.outputs))


def _no_values(spec: tf.TensorSpec) -> tf.Tensor:
    sizes = [] if spec.shape.rank is None else [size or 0 for size in spec.shape]
    zeros = tf.zeros(sizes, spec.dtype)
    if spec.shape.is_fully_defined():
        return zeros
    # Its static shape is that of the outputs, as a loop requires.
    return tf.raw_ops.PlaceholderWithDefault(input=zeros, shape=spec.shape)


def traced(
    function: Callable[..., Any], specs: Any, jit_compile: bool = False, compiles_parts: bool = True
) -> Any:
    """Returns a function of tensors as a program, traced once for `specs`."""
    return SharedProgram(trace_once(function, specs, jit_compile), compiles_parts)


def trace_once(function: Callable[..., Any], specs: Any, jit_compile: bool = False) -> Any:
    """Returns a function of tensors as a `ConcreteFunction`."""

    def build(*arguments: Any) -> Any:
        # `tf.function` traces a second time if the first trace made variables.
        with last_variable_creator(_make_variable):
            return function(*arguments)

    compiled = tf.function(build, autograph=False, jit_compile=jit_compile or None)
    return compiled.get_concrete_function(*specs)


def _make_variable(next_creator: Callable[..., tf.Variable], **options: Any) -> tf.Variable:
    """Returns a variable; if its value is known, it is made at once, outside the trace in progress."""
    if tf.executing_eagerly():
        return default_variable_creator_v2(None, **options)
    return next_creator(**options)


def free_batch(tensor: Any) -> Any:
    """Returns the spec of a tensor, or of a spec, with any number of rows."""
    spec = tensor if isinstance(tensor, tf.TypeSpec) else tf.type_spec_from_value(tensor)
    if isinstance(spec, tf.TensorSpec) and spec.shape.rank:
        return tf.TensorSpec([None, *spec.shape[1:]], spec.dtype)
    if isinstance(spec, tf.SparseTensorSpec) and spec.shape.rank:
        return tf.SparseTensorSpec([None, *spec.shape[1:]], spec.dtype)
    return spec


def _as_tensor(value: Any) -> Any:
    """Returns a result of a step as a tensor; ragged and sparse outputs of a model are not converted."""
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        return value
    return tf.convert_to_tensor(value)


def _with_size(tensor: Any, size: int) -> Any:
    """Returns a batch of any number of rows as one of `size` rows, which is checked at run time."""
    return tf.ensure_shape(tensor, [size, *tensor.shape[1:]])
