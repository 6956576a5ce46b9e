"""A model of ours and of Keras's with the same weights, which went through a file of the published form."""

import functools
import re
import tempfile

import h5py
import keras
import numpy as np
from keras.src.legacy.saving import legacy_h5_format

import tfkit

# What Keras or tfkit writes into configurations for itself.
_ASIDE = {"shared_object_id", "build_config", "compile_config", "tfkit_auto_named", "auto_named"}
# Defaults that Keras writes into the calls of some layers.
_DEFAULTS = {"mask": None, "training": False}


@functools.lru_cache(maxsize=1)
def pair(name, size=32, **arguments):
    """Ours, and Keras's."""
    arguments = {"classes": 10, "input_shape": (size, size, 3), **arguments}
    keras.utils.clear_session()
    theirs = getattr(keras.applications, name)(weights=None, **arguments)
    draw_weights(theirs)
    with tempfile.NamedTemporaryFile(suffix=".h5") as file:
        write_published(theirs, file.name)
        tfkit.utils.clear_session(free_memory=False)
        ours = getattr(tfkit.applications, name)(weights=file.name, **arguments)
    return ours, theirs


def draw_weights(model):
    """Gives a model weights with which activations stay near 1, and no two parts are alike."""
    draw = np.random.default_rng(0)
    for weight in model.weights:
        shape = tuple(weight.shape)
        near = 1.0 if weight.path.endswith(("gamma", "variance")) else 0.0
        is_depthwise = len(shape) == 4 and shape[-1] == 1
        inputs = np.prod(shape[:2] if is_depthwise else shape[:-1])
        scale = 1.5 / np.sqrt(inputs) if len(shape) > 1 else 0.1
        weight.assign(near + scale * draw.standard_normal(shape, dtype="float32"))
    for layer in model.layers:
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()  # Keras computes with copies of the weights.


def write_published(model, path):
    """Writes weights in the form of those that Keras publishes."""
    with h5py.File(path, "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, model)


def images(model, count=2):
    """Some images, with pixels from -1 to 1, or from 0 to 255 for a model that scales them itself."""
    shape = [32 if size is None else size for size in model.input_shape[1:]]
    x = np.random.default_rng(1).uniform(-1, 1, (count, *shape)).astype("float32")
    scales = any(type(layer).__name__ == "Rescaling" for layer in model.layers)
    return 127.5 * (x + 1) if scales else x


def label(weight):
    """The name of a layer and that of its weight, if Keras has given it one."""
    layer, name = weight.path.split("/")[-2:]
    return layer, re.sub(r"^variable(_\d+)?$", "gamma", name)


def plain(config):
    """A configuration without what each library writes for itself, with lists for tuples.

    A policy is its name, and an axis is a number. The input in a Sequential model has another name.
    """
    if isinstance(config, dict):
        if config.get("class_name") == "DTypePolicy":
            return config["config"]["name"]
        if config.get("class_name") == "InputLayer" and "inbound_nodes" not in config:
            config = {**config, "config": {**config["config"], "name": None}}
        if isinstance(config.get("axis"), (list, tuple)) and len(config["axis"]) == 1:
            config = {**config, "axis": config["axis"][0]}
        return {
            key: plain(value)
            for key, value in config.items()
            if key not in _ASIDE and not (key in _DEFAULTS and value is _DEFAULTS[key])
        }
    if isinstance(config, (list, tuple)):
        return [plain(each) for each in config]
    # Ours are known by the places of Keras's.
    return (
        re.sub(r"^(tfkit|keras)\b(\.models$)?", "keras", config)
        if isinstance(config, str)
        else config
    )
