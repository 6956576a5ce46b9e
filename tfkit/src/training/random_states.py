"""The states of the two generators that data is shuffled with: Python's `random`, and NumPy's."""

from __future__ import annotations

import random as python_random
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfkit.src.base.generators import drawing_from, generators_in_force

States = dict[str, Any]


def get() -> States:
    """The states of both generators in force, as data."""
    generators = generators_in_force()
    return {
        "python": generators.python.getstate(),
        "numpy": generators.numpy.get_state(legacy=False),
    }


def set(states: States) -> None:
    """Puts both generators in force into the states that `get` gave.

    Raises:
        ValueError, TypeError, KeyError: for what `get` did not return; neither has changed then.
    """
    generators = generators_in_force()
    np.random.RandomState().set_state(states["numpy"])
    generators.python.setstate(states["python"])
    generators.numpy.set_state(states["numpy"])


def replayed(states: States) -> AbstractContextManager[None]:
    """Within the `with` block tfkit draws in this thread what it drew after `get` gave these states."""
    python, numpy = python_random.Random(), np.random.RandomState()
    python.setstate(states["python"])
    numpy.set_state(states["numpy"])
    return drawing_from(python, numpy)
