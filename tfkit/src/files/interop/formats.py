"""Finds the format of a file from its contents: tfkit's own, or one of Keras's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.quoting import with_short_messages
from tfkit.src.files.interop import keras, keras_files, keras_unzipped
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import model_file, weights
from tfkit.src.files.saving.matching import LoadReport, Rename


@shortened
def save_model(model: ModelLike, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
    """Writes a whole model to one file: configuration, weights, and settings of `compile`.

    The file is written completely or not at all. With `zipped=False` it is a folder.

    Args:
        model: a model; if it is not built, the configuration and the arguments of `compile`
            are kept.
        filepath: path that ends in `.h5` or `.hdf5` for tfkit's own format, in `.keras` for
            Keras's.
        overwrite: whether an existing file is replaced. Default: `True`.
        **kwargs: `include_optimizer=False` leaves out the optimizer's state, and in `.h5` files the
            arguments of `compile`. `zipped=False` writes what a `.keras` file contains into a folder,
            whose path has none of these extensions. `save_format` warns that the extension determines
            the format.

    Raises:
        ValueError: if the path has a different extension, if an argument is not known, or if the model is
            not built although layers in it are.
        FileExistsError: for a folder that holds something other than a model.
        TypeError: if the model's configuration cannot be made. The old file is unchanged.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input(shape=(3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(model, os.path.join(folder, "model.h5"))
        ...     os.listdir(folder)
        ['model.h5']
    """
    weights.check_path(filepath, ValueError)
    suffix = Path(filepath).suffix
    include_optimizer = kwargs.pop("include_optimizer", True)
    as_folder = kwargs.pop("zipped", None) is False
    _check_arguments(filepath, suffix, kwargs, as_folder)
    if as_folder:
        save = keras_unzipped.save_model
    else:
        save = keras.save_model if suffix == ".keras" else model_file.save_model
    save(model, filepath, overwrite, include_optimizer)


def _check_arguments(filepath: Any, suffix: str, kwargs: dict[str, Any], as_folder: bool) -> None:
    """Raises an error for unknown extensions and arguments; redundant arguments of Keras are accepted."""
    known = as_folder or suffix in (".h5", ".hdf5", ".keras")
    if "save_format" in kwargs:
        why = (
            "The `save_format` argument is deprecated: the extension of the path says the format, `.h5` for "
            f"tfkit's own, `.keras` for Keras's. Received: save_format={kwargs.pop('save_format')!r}"
        )
        if not known:
            raise ValueError(f"{why}, filepath={filepath}")
        warn(why)
    if kwargs:
        raise ValueError(
            f"The following argument(s) are not supported: {list(kwargs)}. Expected: include_optimizer, "
            "zipped"
        )
    if not known:
        raise ValueError(
            f"Invalid filepath extension for saving: '{suffix}'. Expected a name that ends in `.h5`, or in "
            "`.keras` for a file that Keras loads. To serve the model, use `model.export()`. "
            f"Received: filepath={filepath}"
        )


@shortened
def load_weights(
    model: ModelLike,
    filepath: Any,
    skip_mismatch: bool = False,
    by_name: bool = False,
    rename: Rename | None = None,
    *,
    objects_to_skip: Iterable[Any] | None = None,
) -> LoadReport:
    """Reads weights; everything is checked before the first is assigned.

    Args:
        model: a model; if it is not built, the configuration and the arguments of `compile`
            are kept.
        filepath: a file of `save_weights` or `save`, of tfkit or of Keras; a `.safetensors` file of any
            library, in which dots between the steps of a name count as slashes; or a folder that
            `callbacks.OrbaxCheckpoint` wrote.
        skip_mismatch: whether weights that do not fit are not changed. Default: `False`.
        by_name: whether weights are found by the names that users have given to layers, instead of by path:
            a weight keeps its path below the layer of the same name. Layers with other names are not
            changed. Not for files of Keras. Default: `False`.
        rename: for values with a different path in the file: a dict from beginnings of paths in the file to
            beginnings of paths in the model, or, if tfkit wrote the file, a function of a path.
        objects_to_skip: layers, with everything inside them, and single weights that are not changed.

    Returns:
        The result for each weight, and for each value in the file.

    Raises:
        LoadError: a `ValueError`, with a table of values that are missing, unexpected, or of a different
            shape or dtype; and for a damaged file. Then no weight has changed.

    Example:
        >>> import tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfkit.saving.save_weights(model, f"{folder}/model.weights.h5")
        ...     report = load_weights(model, f"{folder}/model.weights.h5")
        >>> sorted(report.loaded)
        ['dense/bias', 'dense/kernel']
    """
    weights.check_path(filepath)
    load = keras.load_weights if keras_files.is_keras_file(filepath) else weights.load_weights
    with with_short_messages():
        return load(
            model, filepath, skip_mismatch, by_name, rename, objects_to_skip=objects_to_skip
        )
