"""Reads models from files and from JSON, in the formats of tfkit and of Keras."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import budget
from tfkit.src.base.errors import forks
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.quoting import quoted, with_short_messages
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import keras, keras_config, keras_files
from tfkit.src.files.saving import model_file
from tfkit.src.files.saving.json_nest import from_json
from tfkit.src.files.saving.weights import check_path
from tfkit.src.training.models.model import Model


@shortened
def load_model(
    filepath: Any,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Model:
    """Reads a whole model. A file can name tfkit's own classes, registered ones and those passed here.

    Args:
        filepath: path of a file of `model.save()`, of tfkit or of Keras; or a folder that
            `callbacks.OrbaxCheckpoint` wrote.
        custom_objects: dict from names to your own classes and functions that the file may name;
            `None` for none.
        compile: whether to compile the model like the saved one, with the optimizer's state. Default:
            `True`.
        safe_mode: must be `True`: tfkit never runs code from a file. Default: `True`.

    Returns:
        The model.

    Raises:
        LoadError: if the file is damaged or does not fit together.
        ValueError: if a class or function is not registered.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input(shape=(3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.h5")
        ...     model.save(path)
        ...     loaded = load_model(path)
        >>> np.array_equal(loaded.get_weights()[0], model.get_weights()[0])
        True
    """
    forks.check("`load_model()`")
    check_path(filepath)
    load = keras.load_model if keras_files.is_keras_file(filepath) else model_file.load_model
    with with_short_messages():
        return load(filepath, custom_objects, compile, safe_mode)


@shortened
def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Model:
    """Returns a new model with the configuration that `model.to_json()` of tfkit or of Keras returned.

    Args:
        json_string: the configuration as JSON.
        custom_objects: dict from names to your own classes and functions that it may name; `None`
            for none.

    Returns:
        A model with newly drawn weights, compiled if the other was.

    Raises:
        ValueError: if a class or function is not registered.

    Example:
        >>> model = tfkit.Sequential([tfkit.Input(shape=(3,)), tfkit.layers.Dense(2)])
        >>> model_from_json(model.to_json()).output_shape
        (None, 2)
    """
    with with_short_messages(), registry.custom_object_scope(custom_objects or {}):
        config = from_json(json_string)
        if keras_config.is_of_keras(config):
            config = keras_config.from_keras(config)
        with budget.limited(None, config):
            model: Model = serialization.deserialize_keras_object(config)
    if not isinstance(model, Layer):
        raise ValueError(f"The text describes {quoted(model)}, which is not a model.")
    return model
