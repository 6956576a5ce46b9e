"""Builds the documentation site into a folder: `./tools/site --help`."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
from pathlib import Path

from packaging.version import Version
from sphinx.cmd.build import build_main

import tfkit
from documenting import public, staging

HERE = Path(__file__).parent
OUT = public.ROOT / "build/site"


def build(out: Path, *options: str) -> int:
    """Builds the site into a folder. Returns 0, or 1 where there was an error or a warning."""
    gc.set_threshold(100_000, 20, 50)  # By default, its passes take a fourth of the time.
    with tempfile.TemporaryDirectory(prefix="documenting-") as folder:
        pages, trees = Path(folder, "pages"), Path(folder, "trees")
        staging.write(pages)
        places = ["-c", str(HERE), "-d", str(trees), str(pages), str(out)]
        return build_main(["-q", "-b", "html", "-W", "--keep-going", *options, *places])


def list_versions(out: Path) -> list[str]:
    """Writes the list of the versions in a folder, and a page that leads to the newest. Returns the list."""
    found = [path.parent.name for path in out.glob("*/index.html")]
    versions = sorted(found, key=Version, reverse=True)
    code = (HERE / "scripts/versions.js").read_text(encoding="utf-8")
    (out / "versions.js").write_text(f"const VERSIONS = {json.dumps(versions)};\n{code}")
    newest = f"{versions[0]}/index.html"
    page = '<!doctype html>\n<meta charset="utf-8">\n<title>tfkit</title>\n'
    page += f'<meta http-equiv="refresh" content="0; url={newest}">\n<a href="{newest}">tfkit</a>\n'
    (out / "index.html").write_text(page)
    return versions


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="tools/site", description=__doc__)
    parser.add_argument(
        "out", nargs="?", type=Path, default=OUT, help="folder of the site (default: build/site)"
    )
    parser.add_argument(
        "--versions",
        action="store_true",
        help="build into a folder of this version inside of it, and list all versions that are there",
    )
    arguments = parser.parse_args()
    out = arguments.out
    options = ["-A", "versions=1"] if arguments.versions else []
    folder = out / tfkit.__version__ if arguments.versions else out
    if status := build(folder, *options):
        sys.exit(status)
    if arguments.versions:
        print("Versions:", *list_versions(out))
    print(f"{len(list(folder.rglob('*.html')))} pages. Open {out / 'index.html'}")


if __name__ == "__main__":
    main()
