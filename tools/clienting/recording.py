"""A plugin of pytest that writes the outcome of each test at once: nothing is lost when it is killed."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Writes a line of JSON for each test that is done, with the error of one that failed."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        error = ""
        if call.excinfo is not None:
            lines = str(call.excinfo.value).strip().splitlines()
            error = f"{call.excinfo.typename}: {lines[0] if lines else ''}"[:300]
        values = dict(item.user_properties)
        _write(report.nodeid, report.outcome, report.duration, error, values)
    return report


def pytest_collectreport(report: Any) -> None:
    """Writes a line for a file that cannot be collected."""
    if report.failed:
        text = str(report.longrepr).strip().splitlines()
        errors = [line[4:] for line in text if line.startswith("E   ")]
        _write(report.nodeid, "failed", 0.0, (errors or text or [""])[-1][:300], {})


def _write(test: str, outcome: str, seconds: float, error: str, values: dict[str, Any]) -> None:
    line = {
        "test": test,
        "outcome": outcome,
        "seconds": seconds,
        "error": error,
        "values": values,
    }
    with open(os.environ["CLIENTING_RECORD"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
