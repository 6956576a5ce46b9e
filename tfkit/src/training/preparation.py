"""Moves the work on strings out of a step: a stage of `tf.data` does it in advance, during earlier steps.

XLA has no strings, so a step that looks up words would run in TensorFlow's kernels as a whole, after the
lookup. Most of the work on strings depends on the batch alone. Here the graph of a traced step is cut in two:
the preparation, which reads no variable and draws nothing, and the rest of the step, which reads what the
preparation returns. The rest is planned like any other step (`planner.py`).

    indices = table.lookup(split(lower(texts)))     preparation: a parallel `map`, in the order of the batches
    --------------------------------------------
    loss = f(embedding[indices], y), ...            rest of the step: compiled, if that pays
"""

from __future__ import annotations

import os
import threading
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.base.errors import kernel_errors
from tfkit.src.training.step import StepTrace, trace_once
from tfkit.src.training.string_stage import Cut

# How many batches are prepared at the same time, and how many are kept ready.
_PARALLEL = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
_READY = 4
# A stage needs about 20 ms to begin, and saves 0.5 ms in a step: shorter passes are read without one.
_FEWEST = 32


class Prepared(NamedTuple):
    """An element of the stage: a batch, and what the preparation returns for it."""

    batch: Any
    tensors: tuple[tf.Tensor, ...]


class Stages:
    """The stages that prepare the batches of a dataset, each made once.

    Args:
        dataset: the batches.
        num_batches: how many there are, `None` if that is not known.
    """

    def __init__(self, dataset: tf.data.Dataset, num_batches: int | None) -> None:
        self.dataset = dataset
        self.pays = num_batches is None or num_batches >= _FEWEST
        self._prepared: dict[Preparation, tf.data.Dataset] = {}

    def after(self, preparation: Preparation | None, skipped: int) -> tf.data.Dataset:
        """Returns the batches, or what a preparation makes of them.

        Args:
            preparation: the preparation; `None` for none.
            skipped: number of batches that are left out at the beginning.
        """
        dataset = self.dataset.skip(skipped) if skipped else self.dataset
        if preparation is None:
            return dataset
        if skipped:
            return preparation.ahead(dataset)
        if preparation not in self._prepared:
            self._prepared[preparation] = preparation.ahead(dataset)
        return self._prepared[preparation]


class Batches:
    """An iterator over batches, which are prepared in advance for the first program that reads it.

    It yields the batches as well: a program that was made later, for example after the vocabulary of a layer
    was replaced, prepares them itself.

    Args:
        stages: the batches.
        skipped: number of batches that are left out at the beginning.

    Attributes:
        prepared_by: the preparation that its elements, `Prepared`, come from; `None` if they are batches.
        left_out: number of batches that were read but not run, as they have no rows.
    """

    def __init__(self, stages: Stages, skipped: int = 0) -> None:
        self._stages, self._skipped = stages, skipped
        self._iterator: Any = None
        self.prepared_by: Preparation | None = None
        self.left_out = 0

    def iterator(self, preparation: Preparation | None) -> Any:
        """Returns the iterator, which starts at the first call."""
        if self._iterator is None:
            self.prepared_by = preparation if self._stages.pays else None
            self._iterator = iter(self._stages.after(self.prepared_by, self._skipped))
        return self._iterator

    def release(self) -> None:
        """Releases the iterator in another thread, as its own threads may need time to end."""
        # The list has the only reference, which the thread drops.
        released, self._iterator = [self._iterator], None
        threading.Thread(target=released.clear).start()


class Preparation:
    """The part of a step that works on strings and depends on the batch alone.

    Args:
        cut: the operations that are moved out of a step.

    Attributes:
        specs: the specs of the tensors that it returns.
        is_even: whether these have as many rows as the batch, or a static size, as XLA needs.
        first: type and name of its first operation that XLA cannot compile.
        may_refuse: whether one of its operations may refuse a value.
    """

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self.specs = [tf.TensorSpec(cut.shape(tensor), tensor.dtype) for tensor in cut.crossing]
        self.is_even = cut.is_even
        self.first = next((op.type, op.name) for op in cut.moved if cut.needs_kernel(op))
        self.may_refuse = any(cut.may_refuse(op) for op in cut.moved)
        self._function = trace_once(
            self._run, [tf.TensorSpec(it.shape, it.dtype) for it in cut.inputs]
        )

    def _run(self, *tensors: tf.Tensor) -> list[tf.Tensor]:
        inputs = self._cut.by_name(self._cut.inputs, tensors)
        return self._cut.run(self._cut.moved, inputs, self._cut.crossing)

    def __call__(self, batch: Any) -> list[tf.Tensor]:
        """Adds the preparation of a batch to the current trace."""
        tensors = list(self._function(*tf.nest.flatten(batch, expand_composites=True)))
        for tensor, spec in zip(tensors, self.specs, strict=True):
            tensor.set_shape(spec.shape)
        return tensors

    def named(self, error: tf.errors.OpError) -> Any:
        """Returns an error with the operation that raised it, if that is one of the preparation."""
        return kernel_errors.named_in(error, self._function.name.decode(), self._cut.type_of)

    def ahead(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """Returns a dataset of `Prepared`, in the same order, that prepares batches in advance."""

        def prepared(*items: Any) -> Prepared:
            batch = items if isinstance(dataset.element_spec, tuple) else items[0]
            return Prepared(batch, tuple(self(batch)))

        options = tf.data.Options()
        # The thread that chooses the number of parallel calls would delay the end of each pass.
        options.autotune.enabled = False
        stage = dataset.map(
            tf.autograph.experimental.do_not_convert(prepared),
            num_parallel_calls=_PARALLEL,
            deterministic=True,
        )
        return stage.prefetch(_READY).with_options(options)


class RestOfStep(StepTrace):
    """The step without its preparation: a step on the tensors that the preparation returns.

    Args:
        whole: the trace of the step.
        preparation: the part that is left out.
    """

    def __init__(self, whole: StepTrace, preparation: Preparation) -> None:
        self.finish, self.watch, self.version = whole.finish, whole.watch, whole.version
        self.programs = whole.programs
        self.graph, self.known_size = whole.graph, whole.known_size
        self.relies_on_rows = whole.relies_on_rows
        self.preparation = preparation
        cut = preparation._cut

        def rest(*tensors: tf.Tensor) -> Any:
            inputs = cut.by_name(cut.crossing, tensors) | cut.sizes(tensors)
            outputs = cut.run(cut.left, inputs, whole.function.outputs)
            for output, traced in zip(outputs, whole.function.outputs, strict=True):
                output.set_shape(traced.shape)
            structure = whole.function.structured_outputs
            return tf.nest.pack_sequence_as(structure, outputs, expand_composites=True)

        self.specs = preparation.specs
        self._begin(rest)


def without_strings(trace: StepTrace, strict: bool) -> StepTrace:
    """Returns the rest of a step if its work on strings can be done in advance; otherwise the step.

    Args:
        trace: the step.
        strict: whether XLA has to compile it.
    """
    cut = None if trace.is_distributed else Cut.of(trace)
    if cut is None:
        return trace
    preparation = Preparation(cut)
    if strict and (not preparation.is_even or trace.loop_gradient):
        return trace
    return RestOfStep(trace, preparation)


def has_strings(structure: Any) -> bool:
    """Whether there are strings among tensors or specs."""
    return any(leaf.dtype == tf.string for leaf in tf.nest.flatten(structure))
