"""The addresses and tasks of a local cluster, as `TF_CONFIG` states them."""

from __future__ import annotations

import contextlib
import json
import random
import socket
from dataclasses import dataclass

_HOST = "127.0.0.1"
# Below the ports that systems assign to connections: such a port could be used before its process listens.
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Task:
    """One process of a cluster.

    Attributes:
        job: `"worker"`, `"chief"` or `"ps"` (parameter server).
        index: its number in the job.
        serves: whether the process serves TensorFlow's operations instead of running the script.
    """

    job: str
    index: int
    serves: bool

    def __str__(self) -> str:
        return f"{self.job} {self.index}"


def make_tasks(num_workers: int, num_ps: int) -> list[Task]:
    """Returns the tasks of a cluster.

    Without parameter servers, every worker runs the script. With parameter servers, a chief runs it, and the
    workers and parameter servers serve.
    """
    workers = [Task("worker", index, serves=num_ps > 0) for index in range(num_workers)]
    if not num_ps:
        return workers
    servers = [Task("ps", index, serves=True) for index in range(num_ps)]
    return [Task("chief", 0, serves=False), *workers, *servers]


def find_addresses(tasks: list[Task]) -> dict[str, list[str]]:
    """Returns an address with a free port for each task, by job.

    Raises:
        OSError: if there are fewer free ports.
    """
    addresses: dict[str, list[str]] = {}
    # Of the system's randomness: programs that set a seed would all try the same ports.
    ports = iter(random.SystemRandom().sample(_PORTS, len(_PORTS)))
    with contextlib.ExitStack() as stack:
        # All are open at once, so that no two tasks get the same port.
        for task in tasks:
            port = next((port for port in ports if _is_free(stack, port)), None)
            if port is None:
                raise OSError(
                    f"{len(tasks)} processes need a port of {_HOST} each, and too few are free between "
                    f"{_PORTS[0]} and {_PORTS[-1]}. End programs that use them."
                )
            addresses.setdefault(task.job, []).append(f"{_HOST}:{port}")
    return addresses


def _is_free(stack: contextlib.ExitStack, port: int) -> bool:
    """Whether a port is free; then a socket holds it until the stack ends."""
    listener = stack.enter_context(socket.socket())
    try:
        listener.bind((_HOST, port))
    except OSError:
        return False
    return True


def tensorflow_variables(task: Task, addresses: dict[str, list[str]]) -> dict[str, str]:
    """Returns the environment variables from which TensorFlow reads the cluster and the task."""
    here = {"type": task.job, "index": task.index}
    return {"TF_CONFIG": json.dumps({"cluster": addresses, "task": here})}


def jax_variables(task: Task, addresses: dict[str, list[str]]) -> dict[str, str]:
    """Returns the environment variables that `keras.distribution.initialize()` reads for JAX."""
    workers = addresses["worker"]
    return {
        "TFKIT_DISTRIBUTION_ENGINE": "jax",
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": ",".join(workers),
        "KERAS_DISTRIBUTION_NUM_PROCESSES": str(len(workers)),
        "KERAS_DISTRIBUTION_PROCESS_ID": str(task.index),
    }
