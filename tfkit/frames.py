"""Whose code a frame runs: that of the user, or of tfkit and what it calls.

Tracebacks show the user's lines, and warnings point at them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from types import FrameType

import h5py
import numpy as np
import rich
import tensorflow as tf

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# TensorFlow's package, and what runs functions in between: context managers, decorators.
_OTHERS = (
    os.path.dirname(os.path.abspath(tf.__file__)) + os.sep,
    os.path.abspath(contextlib.__file__),
    os.path.abspath(functools.__file__),
)
# Packages that tfkit calls, and Python's own modules.
_DEPENDENCIES = tuple(
    os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (h5py, np, rich)
)
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


@functools.lru_cache(maxsize=4096)
def is_tfkit(filename: str) -> bool:
    """Whether a file is one of tfkit's."""
    return os.path.abspath(filename).startswith(_HERE)


@functools.lru_cache(maxsize=4096)
def is_library(filename: str) -> bool:
    """Whether a file is one of tfkit's, of TensorFlow's, or runs functions for them."""
    return is_tfkit(filename) or os.path.abspath(filename).startswith(_OTHERS)


@functools.lru_cache(maxsize=4096)
def is_dependency(filename: str) -> bool:
    """Whether a file belongs to Python itself or to a package that tfkit calls beside TensorFlow."""
    path = os.path.abspath(filename)
    standard = path.startswith(_STANDARD) and "site-packages" not in path
    return filename.startswith("<frozen ") or standard or path.startswith(_DEPENDENCIES)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issues a warning that points at the line of the user's that led to it.

    Frames are told apart by their files, so that it is right from wherever it is called.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and is_library(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level - 1 if frame is not None else 2)
