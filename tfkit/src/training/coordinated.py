"""The steps of a model under `ParameterServerStrategy`: each is run by one worker of a cluster.

The process with the script is the coordinator. It has the data, and sends the rows of a few steps at a time
to any worker that is free. Variables are on parameter servers, for all workers. With one worker, steps run
one after the other, as on one device. Several workers do not wait for each other: a step computes with
weights that other steps may change meanwhile. Each step is run once. If a worker ends, another one repeats
the steps that it has not finished.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.engine import replicas
from tfkit.src.training.array_program import ArrayProgram
from tfkit.src.training.prediction import PredictProgram
from tfkit.src.training.recorded_logs import RecordedLogs
from tfkit.src.training.scheduled import ScheduledArrays, ScheduledBatches, ScheduledPrediction
from tfkit.src.training.step import Step, StepTrace

if TYPE_CHECKING:
    from tfkit.src.training.model_steps import ModelSteps

_PATIENCE = 10.0  # Seconds for the steps in progress after Ctrl-C.


class Coordinated:
    """The workers of a cluster, as the loop of a training run uses them.

    Args:
        strategy: the strategy.

    Attributes:
        is_chief: whether this process writes files: the only one that runs the script does.
        num_processes: number of processes that run the script.
        num_workers: number of workers.
    """

    is_chief, num_processes = True, 1

    def __init__(self, strategy: tf.distribute.ParameterServerStrategy) -> None:
        self.strategy = strategy
        self.num_workers = len(_hosts("worker"))
        self._servers = _hosts("ps")
        # The same object for all models of the strategy.
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        _kept.add(self._coordinator)

    @property
    def description(self) -> str:
        """The strategy and its number of workers, for messages."""
        return f"ParameterServerStrategy with {self.num_workers} workers"

    def step(self, model: ModelSteps, step: Step) -> Step:
        """Returns a step of one device in the form that a worker runs.

        Results of metrics are computed after the last step of a program, when all workers have finished.

        Args:
            model: the model.
            step: the step of one device.
        """
        recorded = RecordedLogs()

        def run(batch: Any) -> Any:
            with replicas.on_servers(self.strategy), recorded.metrics(model):
                return recorded.without_results(step.run(batch))

        def finish() -> dict[str, Any]:
            return {**step.finish(), **recorded.results()}

        return Step(run, finish, program=self._program)

    def prediction(self, step: Step) -> Step:
        """Returns a predicting step of one device in the form that a worker runs."""

        def run(batch: Any) -> Any:
            with replicas.on_servers(self.strategy):
                return step.run(batch)

        return Step(run, step.finish, program=self._program)

    def _program(self, kind: type, trace: StepTrace) -> Any:
        """Returns the program of a kind for the trace of a step."""
        if kind is PredictProgram:
            return ScheduledPrediction(trace, self)
        return (ScheduledArrays if kind is ArrayProgram else ScheduledBatches)(trace, self)

    def schedule(self, function: Any, *arguments: Any) -> Any:
        """Lets the next free worker run a `ConcreteFunction`; returns its results as a remote value."""
        return self._coordinator.schedule(function, args=arguments)

    def join(self) -> None:
        """Waits until all that was scheduled is done.

        Raises:
            tf.errors.OpError: the first error of a worker; what was scheduled after it is not run.
        """
        try:
            self._coordinator.join()
        except KeyboardInterrupt:
            self.settle()
            raise

    def settle(self) -> None:
        """Waits a few seconds for what was scheduled, so that nothing of it runs after an error."""
        end = time.monotonic() + _PATIENCE
        while not self._coordinator.done() and time.monotonic() < end:
            time.sleep(0.01)

    def shared(self, number: int, *flags: bool) -> tuple[Any, ...]:
        """Returns the arguments: only one process runs the script, so that all agree."""
        return number, *flags

    def agreed(self, values: Any) -> Any:
        """Returns the values of the only process that runs the script."""
        return values

    def check_data(self, data: Any) -> None:
        """Accepts all data: one process reads them."""

    @contextlib.contextmanager
    def files(self) -> Iterator[None]:
        """Context manager of a training run, in which this process writes files.

        Raises:
            tf.errors.UnavailableError: if a parameter server is gone, instead of the error that this caused.
        """
        lost: list[int] = []
        try:
            yield
        except tf.errors.OpError as error:
            lost = self._lost_servers()
            if not lost:
                raise
            cause = error
        if lost:
            raise tf.errors.UnavailableError(None, None, _LOST.format(lost[0])) from cause

    def _lost_servers(self) -> list[int]:
        """Returns the indices of the parameter servers that do not answer, or have lost their values."""
        lost = []
        for index, host in enumerate(self._servers):
            try:
                with tf.device(host):
                    tf.add(index, 1).numpy()
            except tf.errors.OpError:
                lost.append(index)
        return lost


# TensorFlow's coordinators are kept as long as the process lives: their destructor waits until workers that
# have ended come back, and the process would not end before that (seen in 2.21).
_kept: set[Any] = set()


@atexit.register
def _never_destroy() -> None:
    # At its end, Python frees even what a module refers to: one more reference keeps the destructor from
    # running.
    for coordinator in _kept:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(coordinator))


_LOST = (
    "Parameter server {} has ended, and the values of its variables are lost. Start the cluster and the "
    "script again: with `fit(resume=folder)` or `BackupAndRestore` it continues from its last saved state."
)


def _hosts(job: str) -> list[str]:
    """Returns the name of the CPU of each process of a job. The strategy does not expose its cluster."""
    names = (device.name for device in tf.config.list_logical_devices("CPU"))
    return [name for name in names if name.startswith(f"/job:{job}/") and name.endswith("CPU:0")]


def check_workers(model: ModelSteps, strategy: Any) -> None:
    """Refuses what workers cannot run together.

    Raises:
        ValueError: with what to do instead.
    """
    if strategy.num_replicas_in_sync > 1:
        raise ValueError(
            "Under ParameterServerStrategy a worker trains on one GPU. Start a worker for each, with "
            f"`CUDA_VISIBLE_DEVICES` set. Received: workers with {strategy.num_replicas_in_sync} GPUs"
        )
    workers = len(_hosts("worker"))
    if workers > 1 and getattr(model.optimizer, "gradient_accumulation_steps", None):
        raise ValueError(
            "`gradient_accumulation_steps` cannot be combined with several workers of "
            "ParameterServerStrategy, whose steps mix. Use larger batches, or one worker. "
            f"Received: {workers} workers"
        )
