"""Models in `.keras` form in open files, as in Keras's `saving_lib`, which libraries use for pickles."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from tfkit.src.files.interop import keras
from tfkit.src.files.model_like import ModelLike


def save_model(model: ModelLike, filepath: Any, **kwargs: Any) -> None:
    """Writes a model to a path, or to a file that is open for writing bytes."""
    if not hasattr(filepath, "write"):
        keras.save_model(model, filepath, **kwargs)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        keras.save_model(model, path, **kwargs)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, filepath)


def load_model(
    filepath: Any, custom_objects: Any = None, compile: bool = True, **kwargs: Any
) -> ModelLike:
    """Reads a model from a path, or from a file that is open for reading bytes."""
    if not hasattr(filepath, "read"):
        return keras.load_model(filepath, custom_objects, compile, **kwargs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        with open(path, "wb") as file:
            shutil.copyfileobj(filepath, file)
        return keras.load_model(path, custom_objects, compile, **kwargs)
