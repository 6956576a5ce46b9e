"""The loss and the metrics that `compile` was given, matched to the model's outputs."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit import losses as losses_module
from tfkit import metrics as metrics_module
from tfkit.losses import Loss, LossFunctionWrapper
from tfkit.metrics import Mean, Metric
from tfkit.metrics.resolve import is_binary_or_sparse_categorical, metric_for

Path = tuple[Any, ...]


class Outputs:
    """The tensors in the nest of a model's outputs, in one order, with a name for each.

    Args:
        y_pred: the outputs.
        names: names of the outputs, where the model has them.

    Attributes:
        names: what a result is labelled with; `None` where neither a key nor the model gives a name.
    """

    def __init__(self, y_pred: Any, names: list[str] | None) -> None:
        self._structure = tf.nest.map_structure(lambda _: None, y_pred)
        self._paths = list(_paths(y_pred))
        count = len(self._paths)
        self.names: list[str | None] = [None] * count
        if isinstance(y_pred, dict) and all(len(path) == 1 for path in self._paths):
            self.names = [str(path[0]) for path in self._paths]
        elif names is not None and len(names) == count:
            self.names = list(names)
        self.single = count == 1

    def label(self, index: int, otherwise: str) -> str:
        """What the loss of an output is called: its keys, with its name for its place in a list."""
        path = self._paths[index]
        if not path or isinstance(path[-1], int):
            path = (*path[:-1], self.names[index] or otherwise)
        return "/".join(map(str, path))

    def split(self, value: Any, what: str) -> list[Any]:
        """One value of `value` for each output: by key or name from a dict, by place from a list."""
        if self.single:
            return [self._only(value)]
        return self._spread(value, self._structure, what)

    def split_tensors(self, value: Any, what: str, wanted: list[bool] | None = None) -> list[Any]:
        """Like `split`, for targets and predictions, where each output needs its own.

        Args:
            value: a nest of tensors.
            what: its name in errors.
            wanted: which outputs need one; a nest with as many tensors as that are for them in order.
        """
        if wanted is not None and not self.single and value is not None and not all(wanted):
            given = tf.nest.flatten(value)
            if not isinstance(value, dict) and len(given) == sum(wanted):
                rest = iter(given)
                return [next(rest) if is_wanted else None for is_wanted in wanted]
        if not self.single and value is not None and not tf.nest.is_nested(value):
            raise ValueError(
                f"The model has {len(self.names)} outputs{self._listed()}, but `{what}` is one tensor. Pass "
                "a list or a dict with one for each output."
            )
        return self.split(value, what)

    def _only(self, value: Any) -> Any:
        keys = [self.names[0], *self._paths[0]]
        if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in keys:
            return next(iter(value.values()))
        return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value

    def _spread(self, value: Any, structure: Any, what: str) -> list[Any]:
        if not tf.nest.is_nested(structure):
            return [value]
        keys = list(range(len(structure)))
        if isinstance(structure, dict):
            keys = sorted(structure)
        if isinstance(value, dict):
            # The names of the model's layers stand for the places of a list and for other keys.
            names: list[Any] = self.names if len(keys) == len(self.names) else keys
            unknown = [key for key in value if key not in keys and key not in names]
            if unknown:
                # As Keras has it: a path that is not in the nest of losses, or a wrong argument.
                kind = KeyError if what == "loss" and isinstance(structure, dict) else ValueError
                raise kind(
                    f"`{what}` has the keys {unknown}, which are no outputs of the model. Expected keys "
                    f"from: {names if None not in names else keys}"
                )
            values = [
                value.get(key, value.get(name)) for key, name in zip(keys, names, strict=True)
            ]
        elif isinstance(value, (list, tuple)):
            if len(value) != len(keys):
                raise ValueError(
                    f"`{what}` has {len(value)} entries, but the model has {len(keys)} "
                    f"outputs{self._listed()}. Give one for each."
                )
            values = list(value)
        else:
            values = [value] * len(keys)
        return [
            leaf
            for key, part in zip(keys, values, strict=True)
            for leaf in self._spread(part, structure[key], what)
        ]

    def _listed(self) -> str:
        return "" if None in self.names else f": {self.names}"


def _paths(structure: Any, path: Path = ()) -> list[Path]:
    """Where the leaves of a nest are, in the order in which `tf.nest` flattens it."""
    if not tf.nest.is_nested(structure):
        return [path]
    keys = sorted(structure) if isinstance(structure, dict) else range(len(structure))
    return [found for key in keys for found in _paths(structure[key], (*path, key))]


# --- The loss -----------------------------------------------------------------------------------------

# Stand for the binary, the categorical or the sparse categorical crossentropy, as the shapes say.
_CROSSENTROPY = ("crossentropy", "ce")


class LossEntry(NamedTuple):
    """One loss of one output, its weight in the sum, and its mean where there are several losses."""

    output: int
    loss: Loss
    weight: float
    mean: Mean | None


class CompiledLoss:
    """The losses of `compile`, summed with their weights.

    Args:
        loss: a name, function or `Loss` for all outputs, or a nest of these like the outputs; an output
            may have a list of them.
        loss_weights: a number for each output, as a list or dict.
        output_names: names of the model's outputs, where it has them.
    """

    def __init__(self, loss: Any, loss_weights: Any, output_names: list[str] | None) -> None:
        _check_identifiers(loss)
        self._loss = loss
        self._weights = loss_weights
        self._output_names = output_names
        self._entries: list[LossEntry] | None = None
        self._outputs: Outputs | None = None
        self._wanted: list[bool] = []

    @property
    def metrics(self) -> list[Metric]:
        """A mean for each loss, where there are several."""
        return [entry.mean for entry in self._entries or [] if entry.mean is not None]

    def build(self, y: Any, y_pred: Any) -> None:
        """Matches losses to outputs."""
        self._outputs = outputs = Outputs(y_pred, self._output_names)
        given = outputs.split(self._loss, "loss")
        self._wanted = [identifier is not None for identifier in given]
        targets = outputs.split_tensors(y, "y", self._wanted)
        predictions = outputs.split_tensors(y_pred, "y_pred")
        weights: list[Any] = [None] * len(given)
        if self._weights is not None:
            weights = outputs.split(self._weights, "loss_weights")
        found = [
            (index, _loss_for(one, targets[index], predictions[index]), weight)
            for index, identifiers in enumerate(given)
            for one, weight in _weighed(identifiers, weights[index])
        ]
        self._entries = [
            LossEntry(
                index,
                loss,
                1.0 if weight is None else weight,
                Mean(name=f"{outputs.label(index, loss.name)}_loss") if len(found) > 1 else None,
            )
            for index, loss, weight in found
        ]

    def __call__(self, y: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor | None:
        """The weighted sum of the losses, `None` where no output has one."""
        if self._entries is None:
            self.build(y, y_pred)
        assert self._outputs is not None
        assert self._entries is not None
        outputs = self._outputs
        targets = outputs.split_tensors(y, "y", self._wanted)
        predictions = outputs.split_tensors(y_pred, "y_pred")
        sample_weights = outputs.split(sample_weight, "sample_weight")
        total = None
        for index, loss, weight, mean in self._entries:
            if targets[index] is None:
                continue
            value = loss(targets[index], predictions[index], sample_weight=sample_weights[index])
            if mean is not None:
                mean.update_state(
                    tf.stop_gradient(value), sample_weight=batch_size_of(predictions[index])
                )
            value = value if weight == 1.0 else value * tf.cast(weight, value.dtype)
            total = value if total is None else total + value
        return total


def _check_identifiers(loss: Any) -> None:
    """Refuses unknown names when `compile` is called, and not at the first step."""
    for identifier in loss.values() if isinstance(loss, dict) else _as_list(loss):
        if isinstance(identifier, (list, tuple, dict)):
            _check_identifiers(identifier)
        elif identifier is not None and identifier not in _CROSSENTROPY:
            losses_module.get(identifier)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _weighed(identifiers: Any, weights: Any) -> list[tuple[Any, Any]]:
    """The losses of one output, each with its weight; one weight is for all of them."""
    if identifiers is None:
        return []
    listed = _as_list(identifiers)
    if not isinstance(weights, (list, tuple)):
        return [(identifier, weights) for identifier in listed]
    if len(weights) != len(listed):
        raise ValueError(
            f"`loss_weights` has {len(weights)} entries for an output with {len(listed)} losses: {listed}. "
            "Give one for each."
        )
    return list(zip(listed, weights, strict=True))


def _loss_for(identifier: Any, y: Any, y_pred: Any) -> Loss:
    if identifier in _CROSSENTROPY:
        is_binary, is_sparse = is_binary_or_sparse_categorical(y, y_pred)
        kind = "binary" if is_binary else "sparse_categorical" if is_sparse else "categorical"
        loss = losses_module.get(f"{kind}_crossentropy")
    else:
        loss = losses_module.get(identifier)
    if isinstance(loss, Loss):
        return loss
    name = identifier if isinstance(identifier, str) else getattr(loss, "__name__", "loss")
    return LossFunctionWrapper(loss, name=name)


def batch_size_of(data: Any) -> tf.Tensor:
    """Number of rows of the first tensor in a nest."""
    first = next(leaf for leaf in tf.nest.flatten(data) if leaf is not None)
    if isinstance(first, (tf.RaggedTensor,)):
        return first.nrows()
    shape = first.dense_shape if isinstance(first, tf.SparseTensor) else tf.shape(first)
    return shape[0] if first.shape.rank != 0 else tf.constant(1)


# --- The metrics --------------------------------------------------------------------------------------

# Stand for one metric or another, which the shapes of the first batch decide.
_RESOLVED_BY_SHAPES = (None, "accuracy", "acc")


class MetricEntry(NamedTuple):
    """One metric of one output, and what its result is called."""

    output: int
    metric: Metric
    weighted: bool
    name: str


class CompiledMetrics(Metric):
    """The metrics of `compile` as one; its result is a dict.

    Args:
        metrics: names, functions or `Metric`s, in a list; with several outputs, a list of lists or a
            dict of lists.
        weighted_metrics: the same, for metrics that sample weights reach.
        output_names: names of the model's outputs, where it has them.
    """

    def __init__(self, metrics: Any, weighted_metrics: Any, output_names: list[str] | None) -> None:
        super().__init__(name="compile_metrics")
        self._given = {"metrics": metrics, "weighted_metrics": weighted_metrics}
        self._output_names = output_names
        self._entries: list[MetricEntry] | None = None
        self._outputs: Outputs | None = None
        for what, given in self._given.items():
            if not isinstance(given, (list, tuple, dict, type(None))):
                raise ValueError(
                    f"Expected `{what}` to be a list, tuple, or dict. "
                    f"Received: {given!r} (of type {type(given).__name__})"
                )
            for identifier in tf.nest.flatten(given):
                if identifier not in _RESOLVED_BY_SHAPES and not callable(identifier):
                    metrics_module.get(identifier)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of all outputs."""
        return [entry.metric for entry in self._entries or []]

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # tf.Module would put wrappers in the place of lists.

    def build(self, y: Any, y_pred: Any) -> None:
        """Matches metrics to outputs, and names such as "accuracy" to their kind by the shapes."""
        self._outputs = outputs = Outputs(y_pred, self._output_names)
        targets = outputs.split_tensors(y, "y", self._wanted())
        predictions = outputs.split_tensors(y_pred, "y_pred")
        self._entries = []
        for what, given in self._given.items():
            weighted = what == "weighted_metrics"
            for index, identifiers in enumerate(self._lists(given, what)):
                for one in _as_list(identifiers) if identifiers is not None else []:
                    metric = metric_for(one, targets[index], predictions[index])
                    name = self._free_name(metric.name, outputs, index, weighted)
                    self._entries.append(MetricEntry(index, metric, weighted, name))

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Feeds one batch to the metrics."""
        if self._entries is None:
            self.build(y, y_pred)
        assert self._outputs is not None
        assert self._entries is not None
        targets = self._outputs.split_tensors(y, "y", self._wanted())
        predictions = self._outputs.split_tensors(y_pred, "y_pred")
        weights = self._outputs.split(sample_weight, "sample_weight")
        for index, metric, weighted, _ in self._entries:
            if targets[index] is not None:
                weight = weights[index] if weighted else None
                metric.update_state(targets[index], predictions[index], sample_weight=weight)

    def result(self) -> dict[str, Any]:
        """The results by name; none before the first batch."""
        return {entry.name: entry.metric.result() for entry in self._entries or []}

    def reset_state(self) -> None:
        """Sets the metrics back to where they began."""
        for metric in self.metrics:
            metric.reset_state()

    def _wanted(self) -> list[bool]:
        """Which outputs have metrics."""
        assert self._outputs is not None
        lists = [self._lists(given, what) for what, given in self._given.items()]
        return [any(entries) for entries in zip(*lists, strict=True)]

    def _lists(self, given: Any, what: str) -> list[Any]:
        """What was given for each output."""
        assert self._outputs is not None
        if self._outputs.single and given is not None:
            return [tf.nest.flatten(given)]
        return self._outputs.split(given, what)

    def _free_name(self, name: str, outputs: Outputs, index: int, weighted: bool) -> str:
        """The name of a metric after that of its output; told apart from one that is taken already."""
        output = None if outputs.single else outputs.names[index]
        prefix = "" if output is None else f"{output}_"
        taken = {entry.name for entry in self._entries or []}
        if weighted and prefix + name in taken:
            name = f"weighted_{name}"
        candidates = itertools.chain([""], (f"_{number}" for number in itertools.count(1)))
        return next(prefix + name + end for end in candidates if prefix + name + end not in taken)
