"""Names: default ones, TensorFlow's, suggestions for misspelt ones and foreign ones, and steps of paths."""

from __future__ import annotations

import collections
import difflib
import itertools
import re
import urllib.parse
from collections.abc import Container, Iterable, Mapping
from typing import Any

from tfkit.src.base import limits
from tfkit.src.base.context import ThreadSetting

# Each thread has its own counts, so that names do not depend on other threads.
_counts: ThreadSetting[collections.Counter[str]] = ThreadSetting(
    "name_counts", collections.Counter(), collections.Counter
)


def words(text: str) -> frozenset[str]:
    """Returns the words of a text: tables of many names are written as texts."""
    return frozenset(text.split())


def to_snake_case(name: str) -> str:
    """Returns a name in snake case: `MaxPooling2D` -> `max_pooling2d`."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def auto_name(class_name: str) -> str:
    """Returns the next free default name of a class: `dense`, `dense_1`, `dense_2`, ...

    Names are for readers. Files, checkpoints and error messages use attribute paths, so the count
    never determines which value is loaded where.
    """
    prefix = to_snake_case(class_name)
    counts = _counts.get()
    count = counts[prefix]
    counts[prefix] += 1
    return f"{prefix}_{count}" if count else prefix


def get_uid(prefix: str = "") -> int:
    """Returns the number of default names with this prefix, which each call increases by one.

    Args:
        prefix: the beginning of the names. Default: `""`.

    Returns:
        1 at the first call with a prefix, then 2, and so on; `clear_session` starts again.

    Example:
        >>> get_uid("block"), get_uid("block"), get_uid("head")
        (1, 2, 1)
    """
    counts = _counts.get()
    counts[prefix] += 1
    return counts[prefix]


def operation_name(name: str, default: str) -> str:
    """Returns `name` without characters that TensorFlow does not allow in names."""
    return re.sub(r"[^A-Za-z0-9_./-]", "_", name).lstrip("_./-") or default


def check_name(name: Any) -> str | None:
    """Returns a name of a layer unchanged, if it is valid.

    Raises:
        ValueError: for an object other than a string, and for a string with `/`; `None` is for a default
            name.
    """
    if name is not None and (not isinstance(name, str) or "/" in name):
        raise ValueError(
            "Argument `name` must be a string and cannot contain character `/`. "
            f"Received: name={name} (of type {type(name).__name__})"
        )
    return name


def did_you_mean(name: Any, known: Iterable[str], cutoff: float = 0.7) -> str:
    """Returns the end of an error message: the most similar known name, if one is similar enough."""
    text = str(name)
    close = nearest(text, (each for each in known if each != text), cutoff)
    return f" Did you mean {close!r}?" if close else ""


def nearest(name: str, known: Iterable[str], cutoff: float) -> str | None:
    """Returns the known name that is most similar; `None` if none is, or if the names are too long.

    Args:
        name: the name.
        known: the others.
        cutoff: how alike they must be, from 0 to 1.
    """
    if limits.COMPARED.excess(len(name)):
        return None
    others = [other for other in known if not limits.COMPARED.excess(len(other))]
    close = difflib.get_close_matches(name, others, n=1, cutoff=cutoff)
    return close[0] if close else None


def reset_names() -> None:
    """Starts the counts of default names again."""
    _counts.get().clear()


def escaped(key: Any) -> str:
    """Returns a dict's key as one step of a path, which must not look like several, or like "." or ".."."""
    text = str(key).replace("%", "%25").replace("/", "%2F").replace("\0", "%00")
    return {"": "%", ".": "%2E", "..": "%2E%2E"}.get(text, text)


def unescaped(step: str) -> str:
    """Returns the key that `escaped` made into one step of a path."""
    return "" if step == "%" else urllib.parse.unquote(step)


def free(name: str, taken: Container[str]) -> str:
    """Returns `name`, numbered if it is taken."""
    candidates = itertools.chain((name,), (f"{name}_{count}" for count in itertools.count(1)))
    return next(candidate for candidate in candidates if candidate not in taken)


# --- Names of older versions of Keras and of other libraries, and tfkit's names for them ----------------

# On each line a new name, and the arguments that became it; a function that has the new name is meant.
_ARGUMENTS = """
activation: nonlinearity activation_fn act
axis: dim concat_axis
batch_size: batchsize bs
beta_1: beta1
beta_2: beta2
bias_constraint: b_constraint
bias_initializer: bias_init
bias_regularizer: b_regularizer
callbacks: callback
class_weight: class_weights
clipnorm: max_grad_norm
data_format: dim_ordering
decay_rate: gamma
dilation_rate: dilation atrous_rate
dropout: dropout_W
embeddings_initializer: embedding_init
epochs: nb_epoch num_epochs n_epochs max_iter max_epochs n_iter
epsilon: eps
filters: nb_filter out_channels num_filters n_filters
input_dim: num_embeddings vocab_size in_features input_size
inputs: input
keepdims: keepdim keep_dims
kernel_constraint: W_constraint
kernel_initializer: init weight_init kernel_init
kernel_regularizer: W_regularizer weight_regularizer
kernel_size: filter_length nb_row kernel filter_size
key_dim: embed_dim head_dim d_model
learning_rate: lr
loss: criterion objective loss_fn
maxval: high max_val
mean: loc
metrics: metric
min_delta: epsilon tol
minval: low min_val
momentum: mom
negative_slope: alpha slope
num_classes: nb_classes n_classes
num_heads: nhead n_heads heads
optimizer: optim
output_dim: embedding_dim emb_dim
outputs: output
padding: border_mode pad
pool_size: pool_length pool
rate: p drop_prob drop_rate
recurrent_activation: inner_activation
recurrent_dropout: dropout_U
recurrent_initializer: inner_init
recurrent_regularizer: U_regularizer
rho: alpha
sample_weight: sample_weights weights
scale: elementwise_affine
save_freq: period
size: scale_factor
steps: val_samples nb_steps
steps_per_epoch: samples_per_epoch
stddev: std scale
strides: stride subsample subsample_length
units: output_dim out_features hidden_size num_units n_units num_outputs
use_bias: bias
validation_data: validation eval_set val_data validation_set
validation_split: validation_fraction val_split
validation_steps: nb_val_samples
verbose: verbosity
x: X data inputs
y: Y target targets labels
"""
_NEW_NAMES: dict[str, list[str]] = {}
for _line in _ARGUMENTS.split("\n")[1:-1]:
    _new, _, _old = _line.partition(": ")
    for _name in _old.split():
        _NEW_NAMES.setdefault(_name, []).append(_new)


def by_name(advice: Mapping[str, str]) -> dict[str, str]:
    """Returns the texts of a table by single names, where its keys are lists of names."""
    return {name: text for names, text in advice.items() for name in names.split()}


# Arguments that nothing replaces, with what to do.
_ADVICE = by_name(
    {
        "affine": "Pass `center` and `scale`.",
        "batch_first": "The batch is always the first axis: leave it out.",
        "betas": "Pass `beta_1` and `beta_2`.",
        "class_mode": "The loss says it: `loss='binary_crossentropy'`.",
        "consume_less schedule_decay": "Leave it out.",
        "in_channels": "The first call finds the inputs' channels: leave it out.",
        "in_features input_size": "The first call finds the inputs' width: leave it out.",
        "input_length": "`Input(shape=(length,))` sets it.",
        "learning_rate lr": "Pass it to an optimizer: `optimizer=optimizers.Adam(learning_rate)`.",
        "nb_col": "`kernel_size` is a pair: `(rows, columns)`.",
        "num_features": "The first call finds the number of features: leave it out.",
        "num_layers": "Stack layers, all but the last with `return_sequences=True`.",
        "show_accuracy": "Pass `metrics=['accuracy']` to `compile()`.",
        "max_queue_size use_multiprocessing workers": "Pass it to the constructor of a `PyDataset`.",
    }
)

_DATA_ONLY = "Call `model.{}(generator)`, which accepts generators as well."
_IN_EPOCHS = "`fit` computes gradients and updates the weights; in a loop of your own, use `tf.GradientTape`."
_ON_DEVICE = "TensorFlow puts a model on a GPU if there is one; `with tfkit.device('cpu'):` chooses a device."

# Methods and attributes, by the kind of the object that lacks them.
MISSING: dict[str, dict[str, str]] = {
    "Layer": {
        "cuda to cpu gpu": _ON_DEVICE,
        "parameters": "The weights that are trained are `trainable_variables`.",
        "named_parameters": "Each of `weights` has a `path`.",
        "state_dict": "Use `get_weights()`, or `model.save_weights('a.weights.h5')`.",
        "load_state_dict": "Use `set_weights()`, or `model.load_weights('a.weights.h5')`.",
        "forward": "Call the object: `layer(x)`. A class defines `call(self, inputs)`.",
        "requires_grad_": "Set `trainable`.",
    },
    "Model": {
        "fit_generator": _DATA_ONLY.format("fit"),
        "evaluate_generator": _DATA_ONLY.format("evaluate"),
        "predict_generator": _DATA_ONLY.format("predict"),
        "predict_classes": "Use `model.predict(x).argmax(axis=-1)`, or for one output `predict(x) > 0.5`.",
        "predict_proba": "Use `model.predict(x)`.",
        "score": "Use `model.evaluate(x, y)`, with `metrics` in `compile()`.",
        "train": "Use `model.fit(x, y)`. For a call in training mode: `model(x, training=True)`.",
        "eval": "Use `model.predict(x)`, or `model(x)`, which are not in training mode.",
        "zero_grad": _IN_EPOCHS,
    },
    "Optimizer": {
        "lr": "It is called `learning_rate`.",
        "step zero_grad param_groups": _IN_EPOCHS,
        "get_gradients get_updates": _IN_EPOCHS,
    },
    "KerasTensor": {
        "view": "Use `ops.reshape(x, shape)`.",
        "permute": "Use `ops.transpose(x, axes)`.",
        "size": "Use `x.shape`, or `ops.size(x)`.",
        "numpy": "It has a shape and no values: `model.predict(x)` computes those.",
        "detach": "Use `ops.stop_gradient(x)`.",
        "eval": "It has a shape and no values: `model.predict(x)` computes those.",
    },
}

# Classes and functions of older versions and other libraries.
_RENAMED = {
    "BatchNorm1d BatchNorm2d": "BatchNormalization",
    "Checkpoint": "ModelCheckpoint",
    "Conv1d": "Conv1D",
    "Conv2d": "Conv2D",
    "Conv3d": "Conv3D",
    "Linear": "Dense",
    "MaxPool2d": "MaxPooling2D",
    "bmm mm": "matmul",
    "cat": "concatenate",
    "initializations": "initializers",
    "objectives": "losses",
    "permute": "transpose",
    "unsqueeze": "expand_dims",
}
CLASSES = {old: f"It is called `{new}`." for old, new in by_name(_RENAMED).items()} | by_name(
    {
        "AtrousConvolution2D": "Use `Conv2D(dilation_rate=...)`.",
        "BCEWithLogitsLoss": "Use `BinaryCrossentropy(from_logits=True)`.",
        "CrossEntropyLoss": "Use `SparseCategoricalCrossentropy(from_logits=True)`.",
        "CuDNNGRU": "Use `GRU`.",
        "CuDNNLSTM": "Use `LSTM`.",
        "Graph": "Use `Model(inputs, outputs)`.",
        "Merge": "Use `Concatenate`, `Add`, `Multiply`, `Average`, `Maximum` or `Dot`.",
        "merge": "Use `concatenate`, `add`, `multiply`, `average`, `maximum` or `dot`.",
        "advanced_activations convolutional core recurrent": "Its layers are in `tfkit.layers`.",
        "multi_gpu_model": "Use `distribution.DataParallel`.",
        "no_grad": "Gradients are computed only in a `tf.GradientTape`: leave it out.",
        "np_utils": "Its functions are in `tfkit.utils`.",
    }
)


class Missing:
    """A class attribute that raises an error with advice; instances and subclasses may define the name.

    `hasattr` is false for it, as without it.
    """

    def __init__(self, name: str, advice: str) -> None:
        self._name = name
        self._advice = advice

    def __get__(self, instance: Any, owner: type) -> Any:
        """Raises the error."""
        kind = (
            f"type object '{owner.__name__}'" if instance is None else f"'{owner.__name__}' object"
        )
        raise AttributeError(f"{kind} has no attribute {self._name!r}. {self._advice}")


def explain_missing(cls: type) -> type:
    """Makes a class advise on names that other libraries or older versions have; a decorator."""
    both = MISSING["Layer"] if cls.__name__ == "Model" else {}
    for name, advice in by_name({**both, **MISSING[cls.__name__]}).items():
        setattr(cls, name, Missing(name, advice))
    return cls


def is_old(name: str) -> bool:
    """Whether an argument had this name once, or has it in other libraries."""
    return name in _NEW_NAMES or name in _ADVICE


def advice_on(name: str, known: Iterable[str]) -> str:
    """Returns the end of an error message about an argument that a function does not have.

    Args:
        name: the argument.
        known: the arguments that the function has.
    """
    known = list(known)
    for new in _NEW_NAMES.get(name, ()):
        if new in known:
            return f" `{name}` is called `{new}`."
    if name in _ADVICE:
        return f" {_ADVICE[name]}"
    return did_you_mean(name, known)
