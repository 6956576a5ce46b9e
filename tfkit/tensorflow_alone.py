"""Imports TensorFlow without Keras.

TensorFlow loads Keras when it is imported, only so that SavedModels of Keras find its classes: 1,500 modules,
110 MB and half of the time that the import takes. Where tfkit is the first to import TensorFlow, it is not
loaded; `tf.keras` and `import keras` load it when a program wants it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def _withheld(module: str) -> Iterator[None]:
    """Lets the import of a module fail, as where it is not installed, unless it has been imported."""
    modules: dict[str, Any] = sys.modules
    if module in modules:
        yield
        return
    modules[module] = None
    try:
        yield
    finally:
        del modules[module]


with _withheld("keras.src.optimizers"):
    import tensorflow as tensorflow
