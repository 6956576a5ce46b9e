"""The owner of a frame's code: the user, or tfkit and its dependencies.

Tracebacks show the user's lines, and warnings point at them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import rich
import tensorflow as tf

from tfkit.src.borrowed.private import autograph_source_maps

_GENERATED = "__autograph_generated_file"
_HERE = str(Path(__file__).resolve().parents[3]) + os.sep
# TensorFlow's package, and modules that run functions in between: context managers, decorators.
_OTHERS = (
    os.path.dirname(os.path.abspath(tf.__file__)) + os.sep,
    os.path.abspath(contextlib.__file__),
    os.path.abspath(functools.__file__),
)
# Packages that tfkit calls, and Python's own modules.
_DEPENDENCIES = tuple(
    os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep for module in (h5py, np, rich)
)
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


@functools.lru_cache(maxsize=4096)
def is_tfkit(filename: str) -> bool:
    """Whether a file belongs to tfkit."""
    return os.path.abspath(filename).startswith(_HERE)


@functools.lru_cache(maxsize=4096)
def is_library(filename: str) -> bool:
    """Whether a file belongs to tfkit or TensorFlow, or runs functions for them."""
    return is_tfkit(filename) or os.path.abspath(filename).startswith(_OTHERS)


@functools.lru_cache(maxsize=4096)
def is_dependency(filename: str) -> bool:
    """Whether a file belongs to Python itself or to a package other than TensorFlow that tfkit calls."""
    path = os.path.abspath(filename)
    standard = path.startswith(_STANDARD) and "site-packages" not in path
    return filename.startswith("<frozen ") or standard or path.startswith(_DEPENDENCIES)


class Place(NamedTuple):
    """A line of code."""

    filename: str
    line: int
    function: str


def as_written(filename: str, line: int) -> Place | None:
    """Returns the user's line of generated code of AutoGraph; `None` for other code."""
    if _GENERATED not in filename:
        return None
    for sources in autograph_source_maps():
        for place, origin in sources.items():
            if place.filename == filename and place.lineno == line:
                return Place(origin.loc.filename, origin.loc.lineno, origin.function_name or "")
    return None


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issues a warning at the user's line that led to it.

    Frames are distinguished by their files, so that the depth of the call does not matter.
    """
    frame = here = sys._getframe(1)
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    if is_library(frame.f_code.co_filename):
        frame = here  # A thread of tfkit's own, or its command line.
    place = as_written(frame.f_code.co_filename, frame.f_lineno)
    filename, line, _ = place or Place(frame.f_code.co_filename, frame.f_lineno, "")
    values = frame.f_globals
    registry = values.setdefault("__warningregistry__", {})
    module = values.get("__name__") or "<unknown>"
    warnings.warn_explicit(message, category, filename, line, module, registry)
