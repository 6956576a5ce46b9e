"""Measures a training workload: its first epoch, later ones, memory, and later ones from `tf.data`."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.frameworks import FRAMEWORKS, force
from benchmarks.lazily import tf
from benchmarks.plain import Loop
from benchmarks.timing import peak_memory, seconds


@dataclass(frozen=True)
class Training:
    """A model to train.

    Attributes:
        batch_size: rows a step.
        num_steps: steps an epoch.
        data: gives `x` and `y` with so many rows.
        build: gives a model of a module with Keras's interface, and the arguments of `compile`.
        plain: returns the model for a plain loop.
        program: the kind of loop that is best for it.
    """

    batch_size: int
    num_steps: int
    data: Callable[[int], tuple[Any, Any]]
    build: Callable[[Any], tuple[Any, dict[str, Any]]]
    plain: Callable[[], Any]
    program: str

    def measure(self, framework: str, kind: str | None, quick: bool) -> dict[str, float]:
        """Returns seconds for a step and for the first epoch, and MiB."""
        num_steps = 3 if quick else self.num_steps
        x, y = self.data(num_steps * self.batch_size)
        num_steps = -(-len(x) // self.batch_size)
        if FRAMEWORKS[framework].module:
            run, run_dataset = self._fits(framework, kind, x, y)
        else:
            run, run_dataset = self._plain_fits(x, y)
        measures = {"first": seconds(lambda: run(1))}
        if framework == "tfkit":
            # The steps of a long training, in which XLA takes part, in a short time.
            FRAMEWORKS[framework].load().config.set_compile_after(0)
            run(1)
        measures["step"] = epoch_seconds(run, quick) / num_steps
        measures["memory"] = peak_memory()
        run_dataset(1)
        measures["dataset step"] = epoch_seconds(run_dataset, quick) / num_steps
        return measures

    def _fits(self, framework: str, kind: str | None, x: Any, y: Any) -> tuple[Any, Any]:
        keras = FRAMEWORKS[framework].load()
        keras.utils.set_random_seed(0)
        model, arguments = self.build(keras)
        model.compile(**arguments)
        if kind not in (None, "auto"):
            force(kind)
        timer = epoch_timer(keras)
        dataset = None

        def run(epochs: int) -> list[float]:
            options = {"batch_size": self.batch_size, "callbacks": [timer], "verbose": 0}
            model.fit(x, y, epochs=epochs, **options)
            return timer.take()

        def run_dataset(epochs: int) -> list[float]:
            nonlocal dataset
            dataset = dataset or make_dataset(x, y, self.batch_size)
            model.fit(dataset, epochs=epochs, callbacks=[timer], verbose=0)
            return timer.take()

        return run, run_dataset

    def _plain_fits(self, x: Any, y: Any) -> tuple[Any, Any]:
        tf.random.set_seed(0)
        loop = Loop(self.plain(), self.program, self.batch_size)
        tensors = tf.constant(x), tf.constant(y)
        dataset = None

        def read() -> None:
            """Reads all batches and discards them: the minimum that `tf.data` costs."""
            nonlocal dataset
            dataset = dataset or make_dataset(x, y, self.batch_size)
            count = tf.constant(0, "int64")
            dataset.reduce(count, lambda total, batch: total + 1).numpy()

        def several(work: Callable[[], Any]) -> Callable[[int], list[float]]:
            return lambda epochs: [seconds(work) for _ in range(epochs)]

        return several(lambda: loop.fit(*tensors)), several(read)


def epoch_seconds(run: Callable[[int], list[float]], quick: bool) -> float:
    """Returns median seconds of an epoch, from about a second of epochs in one run, but at least three."""
    if quick:
        return run(1)[0]
    return statistics.median(run(min(20, max(3, int(1 / run(1)[0])))))


def epoch_timer(keras: Any, clock: Callable[[], float] = time.perf_counter) -> Any:
    """Returns a callback that measures the seconds of each epoch, by a clock."""

    class Timer(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.times: list[float] = []

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.start = clock()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.times.append(clock() - self.start)

        def take(self) -> list[float]:
            times, self.times = self.times, []
            return times

    return Timer()


def make_dataset(x: Any, y: Any, batch_size: int) -> Any:
    rows = tf.data.Dataset.from_tensor_slices((x, y))
    return rows.shuffle(1024).batch(batch_size).prefetch(2)
