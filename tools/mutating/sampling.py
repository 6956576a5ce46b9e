"""Chooses faults, and the tests that could notice each."""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutating import rooms
from mutating.faults import Fault, faults_in, is_program

_OF_A_FUNCTION = 2  # The maximum for one function: otherwise long functions would fill the sample.


def all_faults() -> list[Fault]:
    """Returns every fault of every file."""
    return [
        fault
        for path in rooms.files()
        for fault in faults_in(rooms.name_of(path), path.read_bytes())
    ]


def sample(faults: Iterable[Fault], count: int, seed: str) -> list[Fault]:
    """Returns equally many faults of each room, and within a room of each kind, as far as there are any.

    The order within a kind is that of a hash of seed and fault, so that a change of the source elsewhere
    leaves the rest of the sample as it was.
    """

    def order(fault: Fault) -> str:
        return hashlib.sha256(repr((seed, *fault.identity)).encode()).hexdigest()

    kinds: dict[str, dict[str, list[Fault]]] = defaultdict(lambda: defaultdict(list))
    for fault in sorted(faults, key=order):
        kinds[fault.room][fault.kind].append(fault)
    chosen = []
    for room in rooms.ROOMS:
        in_turn = itertools.zip_longest(*(group for _, group in sorted(kinds[room].items())))
        seen: Counter[tuple[str, str]] = Counter()
        fresh = []
        share = -(-count // len(rooms.ROOMS))
        for fault in filter(None, itertools.chain.from_iterable(in_turn)):
            source = (rooms.ROOT / "tfkit/src" / fault.file).read_bytes()
            place = fault.file, fault.function
            if len(fresh) < share and seen[place] < _OF_A_FUNCTION and is_program(source, fault):
                seen[place] += 1
                fresh.append(fault)
        chosen += fresh
    return chosen


class Tests:
    """The functions that ran in each test, as `ran.py` has measured.

    Args:
        path: the file that `save` has written.
    """

    def __init__(self, path: Path) -> None:
        measured = json.loads(path.read_text())
        self._seconds: dict[str, float] = {}
        self._of: dict[str, set[str]] = defaultdict(set)
        self._rare: dict[str, dict[str, float]] = {}
        self._collecting: dict[str, float] = defaultdict(lambda: 0.3)  # all tests of a file
        for test, (seconds, *ran) in measured["tests"].items():
            self._seconds[test] = seconds
            self._collecting[test.partition("::")[0]] += 5e-4
            for number in ran:
                self._of[measured["functions"][number]].add(test)

    @staticmethod
    def save(parts: Path, path: Path, files: Sequence[str] = ()) -> None:
        """Joins the results of the processes of a test run; for some files only, with the known ones."""
        is_known = bool(files) and path.exists()
        known = json.loads(path.read_text()) if is_known else {"functions": [], "tests": {}}
        numbers = {name: number for number, name in enumerate(known["functions"])}
        tests = {
            name: ran for name, ran in known["tests"].items() if not name.startswith(tuple(files))
        }
        for part in sorted(parts.glob("ran-*.json")):
            for name, test in json.loads(part.read_text()).items():
                ran = [numbers.setdefault(function, len(numbers)) for function in test["ran"]]
                tests[name] = [test["seconds"], *ran]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"functions": list(numbers), "tests": tests}))

    def for_fault(self, fault: Fault, seconds: float) -> list[str]:
        """Returns tests that could notice a fault, those of its own room first, for about this many seconds.

        One test of each file in turn: tests of one file are alike. Of a file the shortest first and the most
        unusual, which run what few others run, in turn: most tests run a function the usual way. What no test
        runs in its own process is left to all tests of the file, and of the room's folder.
        """
        functions = self._functions(fault)
        tests = set().union(*(self._of.get(name, ()) for name in functions))
        if not tests:
            tests = set().union(*(self._of[name] for name in self._in_file(fault.file)))
            tests |= {each for each in self._seconds if each.startswith(f"tests/{fault.room}/")}
        by_file: dict[str, list[str]] = defaultdict(list)
        short = sorted(tests, key=lambda each: (self._seconds[each], each))
        unusual = sorted(short, key=self._rarities(fault.room).__getitem__, reverse=True)
        for test in dict.fromkeys(itertools.chain(*zip(short, unusual, strict=True))):
            by_file[test.partition("::")[0]].append(test)
        own = f"tests/{fault.room}/"
        turns = itertools.chain(
            *(
                itertools.chain.from_iterable(itertools.zip_longest(*files))
                for files in (
                    [by_file[name] for name in sorted(by_file) if name.startswith(own)],
                    [by_file[name] for name in sorted(by_file) if not name.startswith(own)],
                )
            )
        )
        chosen, files = [], set()
        left = {True: seconds * 0.6, False: seconds * 0.4}
        for test in filter(None, turns):
            mine, file = test.startswith(own), test.partition("::")[0]
            cost = self._seconds[test] + (0 if file in files else self._collecting[file])
            if cost < left[mine]:  # A long one leaves time for others.
                left[mine] -= cost
                files.add(file)
                chosen.append(test)
        return chosen or short[:1]

    def seconds(self, tests: Iterable[str]) -> float:
        """Returns how long tests took."""
        return sum(self._seconds[test] for test in tests)

    def _rarities(self, room: str) -> dict[str, float]:
        """Returns the rarity of the rarest function of a room that a test runs."""
        if room not in self._rare:
            found = self._rare[room] = defaultdict(float)
            for function, tests in self._of.items():
                if function.startswith(room + "/"):
                    for test in tests:
                        found[test] = max(found[test], 1 / len(tests))
        return self._rare[room]

    def _functions(self, fault: Fault) -> set[str]:
        """Returns functions whose tests could notice a fault; for a class or module, those that read it."""
        in_file = self._in_file(fault.file)
        own = f"{fault.file}:{fault.function}"
        if own in in_file:
            return {own}
        if fault.function:
            nearer = {name for name in in_file if name.startswith(own + ".")}
            return nearer or {own}
        path = rooms.ROOT / "tfkit/src" / fault.file
        changed = set(fault.before.partition("=")[0].replace(":", " ").split())
        found = {
            f"{fault.file}:{name}"
            for name, node in _functions_of(ast.parse(path.read_text()))
            if any(isinstance(each, ast.Name) and each.id in changed for each in ast.walk(node))
        }
        return found & in_file or in_file

    def _in_file(self, file: str) -> set[str]:
        return {name for name in self._of if name.startswith(file + ":")}


def _functions_of(node: ast.AST, names: tuple[str, ...] = ()) -> Iterable[tuple[str, ast.AST]]:
    """Yields the functions of a file, by qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield ".".join((*names, child.name)), child
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _functions_of(child, (*names, child.name))
