"""Names that are not public in Keras, and are served because published libraries import them.

Attributes of layers that subclasses use, such as `_query_dense`, are defined by the layers, except those in
`MEMBERS`, which have only readers from outside.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from tfkit.src.core import tracking
from tfkit.src.files.interop.stand_in import (
    equations,
    functions,
    graphs,
    legacy_objects,
    open_files,
)
from tfkit.src.layers import convolution, merging, pooling
from tfkit.src.layers.recurrent import dropout_masks
from tfkit.src.ops import classes


class Row(NamedTuple):
    """A name that is served.

    Args:
        place: the module of Keras below `keras.src` that has it. It is served in all of them.
        what: what it is here; a string is the place of something public in tfkit.
        users: the libraries that import it.
    """

    place: str
    what: Any
    users: str


# Modules whose public names have other meanings elsewhere.
MODULES: dict[str, ModuleType] = {
    "saving.saving_lib": open_files,  # scikeras, bayesflow
    "utils.legacy": legacy_objects,  # autokeras
}
NAMES: dict[str, Row] = {
    "ALL_OBJECTS_DICT": Row("activations", functions.ALL_OBJECTS_DICT, "ncps"),
    "BaseConv": Row("layers", convolution.BaseConv, "tf-keras-vis, HGQ2"),
    "BaseGlobalPooling": Row("layers", pooling.BaseGlobalPooling, "HGQ2"),
    "BasePooling": Row("layers", pooling.BasePooling, "HGQ2"),
    "DropoutRNNCell": Row("layers", dropout_masks.DropoutRNNCell, "keras-lmu"),
    "H5IOStore": Row("saving", functions.H5IOStore, "keras-hub"),
    "Merge": Row("layers", merging.Merge, "HGQ2"),
    "SafeModeScope": Row("saving", functions.SafeModeScope, "keras-hub"),
    "_analyze_einsum_string": Row("layers", equations._analyze_einsum_string, "HGQ2"),
    "_analyze_quantization_info": Row("layers", equations._analyze_quantization_info, "HGQ2"),
    "_build_attention_equation": Row("layers", equations._build_attention_equation, "HGQ2"),
    "_build_proj_equation": Row("layers", equations._build_proj_equation, "HGQ2"),
    "any_symbolic_tensors": Row("backend", functions.any_symbolic_tensors, "kgcnn"),
    "class_weight_to_sample_weights": Row(
        "trainers", functions.class_weight_to_sample_weights, "keras-hub"
    ),
    "compute_conv_output_shape": Row("ops", equations.compute_conv_output_shape, "HGQ2"),
    "compute_output_spec": Row("backend", functions.compute_output_spec, "autokeras"),
    "get_keras_mask": Row("backend", functions.get_keras_mask, "keras-hub"),
    "in_grain_data_pipeline": Row("utils", functions.in_grain_data_pipeline, "keras-hub"),
    "in_safe_mode": Row("saving", functions.in_safe_mode, "keras-hub"),
    "in_tf_graph": Row("utils", functions.in_tf_graph, "keras-hub"),
    "no_automatic_dependency_tracking": Row(
        "utils", functions.no_automatic_dependency_tracking, "kgcnn"
    ),
    "set_keras_mask": Row("backend", functions.set_keras_mask, "keras-hub"),
    "smart_resize": Row("utils", "preprocessing.image.smart_resize", "keras-cv"),
    "standardize_data_format": Row("backend", functions.standardize_data_format, "keras-hub"),
    "standardize_shape": Row("backend", functions.standardize_shape, "keras-rs"),
}
# Classes behind functions, made when they are asked for: the modules of tfkit with the functions, by place.
CLASSES: dict[str, tuple[tuple[str, ...], str]] = {
    "activations": (("activations",), "HGQ2"),
    "ops": (("ops", "ops.image"), "HGQ2"),
}
# Attributes of layers and models.
MEMBERS: dict[str, Row] = {
    "_flatten_layers": Row("layers", functions.flatten_layers, "keras-hub, HGQ2, autokeras"),
    "_functional": Row("models", functions.Reader(graphs.functional), "HGQ2"),
    "_layers": Row("layers", functions.Reader(tracking.sublayers), "HGQ2"),
    "_metrics": Row("layers", functions.Reader(functions.metrics_list), "bayesflow"),
    "_nodes_by_depth": Row("models", functions.Reader(graphs.nodes_by_depth), "HGQ2"),
    "_tracker": Row("layers", functions.Reader(functions.Tracker), "bayesflow"),
}


def class_behind(place: str, name: str, tfkit: ModuleType) -> Any:
    """Returns the class of an op that Keras has at a place in `keras.src`; `None` if there is none."""
    row = CLASSES.get(place.partition(".")[0])
    if row is None:
        return None
    return classes.named(name, *(_public(module, tfkit) for module in row[0]))


def named(name: str, tfkit: ModuleType) -> Any:
    """Returns what a name is here; `None` if it is not served."""
    row = NAMES.get(name)
    if row is None or not isinstance(row.what, str):
        return row and row.what
    return _public(row.what, tfkit)


def _public(place: str, tfkit: ModuleType) -> Any:
    found: Any = tfkit
    for step in place.split("."):
        found = getattr(found, step)
    return found
