"""Writes a model of Keras as a folder: the members of a `.keras` archive as files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from tfkit.src.files.interop import keras
from tfkit.src.files.interop.keras_folder import is_folder
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving.atomic import atomic_folder, naming, temporary_folder

_FILES = (".keras", ".h5", ".hdf5")


def save_model(
    model: ModelLike, filepath: Any, overwrite: bool = True, include_optimizer: bool = True
) -> None:
    """Writes the members of a `.keras` archive into a folder, which Keras 3 and tfkit load.

    The folder is written completely or not at all. Its members can be compared one by one, or kept in a
    repository.

    Args:
        model: a model; if it is not built, the configuration and the arguments of `compile` are kept.
        filepath: path of the folder: a new one, an empty one, or one that holds such a model.
        overwrite: whether an existing model is replaced. Default: `True`.
        include_optimizer: whether the optimizer's state is written; the arguments of `compile` always
            are, as in Keras. Default: `True`.

    Raises:
        ValueError: for a path with the extension of a model file, and for a model that is not built although
            layers in it are.
        FileExistsError: for a file, for a folder with other files, and without `overwrite` for a model.
        TypeError: for a model whose configuration cannot be made, or has no form in Keras.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(model, f"{folder}/model")
        ...     sorted(os.listdir(f"{folder}/model"))
        ['config.json', 'metadata.json', 'model.weights.h5']
    """
    path = Path(filepath)
    if path.name.endswith(_FILES):
        raise ValueError(
            "With `zipped=False` a model becomes a folder, whose path should not end in "
            f"{', '.join(_FILES)}. Received: filepath={filepath}"
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to save {path.name} in.")
    if path.exists():
        if not overwrite:
            raise FileExistsError(f"Folder {path} exists. Pass `overwrite=True` to replace it.")
        if not path.is_dir() or (any(path.iterdir()) and not is_folder(path)):
            raise FileExistsError(
                f"{str(path)!r} already exists and contains something other than a model. Name another path."
            )
    with naming(path), temporary_folder(path.parent) as apart:
        archive = apart / "model.keras"
        keras.save_model(model, archive, include_optimizer=include_optimizer)
        with atomic_folder(path) as folder, zipfile.ZipFile(archive) as members:
            members.extractall(folder)
