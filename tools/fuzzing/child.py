"""The guarded process: makes and reads files one by one, and reports the result of each.

Its arguments: a target and the seeds of its cases, or files; the folder to work in. It writes a line before
and after each case, so that the parent process knows which case killed it.
"""

import faulthandler
import gc
import json
import resource
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from fuzzing import targets

SECONDS = 2.0  # of this process's own time, for all that is refused
LOADED_SECONDS = 20.0  # for all, loaded or refused
# seconds of wall-clock time: on a busy machine, a case takes many times its own
STOPPED_AFTER = 120
MEMORY = 4 << 30  # above TensorFlow's memory
GROWTH = 200 << 20  # in addition to four times the size of the files


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(name)


def run(name: str, prepare: Callable[[Path], Path], folder: Path) -> None:
    """Runs one case, and prints a line about its result."""
    place = folder / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    path = prepare(place)
    size = sum(file.stat().st_size for file in place.iterdir())
    print(json.dumps(["begin", name, path.name]), flush=True)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts again from here.
    resident, start = _memory("VmRSS"), time.process_time()
    faulthandler.dump_traceback_later(STOPPED_AFTER, exit=True)
    wrong = targets.read(path)
    faulthandler.cancel_dump_traceback_later()
    seconds = time.process_time() - start
    growth = _memory("VmHWM") - resident
    if seconds > SECONDS * len(targets._readers(path)):
        wrong.append(f"it took {seconds:.1f} s")
    if growth > 4 * size + GROWTH:
        wrong.append(f"it took {growth:,} bytes for a file of {size:,}")
    print(json.dumps(["end", name, path.name, wrong, seconds, growth]), flush=True)


def main(words: list[str]) -> None:
    """Runs the arguments: `cases FOLDER TARGET:NUMBER...`, or `files FOLDER PATH...`."""
    warnings.simplefilter("ignore")
    kind, folder, *rest = words
    models = targets.models()
    limit = _memory("VmSize") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = [model.get_weights() for model in models]
    cases: list[tuple[str, Callable[[Path], Path]]] = []
    if kind == "files":
        for given in rest:
            cases.append((given, lambda place, given=given: _copied(Path(given), place)))
    else:
        for given in rest:
            target, _, number = given.partition(":")
            cases.append((number, lambda place, t=target, n=number: targets.make(t, place, n)))
    for name, prepare in cases:
        run(name, prepare, Path(folder))
        for model, weights in zip(models, before, strict=True):
            model.set_weights(weights)


def _copied(given: Path, place: Path) -> Path:
    """Returns a file of the corpus, or a folder whose first file by name is the one to read."""
    if given.is_dir():
        for file in given.iterdir():
            shutil.copy(file, place / file.name)
        names = sorted(file.name for file in given.iterdir())
        return place / next((name for name in names if name.endswith(".json")), names[0])
    shutil.copy(given, place / given.name.split("-")[-1])
    return place / given.name.split("-")[-1]


if __name__ == "__main__":
    main(sys.argv[1:])
