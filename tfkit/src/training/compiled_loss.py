"""The losses passed to `compile`, matched to the model's outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.nests import brief
from tfkit.src.losses import lookup as losses_module
from tfkit.src.losses.base import Loss
from tfkit.src.losses.wrapper import LossFunctionWrapper
from tfkit.src.metrics.base import Metric
from tfkit.src.metrics.reduction import Mean
from tfkit.src.metrics.resolve import is_binary_or_sparse_categorical
from tfkit.src.training import group_losses
from tfkit.src.training.data import batch_size_of
from tfkit.src.training.outputs import Outputs, as_list

# These names mean the binary, categorical or sparse categorical crossentropy, depending on the shapes.
_CROSSENTROPY = ("crossentropy", "ce")


class LossEntry(NamedTuple):
    """One loss, its weight in the sum, and its mean if there are several losses.

    `output` is the index of the output that it is for, or a nest of indices for several outputs.
    """

    output: Any
    loss: Loss
    weight: float
    mean: Mean | None


class LossTerm(NamedTuple):
    """One loss of a batch before its computation: `loss(y, y_pred, sample_weight=sample_weight)`."""

    loss: Loss
    y: Any
    y_pred: Any
    sample_weight: Any
    entry: LossEntry

    def weighted(self, value: tf.Tensor) -> tf.Tensor:
        """Returns the loss's part in the total; adds its value to its mean over the epoch, if it has one."""
        _, _, weight, mean = self.entry
        if mean is not None:
            # A mean over rows: the batches of an epoch may have different sizes.
            mean.update_state(tf.stop_gradient(value), sample_weight=batch_size_of(self.y_pred))
        return value if _is_one(weight) else value * tf.cast(weight, value.dtype)


class CompiledLoss:
    """The losses of `compile`, matched to outputs.

    Args:
        loss: a name, function or `Loss` for all outputs, or a nest of these like the outputs; an output
            may have a list of them.
        loss_weights: a number for each output, as a list or dict.
        output_names: names of the model's outputs, if it has them.
    """

    def __init__(self, loss: Any, loss_weights: Any, output_names: list[str] | None) -> None:
        _check_identifiers(loss)
        for weight in tf.nest.flatten(loss_weights):
            if hasattr(weight, "get_config") or isinstance(weight, str):
                metrics = (
                    "Metrics are a separate argument: `compile(optimizer, loss, metrics=[...])`."
                )
                raise ValueError(
                    f"`loss_weights` must hold numbers. Received: {brief(weight)}. {metrics}"
                )
        self._loss = loss
        self._weights = loss_weights
        self._output_names = output_names
        self._entries: list[LossEntry] | None = None
        self._outputs: Outputs | None = None
        self._wanted: list[bool] = []
        self._means: list[Metric] = []

    @property
    def metrics(self) -> list[Metric]:
        """The means of the losses, if there are several."""
        return self._means

    def build(self, y: Any, y_pred: Any) -> None:
        """Matches losses to outputs."""
        self._outputs = outputs = Outputs(y_pred, self._output_names)
        if group_losses.has_groups(self._loss, outputs.numbered()):
            listed = self._entries = self._build_groups(y, y_pred)
        else:
            self._entries = self._build_single(y, y_pred)
            # Results are listed in the order of the losses, or of the outputs.
            ordered_by = self._loss if isinstance(self._loss, Mapping) else y_pred
            listed = sorted(self._entries, key=lambda entry: outputs.rank(entry.output, ordered_by))
        self._means = [entry.mean for entry in listed if entry.mean is not None]

    def _build_single(self, y: Any, y_pred: Any) -> list[LossEntry]:
        """Matches losses to outputs when each loss is for one output."""
        outputs = self._outputs
        assert outputs is not None
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
        return [
            LossEntry(
                index,
                loss,
                1.0 if weight is None else weight,
                Mean(name=f"{outputs.label(index, loss.name)}_loss") if len(found) > 1 else None,
            )
            for index, loss, weight in found
        ]

    def _build_groups(self, y: Any, y_pred: Any) -> list[LossEntry]:
        """Matches losses to outputs when some losses are for several outputs."""
        outputs = self._outputs
        assert outputs is not None
        found = group_losses.assigned(self._loss, self._weights, outputs.numbered())
        wanted = {number for one in found for number in one.outputs}
        self._wanted = [number in wanted for number in range(len(outputs.names))]
        targets = outputs.split_tensors(y, "y", self._wanted)
        predictions = outputs.split_tensors(y_pred, "y_pred")
        entries = []
        for one in found:
            loss = _loss_for(
                one.loss, _packed(one.structure, targets), _packed(one.structure, predictions)
            )
            if len(one.outputs) == 1:
                label = outputs.label(one.outputs[0], loss.name)
            else:
                label = outputs.group_label(one.path, one.outputs, loss.name)
            mean = Mean(name=f"{label}_loss") if len(found) > 1 else None
            weight = 1.0 if one.weight is None else one.weight
            entries.append(LossEntry(one.structure, loss, weight, mean))
        return entries

    def terms(self, y: Any, y_pred: Any, sample_weight: Any = None) -> list[LossTerm]:
        """Returns the losses with their arguments; an output without targets has no losses."""
        if self._entries is None:
            self.build(y, y_pred)
        outputs = self._outputs
        assert outputs is not None
        assert self._entries is not None
        targets = outputs.split_tensors(y, "y", self._wanted)
        predictions = outputs.split_tensors(y_pred, "y_pred")
        weights = outputs.split(sample_weight, "sample_weight")
        terms = []
        for entry in self._entries:
            target = _packed(entry.output, targets)
            if all(leaf is not None for leaf in tf.nest.flatten(target)):
                prediction = _packed(entry.output, predictions)
                weight = _common(entry.output, weights)
                terms.append(LossTerm(entry.loss, target, prediction, weight, entry))
        return terms


def _packed(output: Any, values: list[Any]) -> Any:
    """Returns the values of one output, or of a nest of outputs."""
    if isinstance(output, int):
        return values[output]
    return tf.nest.map_structure(lambda number: values[number], output)


def _common(output: Any, sample_weights: list[Any]) -> Any:
    """Returns the sample weights of one output, or those shared by several."""
    if isinstance(output, int):
        return sample_weights[output]
    first, *rest = (sample_weights[number] for number in tf.nest.flatten(output))
    if any(other is not first for other in rest):
        raise ValueError(
            "A loss of several outputs needs one `sample_weight` for all of them. Pass one array instead of "
            f"a nest. Received: {[first, *rest]}"
        )
    return first


def _is_one(weight: Any) -> bool:
    return isinstance(weight, (int, float)) and weight == 1.0


def _check_identifiers(loss: Any) -> None:
    """Raises an error for unknown names when `compile` is called, and not at the first step."""
    for identifier in loss.values() if isinstance(loss, Mapping) else as_list(loss):
        if nests.is_nested(identifier):
            _check_identifiers(identifier)
        elif identifier is not None and identifier not in _CROSSENTROPY:
            losses_module.get(identifier)


def _weighed(identifiers: Any, weights: Any) -> list[tuple[Any, Any]]:
    """Returns the losses of one output, each with its weight; a single weight is used for all of them."""
    if identifiers is None:
        return []
    if isinstance(identifiers, Mapping):
        raise KeyError(
            f"The keys {list(identifiers)} of `loss` can't be found in the model's outputs: there is "
            "only one output."
        )
    listed = as_list(identifiers)
    if not isinstance(weights, (list, tuple)):
        return [(identifier, weights) for identifier in listed]
    if len(weights) != len(listed):
        raise ValueError(
            f"`loss_weights` has {len(weights)} entries for an output with {len(listed)} losses: {listed}. "
            "Pass one for each."
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
