"""Measures trainings on two replicas: of one process, or of two processes that run this module.

tfkit and Keras run `fit`. By hand is the fastest that was found: all steps of an epoch in one `tf.function`
around `strategy.run`. Each replica gathers its half of the rows from arrays, in an order drawn for the epoch.
The gradients are added up in one call, which packs them, and each replica updates its copies by the formula
of Adam, without an exchange. For the MLP, TensorFlow's kernel of Adam takes a third more time of the CPUs.
"""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory
from benchmarks.training import epoch_timer

# Name in the table, steps of an epoch.
MODELS = {"MLP": ("mlp", 500), "CNN": ("cnn", 60)}
TIMEOUT = 200


@dataclass(frozen=True)
class Strategies:
    """Steps of models under a strategy.

    Attributes:
        num_processes: 1 for `MirroredStrategy` on two logical CPUs; 2 for `MultiWorkerMirroredStrategy`.
    """

    num_processes: int

    def measure(self, framework: str, kind: str | None, quick: bool) -> dict[str, float]:
        """Returns seconds of a step and of the CPUs in it, for each model, and MiB of a process."""
        if self.num_processes == 1:
            cpus = [tf.config.LogicalDeviceConfiguration()] * 2
            host = tf.config.list_physical_devices("CPU")[0]
            tf.config.set_logical_device_configuration(host, cpus)
            return steps(framework, tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), quick)
        if framework == "keras":
            return {}  # It does not run Keras's `fit`.
        return self._in_processes(framework, quick)

    def _in_processes(self, framework: str, quick: bool) -> dict[str, float]:
        """Returns what the first process has measured, with the time of the CPUs of all of them."""
        command = [sys.executable, "-m", "benchmarks.strategies", framework, str(int(quick))]
        addresses = free_addresses(self.num_processes)
        with ExitStack() as stack:
            workers = []
            for index in range(self.num_processes):
                task = {
                    "cluster": {"worker": addresses},
                    "task": {"type": "worker", "index": index},
                }
                worker = subprocess.Popen(
                    command,
                    env=os.environ | {"TF_CONFIG": json.dumps(task)},
                    stdout=subprocess.PIPE,
                )
                stack.callback(worker.kill)
                workers.append(worker)
            outputs = [worker.communicate(timeout=TIMEOUT)[0] for worker in workers]
            if any(worker.returncode for worker in workers):
                raise RuntimeError(f"exit status {[worker.returncode for worker in workers]}")
        found = [json.loads(output.splitlines()[-1]) for output in outputs]
        cpu = {name: sum(it[name] for it in found) for name in found[0] if name.endswith("CPU")}
        return found[0] | cpu


def steps(framework: str, strategy: tf.distribute.Strategy, quick: bool) -> dict[str, float]:
    """Returns the measures of this process."""
    measures = {}
    for name, (module, num_steps) in MODELS.items():
        training = import_module(f"benchmarks.workloads.{module}").WORKLOAD
        num_steps = 3 if quick else num_steps
        np.random.seed(0)
        x, y = training.data(num_steps * training.batch_size)
        run = _fit if FRAMEWORKS[framework].module else _by_hand
        walls, cpus = run(framework, strategy, training, x, y, 1 if quick else 5)
        measures[f"{name} step"] = float(np.median(walls)) / num_steps
        measures[f"{name} step, CPU"] = float(np.median(cpus)) / num_steps
    return measures | {"memory": peak_memory()}


def _fit(framework, strategy, training, x, y, epochs) -> tuple[list[float], list[float]]:
    """Returns wall and CPU seconds of each epoch of a `fit`, but the first one."""
    keras = FRAMEWORKS[framework].load()
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model, arguments = training.build(keras)
        model.compile(**arguments)
    wall, cpu = epoch_timer(keras), epoch_timer(keras, time.process_time)
    model.fit(
        x, y, batch_size=training.batch_size, epochs=1 + epochs, callbacks=[wall, cpu], verbose=0
    )
    return wall.take()[1:], cpu.take()[1:]


def _by_hand(framework, strategy, training, x, y, epochs) -> tuple[list[float], list[float]]:
    """Returns wall and CPU seconds of each epoch of a loop by hand, but the first one."""
    loop = ReplicaLoop(training.plain, strategy, training.batch_size)
    tensors = tf.constant(x), tf.constant(y)
    walls, cpus = [], []
    for _ in range(1 + epochs):
        start = time.perf_counter(), time.process_time()
        loop.fit(*tensors)
        walls.append(time.perf_counter() - start[0])
        cpus.append(time.process_time() - start[1])
    return walls[1:], cpus[1:]


class ReplicaLoop:
    """Trains a model by hand, with Adam, on the replicas of a strategy.

    Args:
        make_model: makes a model with `weights`, a list of variables, and `loss(x, y, step)`.
        strategy: the strategy.
        batch_size: rows a step, of all replicas together.
    """

    def __init__(self, make_model: Any, strategy: tf.distribute.Strategy, batch_size: int) -> None:
        self.strategy = strategy
        self.batch_size = batch_size
        with strategy.scope():
            self.model = make_model()
            self.m = [tf.Variable(tf.zeros_like(weight)) for weight in self.model.weights]
            self.v = [tf.Variable(tf.zeros_like(weight)) for weight in self.model.weights]
            self.total = tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        self.done = 0
        # A function of its own, so that the loop itself runs on one device alone.
        self.step = tf.function(lambda *args: strategy.run(self._step, args), autograph=False)
        self.steps = tf.function(self._steps, autograph=False)
        self.read = tf.function(lambda: self.total.read_value(), autograph=False)

    def fit(self, x: tf.Tensor, y: tf.Tensor) -> float:
        """Runs one epoch over arrays, in a new order; returns the mean loss."""
        order = np.random.permutation(len(x)).reshape(-1, self.batch_size)
        with self.strategy.scope():
            self.total.assign(0.0)
            self.steps(x, y, tf.constant(order), tf.constant(float(self.done)))
            self.done += len(order)
            return float(self.read()) / len(order)

    def _steps(self, x: tf.Tensor, y: tf.Tensor, batches: tf.Tensor, done: tf.Tensor) -> None:
        def body(index: tf.Tensor, number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            self.step(x, y, batches[index], number + 1)
            return index + 1, number + 1

        count = batches.shape[0]
        tf.while_loop(lambda index, number: index < count, body, [0, done], parallel_iterations=1)

    def _step(self, x: tf.Tensor, y: tf.Tensor, rows: tf.Tensor, number: tf.Tensor) -> None:
        context = tf.distribute.get_replica_context()
        size = self.batch_size // context.num_replicas_in_sync
        rows = tf.slice(rows, [context.replica_id_in_sync_group * size], [size])
        with tf.GradientTape() as tape:
            loss = self.model.loss(tf.gather(x, rows), tf.gather(y, rows), number)
            loss /= context.num_replicas_in_sync
        gradients = tape.gradient(loss, self.model.weights)
        self.total.assign_add(loss)
        # TensorFlow packs them into one tensor.
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        rate = 1e-3 * tf.sqrt(1 - tf.pow(0.999, number)) / (1 - tf.pow(0.9, number))
        for weight, m, v, gradient in zip(
            self.model.weights, self.m, self.v, gradients, strict=True
        ):
            m = assign(m, m + (gradient - m) * 0.1)
            v = assign(v, v + (tf.square(gradient) - v) * 0.001)
            assign(weight, weight - rate * m / (tf.sqrt(v) + 1e-7))


def assign(variable: tf.Variable, value: tf.Tensor) -> tf.Tensor:
    """Sets this replica's copy of a variable, without an exchange between replicas; returns the value."""
    tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)
    return value


def free_addresses(count: int) -> list[str]:
    """Returns addresses of this machine with free ports."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


def main(framework: str, quick: str) -> None:
    """Measures in one process of several; the last line of the output is JSON."""
    if FRAMEWORKS[framework].module:
        FRAMEWORKS[framework].load()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(json.dumps(steps(framework, strategy, quick == "1")))


if __name__ == "__main__":
    main(*sys.argv[1:])
