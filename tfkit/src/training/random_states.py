"""The states of the two generators that shuffle data: Python's `random`, and NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfkit.src.base.generators import generators_in_force

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
        ValueError, TypeError, KeyError: for values that `get` did not return; then neither generator has
        changed.
    """
    generators = generators_in_force()
    # Tried on a separate generator first, as it may raise an error after the first one was set.
    np.random.RandomState().set_state(states["numpy"])
    generators.python.setstate(states["python"])
    generators.numpy.set_state(states["numpy"])


def words(number: int) -> list[int]:
    """Returns seeds that follow from a number and from the state of NumPy's generator, which does not change.

    `fit` shuffles with them: as in Keras, what a program draws after `fit` does not depend on `fit`.
    """
    copy = np.random.RandomState(0)
    copy.set_state(generators_in_force().numpy.get_state(legacy=False))
    drawn: list[int] = copy.randint(2**32, size=4, dtype="uint64").tolist()
    return [*drawn, number % 2**32, number >> 32]
