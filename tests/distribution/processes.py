"""Processes of a cluster on this machine, for tests. Whoever starts them kills them."""

import json
import os
import socket
import subprocess
import sys


def addresses(**jobs):
    """Returns an address with a free port for each process of each job."""
    sockets = [socket.socket() for _ in range(sum(jobs.values()))]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    free = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return {job: [free.pop() for _ in range(number)] for job, number in jobs.items()}


def task_of(cluster, job, index):
    return {"cluster": cluster, "task": {"type": job, "index": index}}


def start(log, module, *arguments, task=None):
    """Starts a module as a process; its output goes to a file."""
    environment = {
        **os.environ,
        "TFKIT_CACHE": "off",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TFKIT_LAUNCHER": str(os.getpid()),  # A server ends with the process that has started it.
    }
    environment.pop("TF_CONFIG", None)
    if task is not None:
        environment["TF_CONFIG"] = json.dumps(task)
    with open(log, "a") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=environment,
            stdout=output,
            stderr=output,
        )


def start_servers(cluster, folder):
    """Yields the processes of all workers and parameter servers of a cluster."""
    for job in ("worker", "ps"):
        for index in range(len(cluster[job])):
            log = folder / f"{job}{index}.log"
            yield start(log, "tfkit.launch", "--server", task=task_of(cluster, job, index))
