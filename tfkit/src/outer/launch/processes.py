"""Processes that run together: prefixed output, a common end, restarts."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from tfkit.src.outer.launch.cluster import Task, find_addresses
from tfkit.src.outer.launch.server import LAUNCHER

_SERVE = [sys.executable, "-m", "tfkit.launch", "--server"]
# Linux kills a process that asks for it when its parent ends, even by a kill. The setting outlasts `execv`.
_END_WITH_PARENT = """
import ctypes, os, signal, sys
parent, *command = sys.argv[1:]
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(parent):
    os.execv(command[0], command)
"""


class Processes:
    """The processes of a cluster.

    Args:
        tasks: the tasks.
        command: the command line of the tasks that run the script.
        restarts: how many times processes that fail are started again.
        grace: seconds that a process has to end after a signal.
        out: stream for all output, with the task in front of each line.
        variables: returns the environment variables of a task, of it and all addresses.
    """

    def __init__(
        self,
        tasks: list[Task],
        command: list[str],
        restarts: int,
        grace: float,
        out: IO[str],
        variables: Callable[[Task, dict[str, list[str]]], dict[str, str]],
    ) -> None:
        self._tasks = tasks
        self._command = command
        self._restarts = restarts
        self._grace = grace
        self._out = out
        self._variables = variables
        self._running: dict[Task, subprocess.Popen[bytes]] = {}
        self._readers: list[threading.Thread] = []
        # Processes that have ended, as `(task, process, status)`; signals for all, as numbers; and errors.
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._addresses: dict[str, list[str]] = {}
        self._writing = threading.Lock()
        self._is_unread = False

    def run(self) -> int:
        """Runs the processes until all that run the script have ended; returns the exit code.

        It is 0 if all of them succeed, and otherwise the code of the first one to fail. A failure ends the
        others, unless restarts are left.
        """
        with self._signals():
            try:
                self._start_all()
                return self._watch()
            finally:
                self._stop(signal.SIGTERM)
                for reader in self._readers:
                    reader.join(timeout=self._grace)

    def _watch(self) -> int:
        """Handles what happens to the processes; returns the exit code."""
        while any(not task.serves for task in self._running):
            try:
                # With a limit, because a signal that arrives just before a wait does not end it.
                event = self._events.get(timeout=0.5)
            except queue.Empty:
                continue
            if isinstance(event, OSError):
                raise event
            if isinstance(event, int):
                self._say(f"all processes receive {signal.Signals(event).name}")
                self._stop(event)
                # A shell's exit status for a process that a signal has ended.
                return 128 + event
            task, process, status = event
            if self._running.get(task) is not process:
                continue  # It was stopped for a restart.
            del self._running[task]
            if status == 0 and not task.serves:
                continue
            reason = f"status {status}" if status >= 0 else signal.Signals(-status).name
            if not self._restarts:
                self._say(f"{task} has ended with {reason}; the others are stopped")
                return status if status > 0 else 128 - status
            self._restarts -= 1
            if task.serves and task.job == "worker":
                # The coordinator continues, and connects to the new process.
                self._say(f"{task} has ended with {reason}; it is started again")
                self._start(task)
            else:
                # The others wait in a collective operation for one that is gone, or have lost variables.
                self._say(f"{task} has ended with {reason}; all are started again")
                self._stop(signal.SIGTERM)
                self._start_all()
        return 0

    def _start_all(self) -> None:
        self._addresses = find_addresses(self._tasks)
        for task in self._tasks:
            self._start(task)

    def _start(self, task: Task) -> None:
        command = _SERVE if task.serves else self._command
        if sys.platform == "linux":
            # `-I` and `-S`: no file of the user's folder or environment is imported before the
            # script.
            command = [sys.executable, "-ISc", _END_WITH_PARENT, str(os.getpid()), *command]
        process = subprocess.Popen(
            command,
            env={
                **os.environ,
                **self._variables(task, self._addresses),
                # Lines appear when they are written, not when the process ends.
                "PYTHONUNBUFFERED": "1",
                LAUNCHER: str(os.getpid()),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches it through `_stop` only, once.
        )
        self._running[task] = process
        reader = threading.Thread(target=self._read, args=(task, process), daemon=True)
        reader.start()
        self._readers.append(reader)
        threading.Thread(target=self._wait, args=(task, process), daemon=True).start()

    def _wait(self, task: Task, process: subprocess.Popen[bytes]) -> None:
        self._events.put((task, process, process.wait()))

    def _read(self, task: Task, process: subprocess.Popen[bytes]) -> None:
        """Copies the output of a process, with the task in front of each line."""
        assert process.stdout is not None
        for line in process.stdout:
            # Of a line that is overwritten, such as a progress bar, only the last text is kept.
            text = line.decode(errors="replace").rstrip("\r\n").rpartition("\r")[2]
            self._write(f"[{task}] {text}\n")

    def _say(self, text: str) -> None:
        self._write(f"[launch] {text}\n")

    def _write(self, text: str) -> None:
        """Writes a line of output; without a reader, as after `| head`, all processes end.

        The threads continue to read, or the processes would wait for them forever.
        """
        with self._writing:
            if self._is_unread:
                return
            try:
                self._out.write(text)
                self._out.flush()
            except OSError as error:
                self._is_unread = True
                self._events.put(error)

    def _stop(self, number: int) -> None:
        """Sends a signal to all processes, and kills those that still run after the grace period.

        Servers get it last: until then they hold the variables that a script may save.
        """
        running, self._running = self._running, {}
        # Servers last: workers that are ending may still read variables from them.
        for serves in (False, True):
            self._end([it for task, it in running.items() if task.serves == serves], number)

    def _end(self, running: list[subprocess.Popen[bytes]], number: int) -> None:
        for process in running:
            process.send_signal(number)
        end = time.monotonic() + self._grace
        for process in running:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                _kill_session(process)
                process.wait()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Passes Ctrl-C, the end of a terminal, and a request to end to all processes."""
        kinds = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # As under `nohup`.
            kinds.append(signal.SIGHUP)
        before = {
            kind: signal.signal(kind, lambda kind, _: self._events.put(int(kind))) for kind in kinds
        }
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and those that it has started."""
    try:
        # It leads its own session, whose process group has its number.
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
