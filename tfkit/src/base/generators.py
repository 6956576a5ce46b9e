"""The generators of random numbers that are drawn from where no seed is given."""

from __future__ import annotations

import random
import threading
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfkit.src.base.per_thread import PerThread


class Generators:
    """What is drawn from where no seed is given.

    Attributes:
        python: Python's generator: default seeds, of weights for one.
        numpy: NumPy's generator: the orders that `fit` shuffles into.
        seeds: the `SeedGenerator` behind draws without a seed, once there was one.
        lock: held while that is made.
    """

    def __init__(self, python: Any = random, numpy: Any = np.random) -> None:
        self.python = python
        self.numpy = numpy
        self.seeds: Any = None
        self.lock = threading.Lock()


_generators: PerThread[Generators] = PerThread("random generators", Generators())


def generators_in_force() -> Generators:
    """Those of the process, or of a thread that has called `set_random_seed`."""
    return _generators.get()


def set_generators(python: Any, numpy: Any) -> None:
    """Gives this thread generators of its own."""
    _generators.set(Generators(python, numpy))


def drawing_from(python: Any, numpy: Any) -> AbstractContextManager[None]:
    """Within the `with` block this thread draws from other generators."""
    return _generators.being(Generators(python, numpy))


def drawing_aside() -> AbstractContextManager[None]:
    """Within the `with` block draws do not count: the generators stay where they are."""
    return drawing_from(random.Random(), np.random.RandomState())
