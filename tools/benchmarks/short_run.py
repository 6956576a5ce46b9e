"""One short program in a process of its own; the last line of its output is JSON.

python -m benchmarks.short_run \\
    '{"program": "lstm", "framework": "tfkit", "tensorflow_first": false, "quick": true}'
"""

import importlib
import json
import sys
import time

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.programs import PROGRAMS


def main():
    wanted = json.loads(sys.argv[1])
    start = time.perf_counter(), time.process_time()
    if wanted["tensorflow_first"]:
        importlib.import_module("tensorflow")
    keras = FRAMEWORKS[wanted["framework"]].load()
    imports = time.perf_counter() - start[0], time.process_time() - start[1]
    module = importlib.import_module(f"benchmarks.programs.{PROGRAMS[wanted['program']]}")
    keras.utils.set_random_seed(0)

    def size(rows):
        return max(rows // 10, 32) if wanted["quick"] else rows

    loss = getattr(module, wanted["program"])(keras, size)
    versions = {name: sys.modules[name].__version__ for name in ("tensorflow", keras.__name__)}
    result = {"import": imports[0], "import CPU": imports[1], "loss": float(loss)}
    print(json.dumps({"measures": result, "versions": versions}))


if __name__ == "__main__":
    main()
