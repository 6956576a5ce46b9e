"""`python -m tfkit`: the command line."""

import sys

from tfkit.src.outer.cli import main

if __name__ == "__main__":
    sys.exit(main())
