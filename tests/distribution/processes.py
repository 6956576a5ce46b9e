"""Processes of a cluster on this machine, for tests. Whoever starts them kills them."""

import contextlib
import fcntl
import io
import json
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

from tfkit.src.base.errors import forks
from tfkit.src.outer.launch.cluster import Task, find_addresses

ROOT = Path(__file__).resolve().parents[2]
# Variables of a cluster that tests may have been started in.
VARIABLES = ("TF_CONFIG", "SLURM_PROCID", "WORKER_ADDRESSES", "CUDA_VISIBLE_DEVICES")


def once(tmp_path_factory, name, fill):
    """Returns a folder that `fill(folder)` has filled, for one of the processes that run tests side by side.

    The others wait for it.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            fill(folder)
    return folder


def addresses(**jobs):
    """Returns an address with a free port for each process of each job."""
    return find_addresses(
        [Task(job, i, False) for job, number in jobs.items() for i in range(number)]
    )


def task_of(cluster, job, index):
    return {"cluster": cluster, "task": {"type": job, "index": index}}


class Started:
    """A Python program in a process of its own; it begins after its imports, where they take seconds.

    The process is a copy of one that has imported TensorFlow and tfkit and has run nothing.

    Args:
        command: as for `python`: a file or `-m` and a module, and the arguments.
        log: path of the file to which its output is added, or `None`: `stdout` is the output.
        errors: path of the file for its errors, or `None`: they are part of the output.
        variables: environment variables beside those of this process.
        folder: its working directory, if it is not the root of the repository.
        companions: a folder and a number; it ends when so many processes with that folder have run their
            programs. One that ends earlier takes along what others still fetch from it.
    """

    def __init__(self, command, log=None, errors=None, variables=(), folder=None, companions=None):
        server = _copies()
        self.stdout = pipe = None
        if log is None:
            reader, pipe = server.Pipe(duplex=False)
            self.stdout = open(os.dup(reader.fileno()))  # noqa: SIM115
            reader.close()
        environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
        environment |= {"TFKIT_CACHE": "off", **dict(variables)}
        arguments = list(map(str, command)), pipe, log, errors, environment, folder, companions
        self._process = server.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        if pipe is not None:
            pipe.close()

    @property
    def pid(self):
        return self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout)
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        """Ends the process. SIGTERM would be caught by TensorFlow, which waits for the other workers then."""
        if self.returncode is None:
            self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=60):
        """Returns the rest of the output, when the process has ended."""
        found = []
        if self.stdout is not None and not self.stdout.closed:
            reader = threading.Thread(target=lambda: found.append(self.stdout.read()), daemon=True)
            reader.start()
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(str(self._process), timeout)
            self.stdout.close()
        self.wait(timeout)
        return "".join(found)


def _copies():
    """Returns the context of processes that are copies; their first process is started if needed."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.distribution.preloaded"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return server


def _run(command, pipe, log, errors, environment, folder, companions):
    """Is run by the copy: does what `python` does with the words of a command."""
    output = (
        pipe.fileno() if pipe is not None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    )
    wrong = output if errors is None else os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(wrong, 2)
    for number in {output, wrong}:
        os.close(number) if pipe is None or number != output else pipe.close()
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), line_buffering=True)  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), line_buffering=True)  # noqa: SIM115
    os.environ.clear()
    # A server ends with the process that has started it.
    os.environ.update(environment | {"TFKIT_LAUNCHER": str(os.getppid())})
    os.chdir(folder or ROOT)
    assert "tests.distribution.preloaded" in sys.modules
    assert not forks.threads_are_lost
    if command[0] == "-m":
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        runpy.run_path(command[0], run_name="__main__")
    if companions is not None:
        _wait_for(*companions)


def _wait_for(folder, number):
    os.makedirs(folder, exist_ok=True)
    Path(folder, str(os.getpid())).touch()
    end = time.monotonic() + 60  # One that has failed never comes.
    while len(os.listdir(folder)) < number and time.monotonic() < end:
        time.sleep(0.02)


def start(log, module, *arguments, task=None, companions=None):
    """Starts a module as a process; its output goes to a file."""
    variables = {} if task is None else {"TF_CONFIG": json.dumps(task)}
    return Started(["-m", module, *arguments], log, variables=variables, companions=companions)


def start_servers(cluster, folder):
    """Yields the processes of all workers and parameter servers of a cluster."""
    for job in ("worker", "ps"):
        for index in range(len(cluster[job])):
            log = folder / f"{job}{index}.log"
            yield start(log, "tfkit.launch", "--server", task=task_of(cluster, job, index))


@contextlib.contextmanager
def killed_at_the_end():
    """Context manager with a list of processes; at its end they are killed."""
    processes = []
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()
