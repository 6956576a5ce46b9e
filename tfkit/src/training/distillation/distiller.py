"""`Distiller`: a model that trains a student on labels and on the outputs of a teacher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import execution
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.configuration import is_ours, owner_of
from tfkit.src.metrics.reduction import Mean
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.training.distillation.losses import DistillationLoss, FeatureDistillation, has_graph
from tfkit.src.training.models.model import Functional, Model


class Distiller(Model):
    """Trains a student on labels, and on what a trained teacher returns for the same inputs.

    The total loss is `student_loss_weight * student_loss + (1 - student_loss_weight) * distillation_loss`.
    `student_loss` is the loss of `compile`, with penalties; `distillation_loss` is the weighted sum of the
    distillation losses. Both are in the logs. The model computes what the student computes. In a step of
    training the student runs once: the features that are compared have the dropout of its outputs.

    Args:
        teacher: a trained model. It is frozen: its `trainable` is set to `False`.
        student: the model that is trained, available as `distiller.student`.
        distillation_losses: a `DistillationLoss`, or a list of them.
        distillation_loss_weights: a number for each of them; `None` for 1.
        student_loss_weight: from 0 to 1, the part of labels in the total loss. Default: `0.5`.
        name: name of the model. Default: `"distiller"`.
        **kwargs: arguments of `Model`.

    Input shape: That of the student.

    Output shape: That of the student.

    Raises:
        TypeError: for anything but distillation losses.
        ValueError: for anything but models, for weights of a different number or size, and for models whose
            outputs cannot be compared.

    Reference:
        Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network", 2015.

    Example:
        >>> teacher, student = (
        ...     tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)]) for _ in range(2)
        ... )
        >>> loss = tfkit.distillation.LogitsDistillation(temperature=3.0)
        >>> distiller = Distiller(teacher, student, loss)
        >>> distiller.compile("adam")
        >>> history = distiller.fit(np.ones((8, 3)), epochs=2, verbose=0).history
        >>> len(history["distillation_loss"]), distiller.student is student
        (2, True)
    """

    @shortened
    def __init__(
        self,
        teacher: Model,
        student: Model,
        distillation_losses: Any,
        distillation_loss_weights: Any = None,
        student_loss_weight: float = 0.5,
        name: str = "distiller",
        **kwargs: Any,
    ) -> None:
        losses = _as_list(distillation_losses)
        weights = _checked_weights(distillation_loss_weights, len(losses))
        _check_models(teacher, student)
        if not 0 <= student_loss_weight <= 1:
            raise ValueError(
                "`student_loss_weight` must be a number from 0 to 1. "
                f"Received: student_loss_weight={student_loss_weight!r}"
            )
        for loss in losses:
            _check_loss(loss, teacher, student)
        super().__init__(name=name, **kwargs)
        self.teacher, self.student = teacher, student
        # Its weights would otherwise be among the trainable ones of this model.
        teacher.trainable = False
        self.distillation_losses = losses
        self.distillation_loss_weights = weights
        self.student_loss_weight = float(student_loss_weight)
        self.student_loss_tracker = Mean(name="student_loss")
        self.distillation_loss_tracker = Mean(name="distillation_loss")
        self.total_loss_tracker = Mean(name="total_loss")
        of_teacher, of_student = zip(*map(_layers_of, losses), strict=True)
        self._teacher_outputs = _outputs_of(teacher, of_teacher)
        self._student_layers = of_student
        # The student's own outputs come first.
        self._student_outputs = _outputs_of(student, (None, *of_student))
        # In a step one run of the student gives both, unless its `call` is not that of its layers.
        self._runs_once = any(of_student) and is_ours(owner_of(type(student), "call"))
        self._features = _Features()
        # A `build` of a subclass is called like that of any model.
        has_own_build = not is_ours(owner_of(type(self), "build"))
        self.built = teacher.built and student.built and not has_own_build

    def compile(  # type: ignore[override]  # The positions are those of Keras's `Distiller`.
        self,
        optimizer: Optimizer | str | dict[str, Any] | None = "adam",
        loss: Any = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> None:
        """Sets the student's optimizer, its loss on labels, and its metrics, like `Model.compile`.

        Args:
            optimizer: an optimizer, or its name. Default: `"adam"`.
            loss: loss of the student's outputs and the labels; `None` to learn from the teacher only.
            metrics: metrics of the student's outputs and the labels.
            **kwargs: arguments of `Model.compile`.
        """
        super().compile(optimizer, loss, metrics=metrics, **kwargs)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Returns the outputs of the student."""
        if not self.teacher.built:
            # `compute_loss`, which runs in programs, builds nothing.
            self.teacher(inputs, training=False)
        # The features are no call of the student: what it adds to a call must be nothing.
        features_too = self._runs_once and self.student.activity_regularizer is None
        if not (features_too and training and execution.governing_model() is self):
            return self.student(inputs, training=training)
        y_pred, *features = self._student_outputs(inputs, training=training)
        self._features.keep(y_pred, features)
        return y_pred

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> tf.Tensor:
        """Returns the total loss of a batch."""
        student_loss: Any = 0.0
        if self._tfkit_compiled_loss is not None or self.losses:
            student_loss = super().compute_loss(x, y, y_pred, sample_weight, training)
        of_teacher = self._teacher_outputs(x, training=False)
        of_student = [y_pred] * len(of_teacher)
        if any(self._student_layers):
            found = self._features.taken(y_pred)
            if found is None:  # `y_pred` does not contain the outputs of layers.
                _, *found = self._student_outputs(x, training=training)
            of_student = [
                y_pred if layer is None else outputs
                for layer, outputs in zip(self._student_layers, found, strict=True)
            ]
        terms = zip(
            self.distillation_losses,
            self.distillation_loss_weights,
            tf.nest.map_structure(tf.stop_gradient, of_teacher),  # constants for the gradient
            of_student,
            strict=True,
        )
        distillation_loss = tf.add_n([w * loss.compute_loss(t, s) for loss, w, t, s in terms])
        part = self.student_loss_weight
        student_loss = tf.cast(student_loss, distillation_loss.dtype)
        total = part * student_loss + (1 - part) * distillation_loss
        self.student_loss_tracker.update_state(student_loss)
        self.distillation_loss_tracker.update_state(distillation_loss)
        self.total_loss_tracker.update_state(total)
        return total


class _Features:
    """Outputs of layers, from the call that made a model's outputs until the loss is computed."""

    def __init__(self) -> None:
        self._kept: tuple[Any, list[Any]] | None = None

    def keep(self, y_pred: Any, features: list[Any]) -> None:
        """Keeps the outputs of layers that belong to `y_pred`."""
        self._kept = y_pred, features

    def taken(self, y_pred: Any) -> list[Any] | None:
        """Returns the outputs that belong to `y_pred`, which are kept no longer; `None` for others."""
        kept, self._kept = self._kept, None
        return kept[1] if kept is not None and kept[0] is y_pred else None


def _layers_of(loss: DistillationLoss) -> tuple[str | None, str | None]:
    """Returns the names of the layers that a loss compares; `None` for the outputs of the models."""
    if isinstance(loss, FeatureDistillation):
        return loss.teacher_layer_name, loss.student_layer_name
    return None, None


def _outputs_of(model: Model, layers: Sequence[str | None]) -> Callable[..., list[Any]]:
    """Returns a function that computes the outputs of layers of a model, and of the model for `None`."""
    if not any(layers):
        return lambda inputs, training: [model(inputs, training=training)] * len(layers)
    # The graph's own tensors: `input` and `output` of a Sequential model may be those of another model.
    graph = model._tfkit_graph
    assert graph is not None  # The losses have checked it.
    outputs = [
        graph.outputs if layer is None else model.get_layer(layer).output for layer in layers
    ]
    # Not an attribute of the distiller: its layers belong to the model. A dict, because a list of one
    # output would be unpacked.
    features = Functional(
        graph.inputs, {str(i): output for i, output in enumerate(outputs)}, dtype=model.dtype_policy
    )

    def compute(inputs: Any, training: bool) -> list[Any]:
        found = features(inputs, training=training)
        return [found[key] for key in map(str, range(len(outputs)))]

    return compute


def _as_list(losses: Any) -> list[DistillationLoss]:
    listed = list(losses) if isinstance(losses, (list, tuple)) else [losses]
    if not listed or not all(isinstance(loss, DistillationLoss) for loss in listed):
        raise TypeError(
            "`distillation_losses` must be a `DistillationLoss`, such as `LogitsDistillation()`, or a list "
            f"of at least one. Received: {losses!r}"
        )
    return listed


def _checked_weights(weights: Any, number: int) -> list[float]:
    if weights is None:
        return [1.0] * number
    listed = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    if len(listed) != number:
        raise ValueError(
            f"`distillation_loss_weights` must have a number for each loss. Received: {len(listed)} weights "
            f"for {number} losses"
        )
    return [float(weight) for weight in listed]


def _check_models(teacher: Any, student: Any) -> None:
    for kind, model in (("teacher", teacher), ("student", student)):
        if not isinstance(model, Model):
            raise ValueError(
                f"`{kind}` must be a model. Received: {model!r} (of type {type(model).__name__})"
            )
    if teacher is student:
        raise ValueError(
            "The teacher and the student must be two models, because the teacher is frozen. Received: "
            f"'{teacher.name}' for both. `models.clone_model` makes a second one."
        )
    if has_graph(teacher) and has_graph(student):
        shapes = [[tuple(each.shape) for each in model.inputs] for model in (teacher, student)]
        if len(shapes[0]) != len(shapes[1]) or not all(
            tf.TensorShape(a).is_compatible_with(b) for a, b in zip(*shapes, strict=True)
        ):
            raise ValueError(
                "The teacher and the student are given the same inputs. Received models for inputs of the "
                f"shapes {shapes[0]} and {shapes[1]}"
            )


def _check_loss(loss: DistillationLoss, teacher: Model, student: Model) -> None:
    loss.validate_model_compatibility(teacher, student)
    if has_graph(teacher) and has_graph(student) and not isinstance(loss, FeatureDistillation):
        loss.validate_outputs(teacher.output, student.output)
