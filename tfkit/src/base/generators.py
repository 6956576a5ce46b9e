"""The random number generators for draws without a seed."""

from __future__ import annotations

import random
import threading
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfkit.src.base.context import ThreadSetting
from tfkit.src.base.watching import Changes


class Generators(Changes):
    """The generators for draws without a seed. A trace that contains such draws depends on them.

    Attributes:
        python: Python's generator: default seeds, of weights for one.
        numpy: NumPy's generator: the orders that `fit` shuffles into.
        seeds: the `SeedGenerator` of draws without a seed, once it exists.
        lock: held while that is made.
    """

    def __init__(self, python: Any = random, numpy: Any = np.random) -> None:
        super().__init__()
        self.python = python
        self.numpy = numpy
        self.seeds: Any = None
        self.lock = threading.Lock()

    @property
    def owner(self) -> str:
        """The description of the object, for messages."""
        return "set of random number generators"

    def discard_seeds(self) -> None:
        """Discards the `SeedGenerator`, whose variable traces contain."""
        self.seeds = None
        self.changed("seeds")


_generators: ThreadSetting[Generators] = ThreadSetting("generators", Generators())


def generators_in_force() -> Generators:
    """Returns the generators of the process, or of a thread that has called `set_random_seed`."""
    return _generators.get()


def set_generators(python: Any, numpy: Any) -> None:
    """Sets the generators of this thread."""
    _generators.set(Generators(python, numpy))


def drawing_from(python: Any, numpy: Any) -> AbstractContextManager[None]:
    """Returns a context in which this thread draws from other generators."""
    return _generators.being(Generators(python, numpy))


def drawing_aside() -> AbstractContextManager[None]:
    """Returns a context in which draws do not advance the generators."""
    return drawing_from(random.Random(), np.random.RandomState())
