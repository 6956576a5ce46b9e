"""Builds the documentation site into a folder: `./tools/site --help`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from documenting import public, staging

OUT = public.ROOT / "build/site"


def build(out: Path) -> int:
    """Builds the site into a folder. Returns 0, or 1 where there was an error or a warning."""
    with tempfile.TemporaryDirectory(prefix="documenting-") as folder:
        pages, trees = Path(folder, "pages"), Path(folder, "trees")
        staging.write(pages)
        options = ["-q", "-b", "html", "-W", "--keep-going"]
        places = ["-c", str(Path(__file__).parent), "-d", str(trees), str(pages), str(out)]
        return build_main([*options, *places])


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="tools/site", description=__doc__)
    parser.add_argument(
        "out", nargs="?", type=Path, default=OUT, help="folder of the site (default: build/site)"
    )
    out = parser.parse_args().out
    if status := build(out):
        sys.exit(status)
    print(f"{len(list(out.rglob('*.html')))} pages. Open {out / 'index.html'}")


if __name__ == "__main__":
    main()
