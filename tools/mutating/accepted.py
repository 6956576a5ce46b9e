"""The table of faults that no test needs to notice, each with the reason: `accepted.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from mutating.faults import Fault

PATH = Path(__file__).with_name("accepted.toml")


def read() -> dict[tuple[str, str, str, str], str]:
    """Returns the reasons, by the identities of faults."""
    rows = tomllib.loads(PATH.read_text(encoding="utf-8")).get("fault", [])
    return {(row["file"], row["function"], row["before"], row["after"]): row["why"] for row in rows}


def gone(faults: Iterable[Fault]) -> list[tuple[str, str, str, str]]:
    """Returns rows whose faults no longer exist."""
    known = {fault.identity for fault in faults}
    return [row for row in read() if row not in known]
