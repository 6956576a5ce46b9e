"""The states of the two generators that data is shuffled with: Python's `random`, and NumPy's global one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

States = dict[str, Any]


def get() -> States:
    """Both states, as data."""
    return {"python": random.getstate(), "numpy": np.random.get_state(legacy=False)}


def set(states: States) -> None:
    """Puts both generators into the states that `get` gave.

    Raises:
        ValueError, TypeError, KeyError: for what `get` did not give; neither has changed then.
    """
    np.random.RandomState().set_state(states["numpy"])
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
