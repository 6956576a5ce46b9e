"""Measures seconds and bytes."""

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
    """Returns median seconds of runs that take about a second, at least three; fewer of very slow ones."""
    times = [seconds(run)]
    while not quick and len(times) < most and sum(times) < (10 if len(times) < 3 else 1):
        times.append(seconds(run))
    return statistics.median(times)


def peak_memory() -> float:
    """Returns the peak memory of this process, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
