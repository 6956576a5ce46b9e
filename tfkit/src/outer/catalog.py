"""Registers the classes and functions of the public modules, which configurations may name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import tensorflow as tf

from tfkit import (
    activations,
    constraints,
    distillation,
    initializers,
    layers,
    losses,
    metrics,
    models,
    ops,
    optimizers,
    quantizers,
    random,
    regularizers,
    utils,
)
from tfkit.src.base import later
from tfkit.src.base.errors import absent_names
from tfkit.src.base.errors import forks as _forks  # noqa: F401, notices forks
from tfkit.src.base.later import Place
from tfkit.src.base.registry import policy_maps as _policy_maps  # noqa: F401, registers them
from tfkit.src.base.registry import quantized_policies as _policies  # noqa: F401, registers them
from tfkit.src.base.registry.tables import register_builtins, register_listed
from tfkit.src.borrowed.log_lines import find_devices_quietly
from tfkit.src.engine import autograph as _autograph  # noqa: F401, keeps AutoGraph off tfkit's code
from tfkit.src.engine import plain_calls as _calls  # noqa: F401, runs the calls of layers
from tfkit.src.engine import program_cache as _program_cache  # noqa: F401, begins it
from tfkit.src.engine import surroundings as _surroundings  # noqa: F401, what these calls read
from tfkit.src.ops import activation_lookup as _activations  # noqa: F401, registers functions of TensorFlow
from tfkit.src.ops import operators as _operators  # noqa: F401, defines the operators of symbolic tensors
from tfkit.src.outer.legacy import names
from tfkit.src.symbolic.masking import carried_mask
from tfkit.src.weights.initializers import lookup as _lookup  # noqa: F401, registers functions of TensorFlow


def _in_both_cases(names: dict[str, str]) -> dict[str, str]:
    return {**names, **{short.upper(): name for short, name in names.items()}}


_LOSSES = _in_both_cases(
    {
        "bce": "binary_crossentropy",
        "kld": "kl_divergence",
        "mae": "mean_absolute_error",
        "mape": "mean_absolute_percentage_error",
        "mse": "mean_squared_error",
        "msle": "mean_squared_logarithmic_error",
    }
)
_METRICS = _in_both_cases(
    {
        "bce": "BinaryCrossentropy",
        "mae": "MeanAbsoluteError",
        "mape": "MeanAbsolutePercentageError",
        "mse": "MeanSquaredError",
        "msle": "MeanSquaredLogarithmicError",
    }
)
_INITIALIZERS = {
    "normal": "RandomNormal",
    "one": "Ones",
    "uniform": "RandomUniform",
    "zero": "Zeros",
}
_LAYERS = {"GroupedQueryAttention": "GroupQueryAttention"}  # Its name in Keras's HDF5 files.
# Names that no file may use: `TFSMLayer` reads a folder. The others are not layers.
_NOT_IN_FILES = ("TFSMLayer", "Input", "InputSpec")
_LOOKUPS = ("get", "serialize", "deserialize")


def _listed(face: ModuleType, has_kind: Callable[[Place], bool]) -> dict[str, Place]:
    """Returns the names that a public module lists, with the module and name of their objects."""
    return {
        name: place
        for name, place in later.listed(face.__name__).items()
        if has_kind(place) and name not in (*_LOOKUPS, *_NOT_IN_FILES)
    }


def _register(
    kind: str,
    face: ModuleType,
    has_kind: Callable[[Place], bool],
    short: dict[str, str] | None = None,
) -> None:
    """Registers the objects that a public module lists.

    Args:
        kind: the name of the module in configurations.
        face: the module.
        has_kind: which of its objects are registered.
        short: additional names of some of them.
    """
    found = _listed(face, has_kind)
    aliases = {name: place for name, place in found.items() if name != place.name}
    for name, stands_for in (short or {}).items():
        aliases[name] = found[stands_for]
    register_listed(kind, found.values(), aliases)


# Names show what they stand for, without an import: all classes, and nothing else, begin with a capital.
def _is_class(place: Place) -> bool:
    return place.name[:1].isupper()


def _is_function(place: Place) -> bool:
    return place.name[:1].islower()


def _is_class_or_function(place: Place) -> bool:
    return bool(place.name)


_register("ops", ops, _is_function)
_register("ops", ops.image, _is_function)
register_builtins("ops", [carried_mask])  # Not public: the origin of masks in a functional model.
_register("activations", activations, _is_function)
_register("random", random, _is_class_or_function)
_register("losses", losses, _is_class_or_function, _LOSSES)
_register("initializers", initializers, _is_class, _INITIALIZERS)
_register("metrics", metrics, _is_class, _METRICS)
# A separate table, because in the table above `"binary_accuracy"` is the metric, not the function.
_register("metrics.functions", metrics, _is_function)
_register("optimizers.schedules", optimizers.schedules, _is_class)
_register("optimizers", optimizers, _is_class)
register_listed(
    "optimizers",
    (),
    # `compile(optimizer="adam")`: Keras accepts names in lower case as well.
    {name.lower(): place for name, place in _listed(optimizers, _is_class).items()},
)
_register("quantizers", quantizers, _is_class_or_function)
_register("distillation", distillation, _is_class)
_register("constraints", constraints, _is_class)
_register("regularizers", regularizers, _is_class)
_register("layers", layers, _is_class, _LAYERS)
_MODELS = _listed(models, _is_class)
for _kind in ("models", ""):
    register_listed(_kind, [_MODELS["Functional"], _MODELS["Sequential"]])
register_listed("utils", [_listed(utils, _is_class)["FeatureSpace"]])
# Classes without a public name: files name their module in Keras.
register_listed(
    "src.layers.preprocessing.feature_space",
    [
        Place("tfkit.src.data.utils.features", "Feature"),
        Place("tfkit.src.data.utils.features", "Cross"),
    ],
    {"TFDIdentity": _listed(layers, _is_class)["Identity"]},
)
register_listed(
    "src.applications.convnext", [Place("tfkit.src.data.applications.convnext", "LayerScale")]
)
register_listed(
    "src.applications.inception_resnet_v2",
    [Place("tfkit.src.data.applications.inception_resnet_v2", "CustomScaleLayer")],
)
find_devices_quietly(tf.config)  # TensorFlow reads XLA's flags with it: they are set by now.
absent_names.explain_in(sys.modules["tfkit"])
names.offer_in(sys.modules["tfkit"])
