"""Runs the folder as a program, here or as a copy, but never as a part of tfkit, which imports TensorFlow."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    sys.path.append(str(folder.parent))
    runpy.run_module(f"{folder.name}.command", run_name="__main__")
