"""`tools/mutate`: the faults it puts in, its sample, and the table of faults that are accepted."""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A text of <= and 3."""
NAMES = {
    "one": 1,
    "two": 2,
}
Size = int | None


def first(values: list[int], step: int = 2, rtol: float = 1e-5) -> int:
    """Returns what stands in < or > places."""
    if not values or step < 1:
        raise ValueError(f"{step} < 1 and 2")
    step += 1
    return divmod(values[0], step) - values[1]


class Thing:
    def rest(self, seen):
        self.seen = seen if self.ready() else None
        return seen is not None and "a" in seen
'''


@pytest.fixture
def mutating(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from mutating import faults

    return faults


def test_the_faults_of_a_file(mutating):
    found = mutating.faults_in("losses/x.py", SOURCE.encode())
    changes = {(each.function, each.kind, each.before, each.after) for each in found}
    names = 'NAMES = { "one": 1, "two": 2, }'
    step = "if not values or step < 1:"
    assert changes == {
        ("", "emptied table", names, "NAMES = { }"),
        ("", "constant", '"one": 1,', '"one": 2,'),
        ("", "constant", '"two": 2,', '"two": 3,'),
        ("first", "constant", *line("def first(values: list[int], step: int = {}, rtol", "2", "3")),
        ("first", "tolerance", *line("rtol: float = {}) -> int:", "1e-5", "0.01")),
        ("first", "not", step, "if values or step < 1:"),
        ("first", "and, or", step, "if not values and step < 1:"),
        ("first", "comparison", step, "if not values or step <= 1:"),
        ("first", "off by one", step, "if not values or step < 2:"),
        (
            "first",
            "removed statement",
            'raise ValueError(f"{step} < 1 and 2")',
            "pass",
        ),
        ("first", "removed statement", "step += 1", "pass"),
        ("first", "constant", "step += 1", "step += 2"),
        *(
            ("first", kind, "return divmod(values[0], step) - values[1]", after)
            for kind, after in {
                "arithmetic": "return divmod(values[0], step) + values[1]",
                "swapped arguments": "return divmod(step, values[0]) - values[1]",
            }.items()
        ),
        *(
            ("first", "off by one", "return divmod(values[0], step) - values[1]", after)
            for after in (
                "return divmod(values[1], step) - values[1]",
                "return divmod(values[0], step) - values[2]",
            )
        ),
        *(
            ("Thing.rest", kind, "self.seen = seen if self.ready() else None", after)
            for kind, after in {
                "removed statement": "pass",
                "not": "self.seen = seen if not self.ready() else None",
            }.items()
        ),
        *(
            ("Thing.rest", kind, 'return seen is not None and "a" in seen', after)
            for kind, after in {
                "and, or": 'return seen is not None or "a" in seen',
                "constant": "return seen is not None and 'a_' in seen",
            }.items()
        ),
        *(
            ("Thing.rest", "comparison", 'return seen is not None and "a" in seen', after)
            for after in (
                'return seen is None and "a" in seen',
                'return seen is not None and "a" not in seen',
            )
        ),
    }


def line(part, before, after):
    """The line of `SOURCE` that has a part, before and after a fault."""
    (whole,) = (each for each in SOURCE.splitlines() if part.format(before) in each)
    return whole.strip(), whole.strip().replace(part.format(before), part.format(after))


def test_a_fault_leaves_the_lines_where_they_are(mutating):
    source = SOURCE.encode()
    for fault in mutating.faults_in("losses/x.py", source):
        assert mutating.is_program(source, fault)
        changed = fault.apply(source)
        assert changed.count(b"\n") == source.count(b"\n")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_the_sample_has_all_rooms_and_kinds_and_stays_when_lines_move(mutating):
    from mutating.sampling import all_faults, sample

    faults = all_faults()
    chosen = sample(faults, 70, "a")
    assert len(chosen) == 70
    assert chosen == sample(reversed(faults), 70, "a")
    assert {fault.room: 10 for fault in chosen} == dict.fromkeys(
        ("core", "training", "files", "optimizers", "losses", "metrics", "export"), 10
    )
    assert {fault.kind for fault in chosen} == {fault.kind for fault in faults}
    assert {fault.identity for fault in chosen} != {
        fault.identity for fault in sample(faults, 70, "b")
    }


def test_every_accepted_fault_has_its_reason(mutating):
    """Those that cannot be put in any more are said by the tool, and are no reason to stop."""
    from mutating import accepted

    for why in accepted.read().values():
        assert why.endswith(".")
        assert len(why) > 20
    assert accepted.gone([]) == list(accepted.read())


def test_tests_are_chosen_by_what_they_ran(mutating, tmp_path):
    from mutating.sampling import Tests

    ran = {
        "tests/losses/test_a.py::short": {"seconds": 0.1, "ran": ["losses/x.py:first"]},
        "tests/losses/test_a.py::long": {"seconds": 50, "ran": ["losses/x.py:first"]},
        "tests/models/test_b.py::other": {"seconds": 0.2, "ran": ["losses/x.py:Thing.rest"]},
        "tests/losses/test_c.py::none": {"seconds": 0.1, "ran": ["losses/y.py:f"]},
    }
    (tmp_path / "ran-1.json").write_text(json.dumps(ran))
    Tests.save(tmp_path, tmp_path / "ran.json")
    tests = Tests(tmp_path / "ran.json")

    def chosen(function, seconds=200):
        fault = mutating.Fault("losses/x.py", function, "not", "a", "b", 0, 0, "")
        return [name.rpartition(":")[2] for name in tests.for_fault(fault, seconds)]

    assert chosen("first") == ["short", "long"]
    assert chosen("first", 10) == chosen("first", 0.1) == ["short"]
    assert chosen("Thing.rest") == chosen("Thing") == ["other"]
    # Nothing runs it here: programs that tests start may.
    assert chosen("unseen") == ["short", "none", "long", "other"]

    again = {"tests/losses/test_a.py::short": {"seconds": 3, "ran": ["losses/x.py:unseen"]}}
    (tmp_path / "ran-1.json").write_text(json.dumps(again))
    Tests.save(tmp_path, tmp_path / "ran.json", ["tests/losses/test_a.py"])
    tests = Tests(tmp_path / "ran.json")
    assert chosen("unseen") == ["short"]
    assert chosen("Thing.rest") == ["other"]


def test_a_mutant_is_what_its_tests_import(mutating, tmp_path):
    from mutating.__main__ import Server

    path = ROOT / "tfkit/src/losses/reduction.py"
    source = path.read_bytes()
    (fault,) = (
        each
        for each in mutating.faults_in("losses/reduction.py", source)
        if each.function == "_reduce" and "values.shape.rank == 1 or" in each.after
    )
    test = "tests/losses/test_base.py::test_empty_batches_are_zero"
    with Server(tmp_path) as server:
        mutant, same, broken, hangs = (
            server.run(fault.file, text, [test], limit)
            for text, limit in [
                (fault.apply(source), 120),
                (source, 120),
                (source + b"\n1 / 0\n", 120),
                (source + b"\nwhile True:\n    pass\n", 1),
            ]
        )
    assert (mutant["by"], mutant["tests"]) == (test, 1)
    assert (same["by"], same["tests"]) == (None, 1)
    assert broken["by"] == "import tfkit"
    assert hangs["by"] == "time limit"
    # It is taken out again, and the tree that it was copied from never had it.
    assert path.read_bytes() == (tmp_path / "tfkit/src/losses/reduction.py").read_bytes() == source
