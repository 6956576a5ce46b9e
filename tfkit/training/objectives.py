"""The loss and the metrics that `compile` was given, matched to the model's outputs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import losses as losses_module
from tfkit import metrics as metrics_module
from tfkit.losses import Loss, LossFunctionWrapper
from tfkit.metrics import Mean, Metric
from tfkit.metrics.resolve import metric_for


class Outputs:
    """The nest of a model's outputs, flattened, with a name for each.

    Args:
        y_pred: the outputs, or anything of the same form.
        names: names of the outputs, where the model has them.
    """

    def __init__(self, y_pred: Any, names: list[str] | None) -> None:
        self.structure = y_pred
        self.keys: list[Any] = [None]
        if isinstance(y_pred, dict):
            self.keys = sorted(y_pred)
        elif isinstance(y_pred, (list, tuple)):
            self.keys = list(range(len(y_pred)))
        count = len(self.keys)
        if isinstance(y_pred, dict):
            names = [str(key) for key in self.keys]
        elif names is None or len(names) != count:
            names = [f"output_{index + 1}" for index in range(count)]
        self.names = names
        self.single = self.keys == [None]

    def split(self, value: Any, what: str) -> list[Any]:
        """One value of `value` for each output: by key or name from a dict, by place from a list."""
        if self.single:
            if isinstance(value, dict) and list(value) == self.names:
                return [value[self.names[0]]]
            if isinstance(value, (list, tuple)) and len(value) == 1:
                return [value[0]]
            return [value]
        if isinstance(value, dict):
            unknown = [key for key in value if key not in self.keys and key not in self.names]
            if unknown:
                raise ValueError(
                    f"`{what}` has the keys {unknown}, which are no outputs of the model. Expected keys "
                    f"from: {self.names}"
                )
            pairs = zip(self.keys, self.names, strict=True)
            return [value.get(key, value.get(name)) for key, name in pairs]
        if isinstance(value, (list, tuple)):
            if len(value) != len(self.keys):
                raise ValueError(
                    f"`{what}` has {len(value)} entries, but the model has {len(self.keys)} outputs: "
                    f"{self.names}. Give one for each."
                )
            return list(value)
        return [value] * len(self.keys)

    def split_tensors(self, value: Any, what: str) -> list[Any]:
        """Like `split`, for targets and predictions, where each output needs its own."""
        if not self.single and not isinstance(value, (dict, list, tuple)) and value is not None:
            raise ValueError(
                f"The model has {len(self.keys)} outputs: {self.names}, but `{what}` is one tensor. Pass a "
                "list or a dict with one for each output."
            )
        return self.split(value, what)


class CompiledLoss:
    """The losses of `compile`, summed with their weights.

    Args:
        loss: a name, function or `Loss` for all outputs, or a list or dict of these.
        loss_weights: a number for each output, as a list or dict.
        output_names: names of the model's outputs, where it has them.
    """

    def __init__(self, loss: Any, loss_weights: Any, output_names: list[str] | None) -> None:
        _check_identifiers(loss)
        self._loss = loss
        self._weights = loss_weights
        self._output_names = output_names
        self._entries: list[tuple[Any, float, Mean | None]] | None = None
        self._outputs: Outputs | None = None

    @property
    def metrics(self) -> list[Metric]:
        """A mean for each output's loss, where there are several outputs with a loss."""
        return [entry[2] for entry in self._entries or [] if entry[2] is not None]

    def build(self, y_pred: Any) -> None:
        """Matches losses to outputs."""
        outputs = Outputs(y_pred, self._output_names)
        found = [_as_loss(loss) for loss in outputs.split(self._loss, "loss")]
        weights = (
            outputs.split(self._weights, "loss_weights") if self._weights is not None else None
        )
        several = sum(loss is not None for loss in found) > 1
        self._entries = [
            (
                loss,
                1.0 if weights is None or weights[index] is None else weights[index],
                Mean(name=f"{outputs.names[index]}_loss") if several and loss is not None else None,
            )
            for index, loss in enumerate(found)
        ]
        self._outputs = outputs

    def __call__(self, y: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor | None:
        """The weighted sum of the losses, `None` where no output has one."""
        if self._entries is None:
            self.build(y_pred)
        assert self._outputs is not None
        assert self._entries is not None
        outputs = self._outputs
        targets = outputs.split_tensors(y, "y")
        predictions = outputs.split_tensors(y_pred, "y_pred")
        sample_weights = outputs.split(sample_weight, "sample_weight")
        total = None
        for index, (loss, weight, mean) in enumerate(self._entries):
            if loss is None or targets[index] is None:
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
        elif identifier is not None:
            losses_module.get(identifier)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_loss(identifier: Any) -> Loss | None:
    loss = losses_module.get(identifier)
    if loss is None or isinstance(loss, Loss):
        return loss
    return LossFunctionWrapper(loss, name=getattr(loss, "__name__", "loss"))


def batch_size_of(data: Any) -> tf.Tensor:
    """Number of rows of the first tensor in a nest."""
    first = next(leaf for leaf in tf.nest.flatten(data) if leaf is not None)
    if isinstance(first, (tf.RaggedTensor,)):
        return first.nrows()
    shape = first.dense_shape if isinstance(first, tf.SparseTensor) else tf.shape(first)
    return shape[0] if first.shape.rank != 0 else tf.constant(1)


# These stand for one metric or another, which the shapes of the first batch decide.
_RESOLVED_BY_SHAPES = (None, "accuracy", "acc", "crossentropy", "ce")


class CompiledMetrics:
    """The metrics of `compile`.

    Args:
        metrics: names, functions or `Metric`s, in a list; with several outputs, a list of lists or a
            dict of lists.
        weighted: whether sample weights reach them.
        output_names: names of the model's outputs, where it has them.
    """

    def __init__(self, metrics: Any, weighted: bool, output_names: list[str] | None) -> None:
        self._given = metrics
        self._weighted = weighted
        self._output_names = output_names
        self._entries: list[list[Metric]] | None = None
        self._outputs: Outputs | None = None
        if not isinstance(metrics, (list, tuple, dict)):
            raise ValueError(
                f"Expected `{'weighted_metrics' if weighted else 'metrics'}` to be a list, tuple, or dict. "
                f"Received: {metrics!r} (of type {type(metrics).__name__})"
            )
        for identifier in tf.nest.flatten(metrics):
            if identifier not in _RESOLVED_BY_SHAPES and not callable(identifier):
                metrics_module.get(identifier)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of all outputs."""
        return [metric for metrics in self._entries or [] for metric in metrics]

    def build(self, y: Any, y_pred: Any) -> None:
        """Matches metrics to outputs, and names such as "accuracy" to their kind by the shapes."""
        outputs = Outputs(y_pred, self._output_names)
        given = _as_list(self._given) if outputs.single else self._given
        if outputs.single and isinstance(self._given, dict):
            given = _as_list(next(iter(self._given.values())))
        lists = [given] if outputs.single else outputs.split(given, "metrics")
        targets = outputs.split_tensors(y, "y")
        predictions = outputs.split_tensors(y_pred, "y_pred")
        self._entries = []
        for index, identifiers in enumerate(lists):
            entry = []
            for identifier in _as_list(identifiers) if identifiers is not None else []:
                for one in _as_list(identifier):
                    metric = metric_for(one, targets[index], predictions[index])
                    if not outputs.single:
                        metric.name = f"{outputs.names[index]}_{metric.name}"
                    entry.append(metric)
            self._entries.append(entry)
        self._outputs = outputs

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Feeds one batch to the metrics."""
        if self._entries is None:
            self.build(y, y_pred)
        assert self._outputs is not None
        assert self._entries is not None
        outputs = self._outputs
        targets = outputs.split_tensors(y, "y")
        predictions = outputs.split_tensors(y_pred, "y_pred")
        weights = outputs.split(sample_weight if self._weighted else None, "sample_weight")
        for index, metrics in enumerate(self._entries):
            for metric in metrics if targets[index] is not None else []:
                metric.update_state(
                    targets[index], predictions[index], sample_weight=weights[index]
                )
