"""Reports results as tables: on the screen and in docs/mutation-testing.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from mutating import accepted, rooms
from mutating.faults import Fault

PAGE = rooms.ROOT / "docs/mutation-testing.md"
_BEGIN, _END = "<!-- results -->\n", "<!-- end of results -->\n"


def read(path: Path) -> dict[tuple[str, str, str, str], dict]:
    """Returns the last result of each fault."""
    rows = path.read_text().splitlines() if path.exists() else []
    return {tuple(row["fault"]): row for row in map(json.loads, rows) if "error" not in row}


def verdict(fault: Fault, seen: dict) -> str:
    """Returns the outcome of a fault, in a word."""
    row = seen.get(fault.identity)
    if row is None:
        return "not run"
    if row["by"] == "time limit":
        return "time limit"
    if row["by"]:
        return "noticed"
    return "accepted" if fault.identity in accepted.read() else "survived"


def tables(faults: list[Fault], seen: dict, of: int) -> str:
    """Returns the results by package and by kind, and the faults that were accepted."""
    lines = [f"A sample of {len(faults)} of the {of:,} possible faults.", ""]
    for head, name in (
        ("package", lambda each: each.room),
        ("kind of fault", lambda each: each.kind),
    ):
        lines += [f"| {head} | faults | noticed | at the time limit | accepted | survived |"]
        lines += ["|---|---:|---:|---:|---:|---:|"]
        groups: dict[str, Counter[str]] = {}
        for fault in faults:
            groups.setdefault(name(fault), Counter())[verdict(fault, seen)] += 1
        total = sum(groups.values(), Counter())
        rows = sorted(groups.items()) if head != "package" else list(groups.items())
        for group, count in [*rows, ("all", total)]:
            lines.append(
                f"| {group} | {sum(count.values())} | {count['noticed']} | {count['time limit']} "
                f"| {count['accepted']} | {count['survived']} |"
            )
        lines.append("")
    if total["not run"]:
        lines += [f"Not run: {total['not run']}.", ""]
    reasons = accepted.read()
    lines += ["Accepted:", ""]
    for fault in faults:
        if verdict(fault, seen) == "accepted":
            place = f"`{fault.file}`, `{fault.function or 'module'}`"
            lines += [
                f"- {place}: `{fault.before}` becomes `{fault.after}`. {reasons[fault.identity]}"
            ]
    return "\n".join(lines) + "\n"


def write(faults: list[Fault], seen: dict, of: int) -> int:
    """Prints tables and survivors, and writes the tables to the page; returns 1 for too many survivors."""
    text = tables(faults, seen, of)
    print(text)
    survived = [fault for fault in faults if verdict(fault, seen) == "survived"]
    for fault in survived:
        print(f"survived: {fault.file} {fault.function}: {fault.before!r} -> {fault.after!r}")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PAGE.write_text(before + _BEGIN + "\n" + text + "\n" + _END + after, encoding="utf-8")
    return 1 if survived else 0
