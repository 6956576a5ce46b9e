"""The arguments that the functions of all families share, and their checks."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal

from tfkit.src.base.names import did_you_mean
from tfkit.src.ops import activation_lookup as activations
from tfkit.src.symbolic.tensors import KerasTensor, is_keras_tensor

Pooling = Literal["avg", "max"] | None
Shape = tuple[int | None, ...] | list[int | None] | None
Weights = str | os.PathLike[str] | None

IMAGENET_CLASSES = 1000


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments that the functions of all families share, in the order of most of them.

    Args:
        include_top: whether the model ends in a classifier.
        weights: `"imagenet"`, the path of a file, or `None` for newly drawn weights.
        input_tensor: symbolic tensor that the model starts from; `None` for a new input.
        input_shape: sizes of an image, with channels, without the batch.
        pooling: without a classifier, the reduction of the features to one vector.
        classes: number of classes of the classifier.
        classifier_activation: activation of the classifier.
    """

    include_top: bool
    weights: Weights
    input_tensor: KerasTensor | None
    input_shape: Shape
    pooling: Pooling
    classes: int
    classifier_activation: Any

    @property
    def published(self) -> bool:
        """Whether the weights are the published ones."""
        return isinstance(self.weights, str) and self.weights == "imagenet"

    def check(self) -> None:
        """Raises an error for arguments that are wrong for every family.

        Raises:
            ValueError: for unknown weights or files that do not exist, for a number of classes or an
                activation that the weights do not have, for an unknown pooling, and for an `input_tensor`
                that is not symbolic.
        """
        _check_weights(self.weights)
        if self.published and self.include_top and self.classes != IMAGENET_CLASSES:
            raise ValueError(
                'With weights="imagenet" and include_top=True, `classes` must be 1000, the number of '
                "classes of the published classifier. For classes of your own, pass "
                f"include_top=False and add a classifier. Received: classes={self.classes!r}"
            )
        if self.pooling not in (None, "avg", "max"):
            raise ValueError(
                f'`pooling` must be None, "avg" or "max". Received: pooling={self.pooling!r}'
            )
        if self.input_tensor is not None and not is_keras_tensor(self.input_tensor):
            raise ValueError(
                "`input_tensor` must be a symbolic tensor, such as `tfkit.Input` returns. "
                f"Received: input_tensor of type {type(self.input_tensor).__name__}"
            )
        if self.include_top:
            self._check_activation()

    def _check_activation(self) -> None:
        known = activations.get(self.classifier_activation)
        if self.weights is not None and known not in (activations.softmax, activations.linear):
            raise ValueError(
                '`classifier_activation` must be "softmax" or None if weights are loaded, because they '
                f"were trained with a softmax. Received: classifier_activation={self.classifier_activation!r}"
            )


def _check_weights(weights: Any) -> None:
    if weights is None or (isinstance(weights, str) and weights == "imagenet"):
        return
    if not isinstance(weights, (str, os.PathLike)):
        kind = f" (of type {type(weights).__name__})"
    elif not os.path.exists(weights):
        kind = ", which is not a file." + did_you_mean(weights, ["imagenet"])
    else:
        return
    raise ValueError(
        '`weights` must be None for random initial weights, "imagenet" for the published ones, or the path '
        f"of a weights file. Received: weights={weights!r}{kind}"
    )
