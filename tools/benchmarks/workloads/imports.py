"""`import`, in a process that has not imported anything similar yet."""

import importlib

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, seconds


class Import:
    def measure(self, framework, kind, quick):
        name = FRAMEWORKS[framework].module or "tensorflow"
        return {
            "import": seconds(lambda: importlib.import_module(name)),
            "memory": peak_memory(),
        }


WORKLOAD = Import()
