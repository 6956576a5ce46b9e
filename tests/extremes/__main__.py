"""Runs all ops at extreme values in all ways and dtypes, and prints what differs: see `./tools/extremes`."""

import argparse
import collections
import os
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.extremes.reasons import REASONS, reason_of
from tests.extremes.table import DTYPES, KINDS, operands
from tests.extremes.ways import WAYS, Finding, check


def main() -> int:
    """Prints a table; the exit status is 1 if something differs without a reason."""
    parser = argparse.ArgumentParser(prog="tools/extremes", description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of one operand, two, or rows")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--ways", default=",".join((*WAYS, "served")))
    parser.add_argument("--only", help="ops by name, with commas")
    parser.add_argument("--all", action="store_true", help="also print what has a reason")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # NumPy's, of infinities.
    only = options.only.split(",") if options.only else None
    groups: dict[tuple[str, ...], list[Finding]] = collections.defaultdict(list)
    explained: collections.Counter[str] = collections.Counter()
    start, num_cases = time.monotonic(), 0
    for kind in options.kinds.split(","):
        for dtype in options.dtypes.split(","):
            names = {case.name for case in KINDS[kind](dtype)}
            num_cases += len(names & set(only or names)) * len(operands(kind, dtype)[0])
            for finding in check(kind, dtype, only, options.ways.split(",")):
                if isinstance(finding, str):
                    print(finding)
                    continue
                reason = reason_of(finding)
                explained[reason.text if reason else ""] += 1
                if reason is None or options.all:
                    key = finding.name, finding.what, finding.dtype, finding.way
                    groups[key].append(finding)
            print(f"-- {kind}, {dtype}: {time.monotonic() - start:.0f} s", flush=True)
    for (name, what, dtype, way), findings in groups.items():
        examples = "; ".join(
            f"{', '.join(f'{v:.4g}' for v in f.values)}: {f.got:.6g}, not {f.expected:.6g}"
            for f in findings[:3]
        )
        print(f"{name:24} {what:13} {dtype:9} {way:18} {len(findings):5}  {examples}")
    print(f"\n{num_cases} values of functions, each as {options.ways}")
    print("Differences with a reason:")
    for reason in REASONS:
        print(f"{explained[reason.text]:7}  {reason.text}")
    print(f"{explained['']} differences without a reason")
    return bool(explained[""])


if __name__ == "__main__":
    sys.exit(main())
