"""Imports TensorFlow without Keras.

TensorFlow loads Keras when it is imported, only so that SavedModels of Keras find its classes: 1,500 modules,
110 MB and half of the time that the import takes. Where tfkit is the first to import TensorFlow, it is not
loaded; `tf.keras` and `import keras` load it when a program wants it.
"""

from __future__ import annotations

import sys
from typing import Any

_LOADED_BY_TENSORFLOW = "keras.src.optimizers"


def _import_tensorflow() -> None:
    modules: dict[str, Any] = sys.modules
    if "tensorflow" in modules or _LOADED_BY_TENSORFLOW in modules:
        return
    modules[_LOADED_BY_TENSORFLOW] = None  # Its import fails, as where Keras is not installed.
    try:
        import tensorflow  # noqa: F401
    finally:
        del modules[_LOADED_BY_TENSORFLOW]


_import_tensorflow()
