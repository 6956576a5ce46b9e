"""Runs attacks in a child process that is guarded, and tells what each of them did.

A group of attacks is a module with `cases()`: a dict of `Case`s. A child runs all cases of a group that are
tested, for a start of TensorFlow takes seconds. `results(group)` starts it and gives a `Result` for each
case; the tests look at one result each, with `check`.

The guards: an audit hook that stops code from being run, imported, and files and sockets from being
opened; `inotify` on bait files and on the folder of the case, for files that C code opens; a port where
nobody may knock; a limit on memory; the peak of the resident memory; and a comparison of the process-wide
settings before and after.
"""

import contextlib
import ctypes
import dataclasses
import functools
import importlib
import inspect
import json
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
TIMEOUT = 900  # seconds for a group; it takes 10 to 30 where nothing else runs
GIB = 1 << 30
MEMORY = 3 * GIB  # above what TensorFlow has taken when the attacks begin
# Of the process's own time. The bound is 2 s; where others use the same core, each takes up to twice as long.
SECONDS = 4.0
GROWTH = (
    50 << 20
)  # bytes that the resident memory may grow by while a case runs, beside what it reads

# --- What a group says --------------------


@dataclasses.dataclass
class Case:
    """One attack through one entry point.

    Args:
        prepare: makes the files in the given folder, unguarded; gives the argument of `attempt`.
        attempt: loads them, guarded.
        file: name of the file that may be opened, and that the error must name.
        harmless: whether the attempt may also succeed: it reads without running anything.
        also: ending of the names of files beside `file` that may be opened too.
    """

    prepare: Callable[[Path], Any]
    attempt: Callable[[Any], Any]
    file: str | None = None
    harmless: bool = False
    also: str | None = None


@dataclasses.dataclass
class Result:
    """What a case did. `error` is `None` where it succeeded."""

    error: str | None
    kinds: list[str]
    message: str
    events: list[str]
    growth: int
    seconds: float
    changed: list[str]
    file: str | None
    harmless: bool


class Refused(ValueError):
    """What a command line program says when it ends with an error."""


# --- The parent --------------------


WANTED: set[str] = set()  # names of the cases that pytest has collected


@functools.cache
def results(group: str) -> dict[str, Result]:
    """The results of the cases of `tests.attacks.<group>`, run in a child."""
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder, "results"), Path(folder, "log")
        Path(folder, "wanted").write_text(json.dumps(sorted(WANTED)))
        with open(log, "w", encoding="utf-8") as said:
            child = subprocess.Popen(
                [sys.executable, "-m", "tests.attacks.harness", group, str(out), folder],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
                stdout=said,
                stderr=said,
            )
            try:
                code: int | str = child.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                code = f"no result after {TIMEOUT} s"
        lines = out.read_text().splitlines() if out.exists() else []
        said_last = log.read_text()[-3000:]
    found = {name: Result(**fields) for name, fields in map(json.loads, lines)}
    if code:
        last = f"The child ended with {code} after {len(found)} cases: {said_last}"
        found[""] = Result(last, [], "", [], 0, 0.0, [], None, False)
    return found


def check(group: str, name: str) -> None:
    """Asserts that a case was refused clearly, and did nothing else."""
    found = results(group)
    assert name in found, found.get("")
    result = found[name]
    assert not result.events, f"{result.events}\n{result.error}"
    assert not result.changed
    assert result.growth < GROWTH, f"{result.growth:,} bytes"
    assert result.seconds < SECONDS, result.error
    if result.error is None:
        assert result.harmless, "it succeeded"
        return
    assert {"ValueError", "TypeError", "FileNotFoundError"} & set(result.kinds), result.error
    assert len(result.message) > 20, result.error
    if result.file:
        assert result.file in result.message


# --- The child --------------------

_FORBIDDEN = (
    (
        "exec",
        "compile",
        "import",
        "marshal.loads",
        "pickle.find_class",
        "code.__new__",
        "ctypes.dlopen",
    )
    + ("subprocess.Popen", "pty.spawn", "webbrowser.open", "urllib.Request")
    + ("tempfile.mkstemp", "tempfile.mkdtemp")
)
_FORBIDDEN_FAMILIES = ("os.", "shutil.", "socket.", "ftplib.", "http.", "cpython.run_")
_HARMLESS = ("os.listdir", "os.scandir", "os.walk", "os.fwalk")


class Guard:
    """Watches what happens while it is on.

    Args:
        bait: files that nobody may open.
    """

    def __init__(self, bait: list[str]) -> None:
        self.on = False
        self.events: list[str] = []
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.notifier = self.libc.inotify_init1(os.O_NONBLOCK)
        assert self.notifier >= 0
        for path in bait:
            self.watch(path)
        self.port = socket.create_server(("127.0.0.1", 0))
        self.port.setblocking(False)
        sys.addaudithook(self.hook)

    def watch(self, path: str) -> int:
        """Starts to note who opens a file, or a file in a folder."""
        opened, changed, made_or_gone = 0x20, 0x2, 0x100 | 0x200 | 0xC0
        mask = opened | changed | made_or_gone
        watch = self.libc.inotify_add_watch(self.notifier, os.fsencode(path), mask)
        assert watch >= 0, path
        return watch

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """The audit hook: raises for what a model file must never cause."""
        if not self.on or threading.current_thread() is not threading.main_thread():
            return
        bad = event in _FORBIDDEN or (
            event.startswith(_FORBIDDEN_FAMILIES) and event not in _HARMLESS
        )
        if event == "open":
            bad = not (isinstance(args[0], int) or self.allows(os.fspath(args[0])))
        if bad:
            self.on = False
            stack = "".join(traceback.format_stack(limit=6)[:-1])
            self.events.append(f"{event} {str(args)[:200]}\n{stack}")
            self.on = True
            raise RuntimeError(f"The guard stopped {event} {str(args)[:200]}")

    def allows(self, path: str) -> bool:
        """Whether the case may open this file."""
        folder, name = os.path.split(path)
        case = self.case
        return folder == str(self.folder) and (
            name == case.file or (case.also is not None and name.endswith(case.also))
        )

    def start(self, folder: Path, case: Case) -> None:
        """Begins a case, in which some files of `folder` may be opened."""
        self.events, self.folder, self.case = [], folder, case
        self.watched = self.watch(str(folder))
        self._opened()
        self.on = True

    def stop(self) -> list[str]:
        """Ends a case, and gives what it should not have done."""
        self.on = False
        opened = [name for name in self._opened() if not self.allows(f"{self.folder}/{name}")]
        self.libc.inotify_rm_watch(self.notifier, self.watched)
        self._opened()
        try:
            self.port.accept()
            self.events.append("connected to a socket")
        except BlockingIOError:
            pass
        return self.events + [f"opened or changed {name}" for name in opened]

    def _opened(self) -> list[str]:
        names, data = [], b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self.notifier, 1 << 20)
        while data:
            watch, mask, _, length = struct.unpack_from("iIII", data)
            name = data[16 : 16 + length].rstrip(b"\0").decode()
            data = data[16 + length :]
            if not mask & 0x8000:  # the watch was removed
                names.append(name or f"watched file {watch}")
        return names


def _settings() -> dict[str, Any]:
    """What no file may change."""
    import tensorflow as tf

    import tfkit
    from tfkit.src.base.registry import tables as registry

    return {
        "floatx": tfkit.config.floatx(),
        "epsilon": tfkit.config.epsilon(),
        "image_data_format": tfkit.config.image_data_format(),
        "dtype policy": tfkit.config.dtype_policy().name,
        "eager functions": tf.config.functions_run_eagerly(),
        "custom objects": sorted(registry.get_custom_objects()),
        "registered": sorted(registry._registered),
        "built in": {kind: len(table) for kind, table in registry._builtins.items()},
        "modules": len(sys.modules),
        "path": list(sys.path),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(name)


def _run(case: Case, guard: Guard, folder: Path) -> Result:
    error, kinds, message = None, [], ""
    prepared = case.prepare(folder)
    before = _settings()
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts again from here.
    resident = _memory("VmRSS")
    start = time.process_time()
    guard.start(folder, case)
    try:
        case.attempt(prepared)
    except BaseException as raised:
        events = guard.stop()
        kinds = [kind.__name__ for kind in type(raised).__mro__]
        message = str(raised)
        error = "".join(traceback.format_exception(raised, limit=-6))[-4000:]
    else:
        events = guard.stop()
    seconds = time.process_time() - start
    # To read a text takes its bytes and its characters.
    read = 2 * (folder / case.file).stat().st_blocks * 512 if case.file else 0
    growth = _memory("VmHWM") - resident - read
    after = _settings()
    changed = [key for key in before if before[key] != after[key]]
    message = message[-2000:]
    return Result(error, kinds, message, events, growth, seconds, changed, case.file, case.harmless)


def _import_what_files_may_name() -> None:
    """Imports the entries of the tables, and what loading uses, so that the guard sees any other import."""
    import tfkit
    from tfkit.src.base.registry import tables as registry
    from tfkit.src.files import interop, saving

    for module in (tfkit, tfkit.saving, interop, saving):
        inspect.getmembers(module)
    for table in registry._builtins.values():
        assert all(table.values())


def main(group: str, out: str, folder: str) -> None:
    """The child: runs a group and writes a line of JSON for each case."""
    module = importlib.import_module(f"tests.attacks.{group}")
    canary = Path(folder, "canary")
    canary.write_text("untouched")
    os.environ["TFKIT_CANARY"] = str(canary)
    guard = Guard([str(canary)])
    os.environ["TFKIT_PORT"] = str(guard.port.getsockname()[1])
    wanted = json.loads(Path(folder, "wanted").read_text())
    cases = {name: case for name, case in module.cases().items() if name in wanted}
    _import_what_files_may_name()
    module.warm_up(Path(tempfile.mkdtemp(dir=folder)))
    limit = _memory("VmSize") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with open(out, "w", encoding="utf-8") as lines:
        for name, case in cases.items():
            place = Path(tempfile.mkdtemp(dir=folder))
            result = _run(case, guard, place)
            lines.write(json.dumps([name, dataclasses.asdict(result)]) + "\n")
            lines.flush()
            shutil.rmtree(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
