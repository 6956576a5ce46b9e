#!/usr/bin/env python
"""Compares for each public class which methods of a subclass Keras calls, and which tfkit: ten minutes.

    python tools/overrides.py [name ...]

Prints what Keras calls, and tfkit neither calls nor warns of; the exit status is the number of such classes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import tfkit
from tests.overrides.sweep import cases, findings


def main(names):
    tfkit.config.set_compile_after(10**9)  # XLA would compile for longer than the trainings take.
    found = {name: case for name, case in cases().items() if not names or name in names}
    failed = 0
    for name, case in found.items():
        lines = findings(*case)
        failed += bool(lines)
        print(name, *lines or ["ok"], sep="\n    " if lines else ": ", flush=True)
    print(f"{len(found)} classes, {failed} of them with findings")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
