"""Runs notebooks and draws pictures: `./tools/gallery [NAME ...]`."""

import argparse
import time

import matplotlib

from drawing import notebooks, readme


def main():
    names = [*notebooks.EXAMPLES, notebooks.GUIDE, *readme.ALL]
    parser = argparse.ArgumentParser(description="Runs notebooks and draws pictures.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; unless given, all")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    matplotlib.use("agg")
    for name in options.names or names:
        started = time.perf_counter()
        readme.ALL[name]() if name in readme.ALL else notebooks.run(name)
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
