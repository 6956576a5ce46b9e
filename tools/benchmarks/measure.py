"""Runs one measurement in a separate process; the last line of its output is JSON.

python -m benchmarks.measure '{"workload": "mlp", "framework": "tfkit", "kind": "auto", "quick": false}'
"""

import importlib
import json
import sys

from benchmarks.frameworks import FRAMEWORKS

PACKAGES = ("tfkit", "tensorflow", "keras", "jax", "torch", "numpy")


def main():
    wanted = json.loads(sys.argv[1])
    framework = FRAMEWORKS[wanted["framework"]]
    if framework.module and wanted["workload"] != "imports":
        framework.load()  # Before anything else imports TensorFlow, as in a program that uses it.
    module = importlib.import_module(f"benchmarks.workloads.{wanted.pop('workload')}")
    measures = module.WORKLOAD.measure(**wanted)
    versions = {name: sys.modules[name].__version__ for name in PACKAGES if name in sys.modules}
    print(json.dumps({"measures": measures, "versions": versions}))


if __name__ == "__main__":
    main()
