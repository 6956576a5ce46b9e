"""The steps of a model under a strategy of `tf.distribute`: all replicas together make one step of one batch.

A step gets the whole batch, in each process. Each replica computes with its rows, so a step of a strategy
has the form of any other step, and programs run it in their loops. Without a strategy nothing of this is
used: `devices_for` returns `None`.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.calls import calls
from tfkit.src.engine import replicas
from tfkit.src.engine.row_kinds import EQUAL, ROWS, Kind, RowKinds
from tfkit.src.engine.row_rules import kind_after
from tfkit.src.files.saving.atomic import discarded
from tfkit.src.training import placement, process_data
from tfkit.src.training.coordinated import Coordinated, check_workers
from tfkit.src.training.data import batch_size_of
from tfkit.src.training.recorded_logs import RecordedLogs
from tfkit.src.training.running_steps import runs_eagerly
from tfkit.src.training.step import Step

if TYPE_CHECKING:
    from tfkit.src.training.model_steps import ModelSteps


class Devices:
    """The devices of a strategy, as the loop of a training run uses them.

    Args:
        strategy: the strategy.

    Attributes:
        is_chief: whether this process writes files.
        num_processes: number of processes that take part.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self.strategy = strategy
        self.is_chief, self._process, self.num_processes = replicas.place(strategy)

    @property
    def description(self) -> str:
        """The strategy and its number of replicas, for messages."""
        return f"{type(self.strategy).__name__} with {self.strategy.num_replicas_in_sync} replicas"

    def step(self, model: ModelSteps, step: Step) -> Step:
        """Returns a step of one device in the form that all replicas run together on a batch.

        Args:
            model: the model.
            step: the step of one device.
        """

        def run(batch: Any) -> Any:
            return self._run(model, step, batch)

        def finish() -> dict[str, Any]:
            with self.strategy.scope():
                return step.finish()

        return Step(run, finish, self.strategy.scope)

    def prediction(self, step: Step) -> Step:
        """Returns a predicting step of one device as a step of all replicas, each for its rows of a batch."""

        def run(batch: Any) -> Any:
            available = tf.cast(batch_size_of(batch), "int32")
            on_replica = self._on_replica(step, batch, available, False, _checked_outputs)
            with self.strategy.scope():
                outputs = self.strategy.run(on_replica)
                return tf.nest.map_structure(self._joined, outputs)

        return Step(run, step.finish, self.strategy.scope)

    def agreed(self, values: Any) -> Any:
        """Returns the chief's values of an int64 tensor; each process calls it at the same point."""
        if self.num_processes == 1:
            return values
        mine = tf.convert_to_tensor(values, "int64")
        return self._sum(mine if self.is_chief else tf.zeros_like(mine))

    def shared(self, number: int, *flags: bool) -> tuple[Any, ...]:
        """Returns the chief's number, and for each flag whether any process has set it.

        Each process calls it at the same point.
        """
        if self.num_processes == 1:
            return number, *flags
        mine = tf.constant([number if self.is_chief else 0, *map(int, flags)], "int64")
        number, *counts = self._sum(mine).numpy().tolist()
        return number, *(count > 0 for count in counts)

    def _sum(self, value: tf.Tensor) -> tf.Tensor:
        """Returns the sum of a tensor of each process; each calls it at the same point."""
        return _sum_of(self.strategy)(value)

    def check_data(self, data: Any) -> None:
        """Makes data ready for a training run in several processes, or refuses them."""
        if self.num_processes > 1:
            process_data.prepare(data, self._of_all)

    def _of_all(self, number: int) -> list[int]:
        """Returns the numbers that the processes pass; each calls it at the same point."""
        # Each process puts its number at its own index of a vector of zeros, and these are added up.
        numbers = [0] * self.num_processes
        numbers[self._process] = number
        found: list[int] = self._sum(tf.constant(numbers, "int64")).numpy().tolist()
        return found

    @contextlib.contextmanager
    def files(self) -> Iterator[None]:
        """Context manager of a training run, in which only the chief's files are written.

        Raises:
            tf.errors.UnavailableError: if another process is gone, instead of the error that it caused.
        """
        with contextlib.nullcontext() if self.is_chief else discarded():
            try:
                yield
                return
            except tf.errors.OpError as error:
                if self.num_processes == 1 or not _is_of_lost_process(error):
                    raise
                cause = error
        lost = lost_processes(self.strategy.cluster_resolver, str(cause))
        names = ", ".join(lost) or "one of the others"
        raise tf.errors.UnavailableError(None, None, _LOST.format(names)) from cause

    def _run(self, model: ModelSteps, step: Step, batch: Any) -> Any:
        """Returns the results of one step of all replicas."""
        is_part = isinstance(batch, process_data.Part)
        batch = batch.batch if is_part else batch
        available = tf.cast(batch_size_of(batch), "int32")
        recorded = RecordedLogs()
        on_replica = self._on_replica(step, batch, available, is_part, recorded.without_results)
        with self.strategy.scope(), recorded.metrics(model):
            logs = self.strategy.run(on_replica)
            logs = {name: self._local(value) for name, value in logs.items()}
            return {**logs, **recorded.results()}

    def _on_replica(
        self,
        step: Step,
        batch: Any,
        available: tf.Tensor,
        is_part: bool,
        finished: Callable[[Any], Any],
    ) -> Callable[[], Any]:
        """Returns the function that each replica runs: a step on its rows of the batch.

        Args:
            step: the step.
            batch: the batch of this process.
            available: its number of rows.
            is_part: whether other processes have other rows.
            finished: function of the results of a replica, which it calls itself.
        """
        watches = calls.watches
        names: set[str] = set()
        # Replicas run in threads, which have none of the settings of this thread. Each thread needs a copy,
        # since a context cannot be entered twice.
        contexts = [
            contextvars.copy_context() for _ in range(len(self.strategy.extended.worker_devices))
        ]

        def on_replica() -> Any:
            kinds = RowKinds(kind_after, names)
            first, rows = self._rows(available, is_part, kinds)
            part = tf.nest.map_structure(lambda value: _taken(value, first, rows.count), batch)
            _note(kinds, rows, batch, part)

            def computed() -> Any:
                with replicas.having(rows):
                    return finished(step.run(part))

            before, calls.watches = calls.watches, watches
            try:
                return contexts.pop().run(computed)
            finally:
                calls.watches = before

        converted: Callable[[], Any] = tf.autograph.experimental.do_not_convert(on_replica)
        return converted

    def _rows(
        self, available: tf.Tensor, is_part: bool, kinds: RowKinds
    ) -> tuple[tf.Tensor, replicas.Rows]:
        """Returns the first row of a replica in the batch of its process, and its rows of the whole batch.

        Args:
            available: rows of the batch of this process.
            is_part: whether other processes have other rows.
            kinds: the kinds of the replica's tensors.
        """
        context = tf.distribute.get_replica_context()
        replica, num_replicas = context.replica_id_in_sync_group, self.strategy.num_replicas_in_sync
        index, number = replica, num_replicas
        if is_part:
            number = num_replicas // self.num_processes
            index = replica - self._process * number
        # Rows that cannot be divided evenly: the replicas' numbers of rows differ by at most one.
        first = available * index // number
        count = available * (index + 1) // number - first
        if not is_part:
            return first, replicas.Rows(first, count, available, self.strategy, kinds)
        counts = context.all_reduce(
            tf.distribute.ReduceOp.SUM, count * tf.one_hot(replica, num_replicas, dtype="int32")
        )
        before = tf.where(tf.range(num_replicas) < replica, counts, 0)
        total = tf.reduce_sum(counts)
        kinds.note(total, EQUAL)
        return first, replicas.Rows(tf.reduce_sum(before), count, total, self.strategy, kinds)

    def _joined(self, value: Any) -> Any:
        """Returns the outputs of all replicas for their rows, in order."""
        parts = list(self.strategy.experimental_local_results(value))
        if isinstance(parts[0], tf.SparseTensor):
            return tf.sparse.concat(0, parts)
        # A scalar output belongs to no row.
        return tf.concat(parts, 0) if parts[0].shape.rank != 0 else parts[0]

    def _local(self, value: Any) -> tf.Tensor:
        """Returns the value that all replicas have as a single tensor."""
        return tf.identity(self.strategy.experimental_local_results(value)[0])


def devices_for(model: ModelSteps) -> Devices | Coordinated | None:
    """Returns the devices of the strategy that a model is trained with, `None` without one.

    Raises:
        ValueError: for a strategy that cannot train, and for a model that was not made under it.
    """
    strategy = placement.strategy_of(model)
    if strategy is None and tf.distribute.has_strategy():
        strategy = tf.distribute.get_strategy()
    if strategy is None:
        return None
    _check(model, strategy)
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        check_workers(model, strategy)
        return Coordinated(strategy)
    return Devices(strategy)


def predicting_devices(model: ModelSteps) -> Devices | Coordinated | None:
    """Returns the devices that predict the rows of a batch together; `None` if one device does.

    Each of several processes predicts all rows alone: it need not wait for others, which may predict
    something else, or nothing.
    """
    strategy = placement.strategy_of(model)
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        _check(model, strategy)
        return Coordinated(strategy)
    if not isinstance(strategy, tf.distribute.MirroredStrategy) or runs_eagerly(model):
        return None
    several = strategy.num_replicas_in_sync > 1 and model._tfkit_settings.jit_compile is not True
    return Devices(strategy) if several else None


def _check(model: ModelSteps, strategy: tf.distribute.Strategy) -> None:
    """Refuses what a strategy cannot run, before anything has changed."""
    name = type(strategy).__name__.removesuffix("V2")
    if "CentralStorage" in name:
        raise ValueError(
            f"A model is not trained under {name}, which keeps one copy of the variables. Use "
            "`tf.distribute.MirroredStrategy`."
        )
    placement.check_trained(model, strategy)
    uses_xla = model._tfkit_settings.jit_compile is True
    settings = (("run_eagerly", runs_eagerly(model)), ("jit_compile", uses_xla))
    for option, is_set in settings:
        if is_set:
            raise ValueError(
                f"`{option}=True` cannot be combined with {name}: devices exchange values in programs of "
                f"TensorFlow's kernels. Call `compile()` without `{option}`, or train without the strategy."
            )


@functools.cache
def _sum_of(strategy: tf.distribute.Strategy) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns the function that adds up a tensor of each process, which all models of a strategy share."""
    _, process, num_processes = replicas.place(strategy)
    first = process * (strategy.num_replicas_in_sync // num_processes)

    def summed(value: tf.Tensor) -> tf.Tensor:
        def on_replica() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            is_first = context.replica_id_in_sync_group == first
            mine = tf.where(is_first, value, tf.zeros_like(value))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        with strategy.scope():
            found = strategy.run(on_replica)
            return tf.identity(strategy.experimental_local_results(found)[0])

    return tf.function(summed, autograph=False, input_signature=[tf.TensorSpec([None], "int64")])


_LOST = (
    "The training cannot continue, because one of its processes has ended or does not answer: {}. Start all "
    "of them again: with `fit(resume=folder)` or `BackupAndRestore` they continue from the last saved state. "
    "`tfkit launch --restarts` does it automatically. The cause is in the output of that process."
)


def _is_of_lost_process(error: tf.errors.OpError) -> bool:
    is_aborted = "Collective ops is aborted" in str(error) and "unhealthy" in str(error)
    return is_aborted or isinstance(error, tf.errors.UnavailableError)


def lost_processes(resolver: Any, message: str) -> list[str]:
    """Returns the processes that an error of a collective operation names, or the only one that it can be."""
    cluster = resolver.cluster_spec().as_dict()
    tasks = [(job, str(number)) for job in cluster for number in range(len(cluster[job]))]
    others = [task for task in tasks if task != (resolver.task_type, str(resolver.task_id))]
    named = re.findall(r"/job:(\w+)(?:/replica:0)?/task:(\d+)", message)
    # With one other process, it can only be that one, whatever the message says.
    lost = others if len(others) == 1 else [task for task in others if task in named]
    return [" ".join(task) for task in lost]


def _checked_outputs(outputs: Any) -> Any:
    """Returns the predictions of a replica, after checking that they depend on its own rows alone."""
    for output in tf.nest.flatten(outputs, expand_composites=True):
        replicas.check_rows(output)
    return outputs


def _note(kinds: RowKinds, rows: replicas.Rows, batch: Any, part: Any) -> None:
    """Notes the tensors of a replica that all values that depend on its rows are computed from."""
    # A count is `n` to the power of 1, and degrees count divisions.
    kinds.note(rows.count, Kind("count", -1))
    kinds.note(rows.first, Kind("unknown", op=rows.first.op))
    for value, taken in zip(tf.nest.flatten(batch), tf.nest.flatten(part), strict=True):
        if isinstance(value, tf.Tensor):
            if value.shape.rank != 0:
                kinds.note(taken, ROWS)
            continue
        for component in tf.nest.flatten(taken, expand_composites=True):
            kinds.note(component, Kind("unknown", op=component.op))


def _taken(value: Any, first: tf.Tensor, count: tf.Tensor) -> Any:
    """Returns the rows of a batch's tensor that belong to a replica."""
    if isinstance(value, tf.SparseTensor):
        start = tf.concat([[first], tf.zeros_like(value.dense_shape[1:], "int32")], 0)
        size = tf.concat([[count], tf.cast(value.dense_shape[1:], "int32")], 0)
        return tf.sparse.slice(value, tf.cast(start, "int64"), tf.cast(size, "int64"))
    if not isinstance(value, (tf.Tensor, tf.RaggedTensor)) or value.shape.rank == 0:
        return value
    return value[first : first + count]
