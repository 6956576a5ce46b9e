"""The states of the two generators that shuffle data: Python's `random`, and NumPy's."""

from __future__ import annotations

import random as python_random
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfkit.src.base.generators import drawing_from, generators_in_force

States = dict[str, Any]


def get() -> States:
    """Returns the states of both current generators, as data."""
    generators = generators_in_force()
    return {
        "python": generators.python.getstate(),
        "numpy": generators.numpy.get_state(legacy=False),
    }


def set(states: States) -> None:
    """Sets both current generators to states that `get` returned.

    Raises:
        ValueError, TypeError, KeyError: for values that `get` did not return; neither generator has changed
        then.
    """
    generators = generators_in_force()
    np.random.RandomState().set_state(states["numpy"])
    generators.python.setstate(states["python"])
    generators.numpy.set_state(states["numpy"])


def replayed(states: States) -> AbstractContextManager[None]:
    """Returns a context in which tfkit, in this thread, repeats the draws that followed these states."""
    python, numpy = python_random.Random(), np.random.RandomState()
    python.setstate(states["python"])
    numpy.set_state(states["numpy"])
    return drawing_from(python, numpy)
