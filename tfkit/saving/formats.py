"""Which format a file has: tfkit's own, or one of Keras's. Files are told apart by what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfkit import forks
from tfkit.interop import keras
from tfkit.saving import model_file, weights
from tfkit.saving.matching import LoadReport, Rename

if TYPE_CHECKING:
    from tfkit.models.model import Model


def save_model(model: Any, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
    """Writes a whole model to one file.

    Args:
        model: a built model.
        filepath: a name that ends in `.h5` or `.hdf5` for tfkit's own format, in `.keras` for Keras's.
        overwrite: whether an existing file is replaced.
        **kwargs: `include_optimizer=False` leaves the optimizer's state out.

    Raises:
        ValueError: for another ending, and for a model that is not built.
        TypeError: for a model whose configuration cannot be made. The old file stays as it was.
    """
    if Path(filepath).suffix == ".keras":
        include_optimizer = kwargs.pop("include_optimizer", True)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        keras.save_model(model, filepath, overwrite, include_optimizer)
    else:
        model_file.save_model(model, filepath, overwrite, **kwargs)


def load_model(
    filepath: Any,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Model:
    """Reads a whole model; only tfkit's own, registered and given classes can be named in the file.

    Args:
        filepath: a file of `model.save()`, of tfkit or of Keras.
        custom_objects: classes and functions of yours that the file may name, by name.
        compile: whether to compile the model as it was, with the optimizer's state.
        safe_mode: only True: tfkit never runs code from a file.

    Raises:
        LoadError: for a damaged file, and one that does not fit together.
        ValueError: for a class or function that is not registered.
    """
    forks.check("`load_model()`")
    load = keras.load_model if keras.is_keras_file(filepath) else model_file.load_model
    return load(filepath, custom_objects, compile, safe_mode)


def load_weights(
    model: Any,
    filepath: Any,
    skip_mismatch: bool = False,
    by_name: bool = False,
    rename: Rename | None = None,
) -> LoadReport:
    """Reads weights; everything is checked before the first is assigned.

    Args:
        model: a built model.
        filepath: a file of `save_weights` or `save`, of tfkit or of Keras.
        skip_mismatch: whether weights that do not fit are left as they are.
        by_name: whether weights are found by the names that users have given to layers, instead of by path:
            a weight goes to the same place below the layer of the same name. Layers of other names are left
            as they are. Not for files of Keras.
        rename: for what has another path in the file: a dict from the beginnings of paths in the file to
            those in the model, or, where tfkit wrote the file, a function of a path.

    Returns:
        What became of each weight, and of each value in the file.

    Raises:
        LoadError: a `ValueError`, with a table of what is missing, unexpected, or of another shape or dtype;
            and for a damaged file. No weight has changed then.

    Example:
        ```python
        model.load_weights("old.weights.h5", rename={"body": "encoder/blocks/0"})
        ```
    """
    load = keras.load_weights if keras.is_keras_file(filepath) else weights.load_weights
    return load(model, filepath, skip_mismatch, by_name, rename)
