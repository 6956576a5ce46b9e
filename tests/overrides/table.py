"""The scenarios of public classes that `sweep.py` does not list by folder, and the classes without one."""

import functools
import inspect
import types

import keras
import numpy as np
import tensorflow as tf

from tests.overrides import parts as p
from tests.overrides import scenarios as s


def _initial(name, arguments=None, **options):
    options = {"role": "kernel_initializer", "arguments": arguments, **options}
    return {f"initializers.{name}": functools.partial(p.use_part, **options)}


def _zeros(self, shape, dtype=None, **options):
    return tf.zeros(shape, dtype or "float32")


def _sum(self, x):
    return tf.reduce_sum(x)


def _same(self, x, *others):
    return x


def _rate(self, step):
    return 0.1


_INITIALIZERS = {
    **_initial("Constant", {"value": 0.5}),
    **_initial("Identity"),
    **_initial("Orthogonal"),
    **_initial("RandomNormal", {"seed": 1}),
    **_initial("STFT", used=False),
    **_initial("VarianceScaling"),
    **_initial("GlorotNormal"),
    **_initial("GlorotUniform"),
    **_initial("HeNormal"),
    **_initial("HeUniform"),
    **_initial("LecunNormal"),
    **_initial("LecunUniform"),
    **_initial("Ones"),
    **_initial("RandomUniform"),
    **_initial("TruncatedNormal"),
    **_initial("Zeros"),
    "Initializer": functools.partial(p.use_part, role="kernel_initializer", method=_zeros),
}
_REGULARIZERS = {
    f"regularizers.{name}": functools.partial(p.use_part, role="kernel_regularizer")
    for name in ("L1", "L2", "L1L2", "OrthogonalRegularizer")
} | {"Regularizer": functools.partial(p.use_part, role="kernel_regularizer", method=_sum)}
_CONSTRAINTS = {
    f"constraints.{name}": functools.partial(p.use_part, role="kernel_constraint")
    for name in ("MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm")
} | {
    "constraints.Constraint": functools.partial(p.use_part, role="kernel_constraint", method=_same)
}
_SCHEDULES = {
    f"optimizers.schedules.{name}": functools.partial(p.use_schedule, arguments=arguments)
    for name, arguments in {
        "CosineDecay": {"initial_learning_rate": 0.1, "decay_steps": 3, "warmup_steps": 1},
        "CosineDecayRestarts": {"initial_learning_rate": 0.1, "first_decay_steps": 3},
        "ExponentialDecay": {
            "initial_learning_rate": 0.1,
            "decay_steps": 3,
            "decay_rate": 0.5,
        },
        "InverseTimeDecay": {
            "initial_learning_rate": 0.1,
            "decay_steps": 3,
            "decay_rate": 0.5,
        },
        "PiecewiseConstantDecay": {"boundaries": [2], "values": [0.1, 0.2]},
        "PolynomialDecay": {"initial_learning_rate": 0.1, "decay_steps": 3},
    }.items()
} | {
    "optimizers.schedules.LearningRateSchedule": functools.partial(
        p.use_schedule, arguments={}, method=_rate
    )
}


def _layer(arguments, data, **options):
    return functools.partial(
        p.use_preprocessing, arguments=arguments, data=[np.array(it) for it in data], **options
    )


_LAYERS = {
    "AugMix": _layer({"value_range": (0, 1), "seed": 1}, [p.PIXELS]),
    "Hashing": _layer({"num_bins": 4}, [p.WORDS]),
    "HashedCrossing": _layer({"num_bins": 4}, [p.WORDS, p.WORDS], joined=True),
    "StringLookup": _layer({"output_mode": "multi_hot"}, [p.WORDS], adapts=True),
    "IntegerLookup": _layer({"num_oov_indices": 2}, [[[3], [5]] * 4], adapts=True),
    "TextVectorization": _layer({"output_mode": "tf_idf"}, [p.WORDS], adapts=True),
    "Pipeline": _layer(
        {"layers": lambda k: [k.layers.Rescaling(2), k.layers.RandomFlip(seed=1)]}, [p.PIXELS]
    ),
    "StackedRNNCells": p.use_cells,
    "Wrapper": p.use_wrapper,
    "Lambda": p.use_lambda,
    "InputLayer": p.use_input_layer,
}
_CALLBACKS = {
    f"callbacks.{name}": functools.partial(s.use_callback, arguments=arguments)
    for name, arguments in {
        "History": {},
        "LambdaCallback": {"on_epoch_end": lambda epoch, logs: None},
    }.items()
}

PARTS = {
    **_INITIALIZERS,
    **_REGULARIZERS,
    **_CONSTRAINTS,
    **_SCHEDULES,
    **{f"layers.{name}": use for name, use in _LAYERS.items()},
    **_CALLBACKS,
    "callbacks.CallbackList": p.use_callback_list,
    "Metric": p.use_metric_base,
    "Loss": p.use_loss_base,
    "Optimizer": p.use_optimizer_base,
    "mixed_precision.LossScaleOptimizer": p.use_loss_scale,
    "Layer": p.use_layer_base,
    "Operation": p.use_operation,
    "Function": p.use_function,
    "FloatDTypePolicy": functools.partial(p.use_policy, name="mixed_bfloat16"),
    "quantizers.AbsMaxQuantizer": p.use_quantizer,
    "Quantizer": functools.partial(p.use_quantizer, method=_same),
    "quantizers.Int8QuantizationConfig": p.use_quantization,
    "quantizers.Int4QuantizationConfig": p.use_quantization,
    "quantizers.Float8QuantizationConfig": p.use_quantization,
    "random.SeedGenerator": p.use_seeds,
    "utils.PyDataset": p.use_data,
    "utils.Progbar": p.use_progbar,
    "utils.FeatureSpace": p.use_space,
    "distillation.Distiller": p.use_distiller,
    "distillation.DistillationLoss": functools.partial(p.use_distillation_loss, base=True),
    "distillation.LogitsDistillation": p.use_distillation_loss,
    "distillation.FeatureDistillation": functools.partial(
        p.use_distillation_loss, loss="mse", teacher_layer_name="last", student_layer_name="last"
    ),
    "wrappers.SKLearnClassifier": functools.partial(p.use_estimator, method="predict_proba"),
    "wrappers.SKLearnRegressor": functools.partial(p.use_estimator, method="predict"),
    "wrappers.SKLearnTransformer": functools.partial(p.use_estimator, method="transform"),
    "export.ExportArchive": p.use_archive,
}
# Public classes without a scenario, and why.
LEFT_OUT = {
    "a value: it is read, and never called": (
        *("InputSpec", "KerasTensor", "Variable", "utils.Config"),
        *("distribution.DeviceMesh", "distribution.TensorLayout", "distribution.LayoutMap"),
    ),
    "a block of code: only entered and left": (
        *(
            "RematScope",
            "StatelessScope",
            "SymbolicScope",
            "name_scope",
            "saving.CustomObjectScope",
        ),
    ),
    "a base whose subclasses have scenarios": (
        *("DTypePolicy", "dtype_policies.QuantizedDTypePolicy", "quantizers.QuantizationConfig"),
    ),
    "made by Keras from the name of a mode; a subclass would not be": (
        *("dtype_policies.Int4DTypePolicy", "dtype_policies.QuantizedFloat8DTypePolicy"),
    ),
    "a mapping of other policies": ("dtype_policies.DTypePolicyMap",),
    "a tool that calls nothing of a user's": ("saving.KerasFileEditor",),
    "needs packages or devices that tests do not have": (
        *("callbacks.OrbaxCheckpoint", "callbacks.RemoteMonitor", "callbacks.TensorBoard"),
        *("layers.FlaxLayer", "layers.JaxLayer", "layers.TorchModuleWrapper", "layers.TFSMLayer"),
        *("distribution.DataParallel", "distribution.ModelParallel"),
    ),
    "made by Keras around several optimizers": (
        "optimizers.MultiOptimizer",
        "optimizers.OptimizerMap",
    ),
    "tfkit does not have it": (
        *("dtype_policies.AWQDTypePolicy", "dtype_policies.GPTQDTypePolicy"),
        *("quantizers.AWQConfig", "quantizers.GPTQConfig"),
    ),
}


def public_classes():
    """The public classes of Keras, each under one of its names."""
    found, seen = {}, set()

    def visit(module, prefix):
        for name, value in sorted(vars(module).items()):
            if inspect.isclass(value) and not name.startswith("_"):
                if value not in seen:
                    seen.add(value)
                    found[prefix + name] = value
            elif _is_public_module(name, value):
                visit(value, f"{prefix}{name}.")

    visit(keras, "")
    return found


def _is_public_module(name, value):
    is_keras = isinstance(value, types.ModuleType) and value.__name__.startswith("keras.")
    return is_keras and not name.startswith("_") and name not in ("src", "legacy", "tree", "ops")
