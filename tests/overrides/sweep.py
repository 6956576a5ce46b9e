"""All methods of a class overridden by ones that count: what Keras calls, tfkit calls, or has warned of."""

import functools
import inspect
import operator
import re
import warnings

import keras
import numpy as np

import tfkit
from tests.conformance.table import CASES
from tests.overrides import scenarios
from tests.overrides.counting import Counts, counted
from tests.overrides.table import PARTS

# Names that Keras reads and tfkit need not.
WITHOUT_EFFECT = {
    # It looks for what to save in all attributes, properties among them.
    *("compiled_metrics", "distribute_reduction_method", "distribute_strategy", "metrics_names"),
    *("input", "output", "inputs", "outputs", "input_shape", "output_shape", "operations", "path"),
    *("losses", "metrics", "metrics_variables", "non_trainable_variables", "non_trainable_weights"),
    *("trainable_variables", "trainable_weights", "variables", "weights", "dtype", "jit_compile"),
    *(
        "attention_axes",
        "dropout",
        "recurrent_dropout",
        "key_dim",
        "num_heads",
        "value_dim",
        "use_bias",
    ),
    *("query_dense", "key_dense", "value_dense", "output_dense", "model", "states", "output_dtype"),
    # tfkit reads another property, which follows this one, or has the value in an attribute.
    *(
        "dtype_policy",
        "variable_dtype",
        "compute_dtype",
        "input_dtype",
        "quantization_mode",
        "trainable",
    ),
    *("input_spec", "supports_masking", "kernel", "embeddings", "run_eagerly", "layers"),
    *("batch_shape", "use_multiprocessing", "workers"),
    # Keras reads it in `adapt`, where tfkit counts the tokens that it has found.
    "vocabulary_size",
    # tfkit reads all that these two compute from files.
    *("saved: finalize_state", "saved: set_vocabulary"),
    # A check of Keras's own; weights as tensors of `tf.data`; the names of a file's arrays.
    *("compute_output_shape", "convert_weight", "variable_serialization_spec"),
    # Not called for a class that extends one of the quantized layers, as `type_check` says.
    "quantize",
    # Keras calls it on a model only to have the number of parameters printed.
    "count_params",
}
# Private names that belong to Keras's bookkeeping, and that a subclass has no reason to override.
INTERNAL = {
    *("_check_super_called", "_initialize_tracker", "_not_implemented_error", "_obj_type"),
    *(
        "_build_at_init",
        "_convert_tracked_collections",
        "_trackable_children",
        "_adjust_input_rank",
    ),
    *("_convert_inputs_to_tensors", "_standardize_inputs", "_maybe_warn_inputs_struct_mismatch"),
    *("_run_through_graph", "_get_operation_for_node", "_get_node_attribute_at_index"),
    *("_setattr_hook", "_post_build", "_post_track_variable"),
    *("_estimate_step_duration", "_warn_if_super_not_called", "_add_default_callbacks"),
    *("_configure_async_dispatch", "_on_begin", "_on_end", "_on_train_batch_end"),
    *("_on_test_batch_end", "_on_predict_batch_end"),
}
# Keras cannot call a cell of an RNN on symbolic tensors, and makes a cycle of `Equalization` and its copy.
FAILS_IN_KERAS = "does not have a `compute_output_shape` method|is part of a cycle"


def findings(ours, theirs, use):
    """What Keras calls in a phase, and tfkit neither calls by then nor warns of; errors of tfkit alone."""
    results, warned = [], set()
    for library, cls in ((keras, theirs), (tfkit, ours)):
        counts = Counts()
        made, warned = counted(cls, counts, theirs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(library, made, counts)
        results.append(counts)
    expected, found = results
    # A phase that Keras does not survive compares nothing.
    errors = {
        f"{phase} in Keras: {type(error).__name__}: {error}"
        for phase, error in expected.errors.items()
        if phase not in found.errors and not re.search(FAILS_IN_KERAS, str(error))
    }
    errors |= {
        f"{phase}: {type(error).__name__}: {error}"
        for phase, error in found.errors.items()
        if phase not in expected.errors
    }
    known, missing = WITHOUT_EFFECT | INTERNAL | warned, set()
    for phase, names in expected.called.items():
        known |= found.called.get(phase, set())
        if phase not in (*expected.errors, "afterwards"):
            missing |= {f"{phase}: {name}" for name in names - known}
    return sorted((errors | missing) - WITHOUT_EFFECT)


def _functional(k):
    return type(k.Model(*[k.Input((1,))] * 2))


def _metric_arguments(name):
    special = ("PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity")
    if name in (*special, "SpecificityAtSensitivity"):
        return {name.partition("At")[2].lower(): 0.5}
    if name.endswith("IoU") and name != "BinaryIoU":
        chosen = {"target_class_ids": [0, 1]} if name in ("IoU", "OneHotIoU") else {}
        return {"num_classes": 3, **chosen}
    return {"fn": np.subtract} if name == "MeanMetricWrapper" else {}


def _data_of(name):
    shares = np.abs(scenarios.Y * 0.6 + 0.1)
    ids = np.arange(8) % 3
    if name in ("Mean", "Sum"):
        return (scenarios.X,)
    if name in ("IoU", "MeanIoU"):
        return ids, ids[::-1]
    if name == "CTC":
        return np.array([[1, 2]]), np.ones((1, 5, 4), "float32")
    if name in ("Circle", "CategoricalGeneralizedCrossEntropy") or name.startswith("Sparse"):
        return ids, shares
    return scenarios.Y, shares


_CALLBACKS = {
    "BackupAndRestore": {"backup_dir": "/backup"},
    "Callback": {},
    "CSVLogger": {"filename": "/log.csv"},
    "EarlyStopping": {"monitor": "val_loss", "restore_best_weights": True, "patience": 1},
    "LearningRateScheduler": {"schedule": lambda epoch, rate: rate},
    "ModelCheckpoint": {"filepath": "/model.keras", "save_best_only": True},
    "ProgbarLogger": {},
    "ReduceLROnPlateau": {"patience": 1, "min_delta": 10},
    "SwapEMAWeights": {"swap_on_epoch": True},
    "TerminateOnNaN": {},
}
_NOT_ALONE = {"Metric", "Loss", "Optimizer", "LossScaleOptimizer", "MultiOptimizer", "OptimizerMap"}


def cases():
    """The classes of Keras that tfkit has, tfkit's and what is done with them, by name."""
    s = scenarios
    found = {
        "Model": (tfkit.Model, keras.Model, s.use_model),
        "Functional": (_functional(tfkit), _functional(keras), s.use_functional),
        "Sequential": (tfkit.Sequential, keras.Sequential, s.use_sequential),
    }
    for case in reversed(CASES):
        use = functools.partial(_use_layer, case)
        found[case.layer] = (
            getattr(tfkit.layers, case.layer),
            getattr(keras.layers, case.layer),
            use,
        )
    for folder in ("optimizers", "metrics", "losses", "callbacks"):
        for name, cls in vars(getattr(keras, folder)).items():
            if inspect.isclass(cls) and name not in _NOT_ALONE:
                ours = getattr(getattr(tfkit, folder), name)
                if folder == "callbacks" and name in _CALLBACKS:
                    use = functools.partial(s.use_callback, arguments=_CALLBACKS[name])
                elif folder == "callbacks":
                    continue
                elif folder == "optimizers":
                    use = s.use_optimizer
                elif folder == "losses":
                    use = functools.partial(s.use_loss, data=_data_of(name))
                else:
                    use = functools.partial(
                        s.use_metric, arguments=_metric_arguments(name), data=_data_of(name)
                    )
                found[f"{folder}.{name}"] = (ours, cls, use)
    for name in ("AUC", "MeanSquaredError"):
        classes = getattr(tfkit.metrics, name), getattr(keras.metrics, name)
        found[f"metrics.{name} in training"] = (*classes, s.use_metric_in_training)
    for name, use in PARTS.items():
        get = operator.attrgetter(name)
        found[name] = get(tfkit), get(keras), use
    classes = tfkit.losses.CategoricalCrossentropy, keras.losses.CategoricalCrossentropy
    found["losses.CategoricalCrossentropy in training"] = (*classes, s.use_loss_in_training)
    return found


def _use_layer(case, k, cls, counts):
    scenarios.use_layer(k, case, cls, counts)
