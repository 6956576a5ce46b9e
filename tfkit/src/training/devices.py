"""The steps of a model under a strategy of `tf.distribute`: all replicas together make one step of one batch.

A step takes the whole batch, on each process. Each replica computes on its rows of it, so that a step of a
strategy has the form of any other step, and programs run it in their loops. Without a strategy nothing of
this is on the path: `devices_for` returns `None`.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base import watching
from tfkit.src.runtime import replicas
from tfkit.src.saving.atomic import discarded
from tfkit.src.training.coordinated import Coordinated, check_workers
from tfkit.src.training.data import DatasetData, batch_size_of
from tfkit.src.training.recorded_logs import RecordedLogs
from tfkit.src.training.running_steps import runs_eagerly
from tfkit.src.training.step import Step

if TYPE_CHECKING:
    from tfkit.src.training.model_steps import ModelSteps


class Devices:
    """The devices of a strategy, as the loop of a training uses them.

    Args:
        strategy: the strategy.

    Attributes:
        is_chief: whether this process writes files.
        num_processes: number of processes that take part.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self.strategy = strategy
        self.is_chief, self.num_processes = _place(strategy)

    @property
    def description(self) -> str:
        """The strategy and its number of replicas, for messages."""
        return f"{type(self.strategy).__name__} with {self.strategy.num_replicas_in_sync} replicas"

    def step(self, model: ModelSteps, step: Step) -> Step:
        """Returns a step of one device as one of all replicas, which takes the whole batch.

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

    def agreed(self, values: Any) -> Any:
        """Returns the chief's values of an int64 tensor; each process calls it at the same point."""
        if self.num_processes == 1:
            return values
        mine = tf.convert_to_tensor(values, "int64")
        return self._sum(mine if self.is_chief else tf.zeros_like(mine))

    @functools.cached_property
    def _sum(self) -> Any:
        """The sum of a tensor of each process."""

        def summed(value: tf.Tensor) -> tf.Tensor:
            def on_replica() -> tf.Tensor:
                context = tf.distribute.get_replica_context()
                local = self.strategy.num_replicas_in_sync // self.num_processes
                is_first = context.replica_id_in_sync_group % local == 0
                mine = tf.where(is_first, value, tf.zeros_like(value))
                return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

            with self.strategy.scope():
                return self._local(self.strategy.run(on_replica))

        return tf.function(summed, autograph=False, reduce_retracing=True)

    def check_data(self, data: Any) -> None:
        """Refuses a dataset whose order would be another one in each process."""
        if self.num_processes == 1 or not isinstance(data, DatasetData):
            return
        seeds = _seeds(data.dataset)
        differs = any(not any(pair) for pair in seeds)
        if seeds and not differs:
            mine = tf.constant(seeds, "int64")
            is_other = tf.reduce_any(self.agreed(mine) != mine)
            # All processes learn it, so that none waits for the others.
            differs = bool(self._sum(tf.cast(is_other, "int64")))
        if differs:
            raise ValueError(
                "This dataset is shuffled in another order in each process: rows are seen twice or never. "
                "Call `tfkit.utils.set_random_seed(...)` with the same number in all of them, before the "
                "dataset is made, and pass a `seed` to `shuffle()`."
            )

    def files(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which only the chief's files are written."""
        return contextlib.nullcontext() if self.is_chief else discarded()

    def _run(self, model: ModelSteps, step: Step, batch: Any) -> Any:
        """Returns the results of one step of all replicas."""
        total = tf.cast(batch_size_of(batch), "int32")
        num_replicas = self.strategy.num_replicas_in_sync
        watches, recorded = watching.thread.watches, RecordedLogs()
        # The threads of replicas have none of the settings of this one.
        contexts = [
            contextvars.copy_context() for _ in range(len(self.strategy.extended.worker_devices))
        ]

        def on_replica() -> Any:
            index = tf.distribute.get_replica_context().replica_id_in_sync_group
            first = total * index // num_replicas
            rows = replicas.Rows(
                first, total * (index + 1) // num_replicas - first, total, self.strategy
            )
            part = tf.nest.map_structure(lambda value: _taken(value, rows), batch)

            def computed() -> Any:
                with replicas.having(rows):
                    logs = step.run(part)
                    return recorded.without_results(logs)

            before, watching.thread.watches = watching.thread.watches, watches
            try:
                return contexts.pop().run(computed)
            finally:
                watching.thread.watches = before

        with self.strategy.scope(), recorded.metrics(model):
            logs = self.strategy.run(tf.autograph.experimental.do_not_convert(on_replica))
            logs = {name: self._local(value) for name, value in logs.items()}
            return {**logs, **recorded.results()}

    def _local(self, value: Any) -> tf.Tensor:
        """Returns a value that all replicas have, as that of one device."""
        return tf.identity(self.strategy.experimental_local_results(value)[0])


def devices_for(model: ModelSteps) -> Devices | Coordinated | None:
    """Returns the devices of the strategy that a model is trained with, `None` without one.

    Raises:
        ValueError: for a strategy that cannot train, and for a model that was not made under it.
    """
    strategy = strategy_of(model)
    is_of_model = strategy is not None
    if strategy is None and tf.distribute.has_strategy():
        strategy = tf.distribute.get_strategy()
    if strategy is None:
        return None
    _check(model, strategy, is_of_model)
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        check_workers(model, strategy)
        return Coordinated(strategy)
    return Devices(strategy)


def predicting_devices(model: ModelSteps) -> Coordinated | None:
    """Returns the workers that predict; `None` if one device does."""
    strategy = strategy_of(model)
    if not isinstance(strategy, tf.distribute.ParameterServerStrategy):
        return None
    _check(model, strategy, is_of_model=True)
    return Coordinated(strategy)


def _check(model: ModelSteps, strategy: tf.distribute.Strategy, is_of_model: bool) -> None:
    """Refuses what a strategy cannot run, before anything has changed."""
    name = type(strategy).__name__.removesuffix("V2")
    if "CentralStorage" in name:
        raise ValueError(
            f"A model is not trained under {name}, which keeps one copy of the variables. Use "
            "`tf.distribute.MirroredStrategy`."
        )
    if not is_of_model and strategy.num_replicas_in_sync > 1 and model.variables:
        raise ValueError(
            f"Model '{model.name}' was not made under the {name} in whose scope it is trained. Make "
            "and compile it inside of `strategy.scope()`, or train it outside."
        )
    settings = (("run_eagerly", runs_eagerly(model)), ("jit_compile", model.jit_compile is True))
    for option, is_set in settings:
        if is_set:
            raise ValueError(
                f"`{option}=True` does not go with {name}: devices exchange values in programs of "
                f"TensorFlow's kernels. Call `compile()` without `{option}`, or train without the strategy."
            )


def strategy_of(model: ModelSteps) -> tf.distribute.Strategy | None:
    """Returns the strategy that has placed the model's variables, unless that is on one device."""
    variables = list(model.variables)
    if model._tfkit_loss_tracker is not None:
        # A model that is compiled and not built yet has these already.
        variables += model._tfkit_loss_tracker.variables
        variables += getattr(model.optimizer, "variables", ())
    for variable in variables:
        strategy = getattr(variable, "_distribute_strategy", None)
        if strategy is not None and not isinstance(strategy, tf.distribute.OneDeviceStrategy):
            return strategy
    return None


def _place(strategy: Any) -> tuple[bool, int]:
    """Returns whether this process is the chief, and the number of processes."""
    resolver = getattr(strategy, "cluster_resolver", None)
    if resolver is None or not resolver.cluster_spec():
        return True, 1
    cluster = resolver.cluster_spec().as_dict()
    workers = len(cluster.get("worker", ())) + len(cluster.get("chief", ()))
    is_chief = resolver.task_type == "chief" or (
        "chief" not in cluster and resolver.task_type == "worker" and resolver.task_id == 0
    )
    return is_chief or not resolver.task_type, max(workers, 1)


def _seeds(dataset: Any) -> list[tuple[int, int]]:
    """Returns the pair of seeds of each shuffle of a dataset, zeros for one that draws its own."""
    found = [pair for each in dataset._inputs() for pair in _seeds(each)]
    seeds = getattr(dataset, "_seed", None), getattr(dataset, "_seed2", None)
    if "Shuffle" in type(dataset).__name__ and seeds[0] is not None and seeds[1] is not None:
        found.append((int(seeds[0]), int(seeds[1])))
    return found


def _taken(value: Any, rows: replicas.Rows) -> Any:
    """Returns the rows of a replica of a tensor of the batch."""
    if isinstance(value, tf.SparseTensor):
        start = tf.concat([[rows.first], tf.zeros_like(value.dense_shape[1:], "int32")], 0)
        size = tf.concat([[rows.count], tf.cast(value.dense_shape[1:], "int32")], 0)
        return tf.sparse.slice(value, tf.cast(start, "int64"), tf.cast(size, "int64"))
    if not isinstance(value, (tf.Tensor, tf.RaggedTensor)) or value.shape.rank == 0:
        return value
    return value[rows.first : rows.first + rows.count]
