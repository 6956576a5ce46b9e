"""Runs the command line of `./tools/clients`."""

from __future__ import annotations

import argparse

from clienting import report, running
from clienting.packages import PACKAGES


def main() -> None:
    """Runs the packages that are named, or prints the table."""
    parser = argparse.ArgumentParser(prog="tools/clients", description=__doc__)
    names = [package.name for package in PACKAGES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a file of tests")
    parser.add_argument(
        "--only", default="", help="files whose path has this part; the results of others are kept"
    )
    parser.add_argument(
        "--table",
        action="store_true",
        help="run nothing; write docs/packages.md from docs/packages.json",
    )
    arguments = parser.parse_args()
    if arguments.table:
        return report.write_page()
    chosen = [package for package in PACKAGES if package.name in (arguments.names or names)]
    if unknown := set(arguments.names) - set(names):
        parser.error(f"unknown packages {sorted(unknown)}. Expected some of {names}")
    for package in chosen:
        files = report.stored(package)
        for file, results in running.run(package, arguments.limit, arguments.only):
            files[file] = results
            report.save(package, files)
        print(report.text(package, report.summary(package, files)), flush=True)


if __name__ == "__main__":
    main()
