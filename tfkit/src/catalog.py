"""Registers the classes and functions of the public modules, which configurations may name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

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
from tfkit.src import (
    operators as operators,  # Imported for its effect: it defines the operators of symbolic tensors.
)
from tfkit.src.applications.custom_scale_layer import CustomScaleLayer
from tfkit.src.applications.layer_scale import LayerScale
from tfkit.src.base import later
from tfkit.src.errors import absent_names
from tfkit.src.layers.identity import Identity
from tfkit.src.legacy import names
from tfkit.src.registry.tables import register_builtins
from tfkit.src.symbolic.masking import carried_mask
from tfkit.src.utils.features import Cross, Feature


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


def _listed(face: ModuleType, has_kind: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yields the names that a public module lists, with their objects."""
    for name, item in vars(face).items():
        if has_kind(item) and not name.startswith("_") and name not in (*_LOOKUPS, *_NOT_IN_FILES):
            yield name, item


def _register(
    kind: str,
    face: ModuleType,
    has_kind: Callable[[Any], bool],
    short: dict[str, str] | None = None,
) -> None:
    """Registers the objects that a public module lists.

    Args:
        kind: the name of the module in configurations.
        face: the module.
        has_kind: which of its objects are entered.
        short: further names of some of them.
    """
    found = dict(_listed(face, has_kind))
    aliases = {name: item for name, item in found.items() if name != item.__name__}
    for name, stands_for in (short or {}).items():
        aliases[name] = found[stands_for]
    register_builtins(kind, dict.fromkeys(found.values()), aliases)


def _is_class_or_function(item: Any) -> bool:
    return inspect.isclass(item) or inspect.isfunction(item)


_register("ops", ops, inspect.isfunction)
register_builtins("ops", [item for _, item in _listed(ops.image, inspect.isfunction)])
register_builtins("ops", [carried_mask])  # Not public: the origin of masks in a functional model.
_register("activations", activations, inspect.isfunction)
_register("random", random, _is_class_or_function)
_register("losses", losses, _is_class_or_function, _LOSSES)
_register("initializers", initializers, inspect.isclass, _INITIALIZERS)
_register("metrics", metrics, inspect.isclass, _METRICS)
# A separate table, because in the table above `"binary_accuracy"` is the metric, not the function.
_register("metrics.functions", metrics, inspect.isfunction)
_register("optimizers.schedules", optimizers.schedules, inspect.isclass)
_register("optimizers", optimizers, inspect.isclass)
register_builtins(
    "optimizers", (), {name.lower(): it for name, it in _listed(optimizers, inspect.isclass)}
)
_register("quantizers", quantizers, _is_class_or_function)
_register("distillation", distillation, inspect.isclass)
_register("constraints", constraints, inspect.isclass)
_register("regularizers", regularizers, inspect.isclass)
_register("layers", layers, inspect.isclass, _LAYERS)
for _kind in ("models", ""):
    register_builtins(_kind, [models.Functional, models.Sequential])
register_builtins("utils", [utils.FeatureSpace])
# Classes without a public name: files give their module in Keras.
register_builtins(
    "src.layers.preprocessing.feature_space", [Feature, Cross], {"TFDIdentity": Identity}
)
register_builtins("src.applications.convnext", [LayerScale])
register_builtins("src.applications.inception_resnet_v2", [CustomScaleLayer])
later.offer_in(sys.modules["tfkit"])
absent_names.explain_in(sys.modules["tfkit"])
names.offer_in(sys.modules["tfkit"])
