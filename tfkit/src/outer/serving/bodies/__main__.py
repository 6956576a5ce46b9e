"""The reader: a process that reads large bodies, and writes large answers, for the server.

Run as a program with the number of a socket and the largest memory; never as a part of tfkit, which imports
TensorFlow.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    sys.path.append(str(folder.parent))
    runpy.run_module(f"{folder.name}.reader", run_name="__main__")
