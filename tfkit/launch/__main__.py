"""`python -m tfkit.launch --workers 2 script.py`: the same as `tfkit launch`."""

import sys

from tfkit.src.outer.cli import main

if __name__ == "__main__":
    sys.exit(main(["launch", *sys.argv[1:]]))
