"""Measures CPU time and memory of named parts of a case."""

import contextlib
import ctypes
import gc
import time


class Meter:
    """Collects the figures of one size of a case.

    Attributes:
        figures: by name, CPU seconds of all threads, or MiB for names that end with "MiB".
    """

    def __init__(self):
        self.figures = {}

    @contextlib.contextmanager
    def time(self, name):
        """Context manager that measures the CPU time of its body: other processes do not change it much."""
        start = time.process_time()
        yield
        self.figures[name] = time.process_time() - start

    @contextlib.contextmanager
    def peak(self, name):
        """Context manager that measures by how much the peak of the memory exceeds the memory before."""
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")  # The peak so far is forgotten.
        before = _status("VmRSS")
        yield
        self.figures[name] = _status("VmHWM") - before


def resident():
    """Returns the memory of this process in MiB, without pages of files."""
    return _status("RssAnon")


def settled():
    """Returns the memory in MiB, after the free memory that C's library holds is given back."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # Of another library than GNU's.
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return resident()


def _status(field):
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields[field].split()[0]) / 1024
