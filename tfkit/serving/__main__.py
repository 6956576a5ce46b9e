"""`python -m tfkit.serving BASE`."""

import sys

from tfkit.serving.command import main

if __name__ == "__main__":
    sys.exit(main())
