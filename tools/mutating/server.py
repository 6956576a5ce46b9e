"""Runs tests on mutants in a copy of the source: `python -m mutating.server COPY`.

Each mutant has a fork of this process, which has imported TensorFlow and other packages: that takes 3
seconds. tfkit itself is imported by the fork. The mutated file is in the copy, where programs that tests
start see it.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path


class _Only:
    """A plugin that keeps some tests, in a given order of files, and reports the first that failed."""

    def __init__(self, tests, say):
        self.places = {test: place for place, test in enumerate(tests)}
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        self.files = {name: place for place, name in enumerate(files)}
        self.say = say

    def pytest_collection_modifyitems(self, items):
        kept = [item for item in items if item.nodeid in self.places]
        items[:] = sorted(kept, key=lambda item: self.files[item.nodeid.partition("::")[0]])
        self.say(tests=len(items))

    def pytest_collectreport(self, report):
        if report.failed:
            self.say(by=report.nodeid, why=_last_line(report))

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.say(by=report.nodeid, why=_last_line(report))


def _last_line(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return " ".join(text.split())[:200]


def _forget_tfkit():
    for name in [each for each in sys.modules if each.partition(".")[0] == "tfkit"]:
        del sys.modules[name]


def _run(copy, module, source, tests, say):
    """Imports the mutant in the fork, and runs the tests until one fails."""
    import pytest

    try:
        importlib.import_module("tfkit")
        mutant = importlib.import_module(module)
    except Exception as error:
        say(by="import tfkit", why=f"{type(error).__name__}: {error}"[:200])
        return 1
    if Path(mutant.__file__).read_bytes() != source or not mutant.__file__.startswith(str(copy)):
        raise RuntimeError(f"{mutant.__file__} is not the mutant")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    options = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=short", *files]
    code = pytest.main(options, plugins=[_Only(tests, say)])
    return int(code)


def _mutant(copy, request):
    """Makes a fault, runs the tests in a fork, undoes the fault; returns the result."""
    path = copy / "tfkit/src" / request["file"]
    original, status = path.read_bytes(), path.stat()
    module = ".".join(("tfkit.src", *Path(request["file"]).with_suffix("").parts))
    source = request["source"].encode()
    seen = {"by": None, "why": None, "tests": 0}
    said = copy / "said.jsonl"
    said.write_text("")
    path.write_bytes(source)
    _forget_bytecode(path)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        _in_child(copy, module, source, request["tests"], said)
    try:
        code = _wait(child, began + request["limit"])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # Including programs that a test has left running.
        path.write_bytes(original)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        _forget_bytecode(path)
    for line in said.read_text().splitlines():
        for key, value in json.loads(line).items():
            seen[key] = seen[key] or value
    seen["seconds"] = round(time.monotonic() - began, 1)
    if code is None:
        seen.update(by=seen["by"] or "time limit", why=seen["why"] or f"over {request['limit']} s")
    elif code < 0:
        seen.update(by=seen["by"] or "crash", why=seen["why"] or signal.Signals(-code).name)
    elif code not in (0, 1, 2) or (code and seen["by"] is None):
        seen["error"] = f"pytest ended with {code}: {(copy / 'log').read_text()[-2000:]}"
    return seen


def _in_child(copy, module, source, tests, said):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    log = os.open(copy / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    handle = open(said, "a", buffering=1)  # noqa: SIM115, open until the process ends

    def say(**what):
        handle.write(json.dumps(what) + "\n")

    code = 3
    try:
        code = _run(copy, module, source, tests, say)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child, until):
    """Returns the exit status of a fork; None if it did not end in time, and was killed."""
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _forget_bytecode(path):
    """Removes bytecode, which is found by time and size of its source: those of a mutant can be equal."""
    for each in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        each.unlink()


def main():
    """Processes requests, one a line, until there are no more."""
    copy = Path(sys.argv[1]).resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and ends the fork
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)  # for programs that tests start
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    sys.path[:] = [str(copy), *(each for each in sys.path if each not in ("", str(copy)))]
    for name in ("tfkit", "tfkit.src.borrowed.private", "keras", "numpy", "pytest"):
        importlib.import_module(name)
    if not sys.modules["tfkit"].__file__.startswith(str(copy)):
        raise RuntimeError(f"tfkit is imported from {sys.modules['tfkit'].__file__}")
    _forget_tfkit()
    for line in sys.stdin:
        answers.write(json.dumps(_mutant(copy, json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
