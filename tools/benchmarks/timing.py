"""Seconds and bytes."""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def repeat(run: Callable[[], Any], quick: bool, most: int = 20) -> float:
    """Median seconds of some runs: as many as take a second, three at least; fewer of very slow ones."""
    times = [seconds(run)]
    while not quick and len(times) < most and sum(times) < (10 if len(times) < 3 else 1):
        times.append(seconds(run))
    return statistics.median(times)


def peak_memory() -> float:
    """The most memory that this process has had, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
