"""Runs each size of each case in a process of its own, and prints or writes the table."""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from growing.table import page

PAGE = Path("docs/growth.md")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "measure":
        return measure(sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser(prog="tools/growth", description=__doc__)
    parser.add_argument("--only", help="names of cases, separated by commas")
    parser.add_argument("--largest", type=float, default=math.inf, help="leaves out larger sizes")
    parser.add_argument("--timeout", type=float, default=900, help="seconds a size, 900")
    parser.add_argument("--json", default="build/growth.json", help="file that keeps all figures")
    parser.add_argument("--write", action="store_true", help=f"writes {PAGE}")
    options = parser.parse_args()
    from growing.cases import CASES

    path = Path(options.json)
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name in options.only.split(",") if options.only else CASES:
        function, sizes = CASES[name]
        case = kept[name] = {"title": title_of(function), "sizes": {}}
        for size in sizes:
            if size <= options.largest:
                case["sizes"][str(size)] = figures = run(name, size, options.timeout)
                print(name, size, figures, flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, indent=1))
    text = page(kept)
    if options.write:
        PAGE.write_text(text)
    else:
        print(text)


def title_of(function):
    """Returns the description of a case, as a title."""
    words = function.__doc__.removeprefix("Measures ")
    return words[0].upper() + words[1:]


def run(name, size, timeout):
    """Returns the figures of one size, or a string that says why there are none."""
    command = [sys.executable, "-m", "growing", "measure", name, str(size)]
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TFKIT_CACHE": "off"}
    try:
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"over {timeout:g} s"
    if ran.returncode:
        return f"failed: {ran.stderr.strip().splitlines()[-1]}"
    return json.loads(ran.stdout.splitlines()[-1])


def measure(name, size):
    from growing.cases import CASES
    from growing.meter import Meter

    meter = Meter()
    CASES[name][0](size, meter)
    print(json.dumps(meter.figures))


if __name__ == "__main__":
    main()
