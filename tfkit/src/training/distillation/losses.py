"""Losses between a teacher and its student."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base.registry.constructors import Configured
from tfkit.src.losses import lookup
from tfkit.src.losses.base import Loss
from tfkit.src.losses.wrapper import LossFunctionWrapper
from tfkit.src.training.models.model import Model


class DistillationLoss(Configured):
    """The base of losses between a teacher and its student; a subclass defines `compute_loss`.

    A subclass with arguments in its constructor defines `get_config()`, so that a `Distiller` with it can be
    saved.

    Example:
        >>> class Distance(DistillationLoss):
        ...     def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
        ...         return tf.reduce_mean(tf.abs(teacher_outputs - student_outputs))
        >>> float(Distance().compute_loss(tf.constant([1.0]), tf.constant([3.0])))
        2.0
    """

    def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **kwargs: Any) -> tf.Tensor:
        """Returns the loss, a scalar.

        Args:
            teacher_outputs: what the teacher returns for a batch, a tensor or a nest of tensors.
            student_outputs: what the student returns, in the same form.
            **kwargs: for subclasses.
        """
        raise NotImplementedError(
            f"{type(self).__name__} defines no `compute_loss(teacher_outputs, student_outputs, **kwargs)`."
        )

    def validate_outputs(self, teacher_outputs: Any, student_outputs: Any) -> None:
        """Raises an error for outputs that cannot be compared because of different forms or shapes.

        Args:
            teacher_outputs: tensors, which may be symbolic.
            student_outputs: tensors, which may be symbolic.

        Raises:
            ValueError: that shows both shapes.
        """
        shapes = [
            tf.nest.map_structure(lambda leaf: tf.TensorShape(leaf.shape), outputs)
            for outputs in (teacher_outputs, student_outputs)
        ]
        flat = [tf.nest.flatten(each) for each in shapes]
        if not _alike(*shapes) or not all(
            of_teacher.is_compatible_with(of_student)
            for of_teacher, of_student in zip(*flat, strict=True)
        ):
            raise ValueError(
                f"{type(self).__name__} compares outputs of the same form and shapes. Received from the "
                f"teacher: {shapes[0]}; from the student: {shapes[1]}. Give the student a last layer of the "
                "teacher's size, or compare other layers with `FeatureDistillation`."
            )

    def validate_model_compatibility(self, teacher: Model, student: Model) -> None:
        """Raises an error for models that the loss cannot be computed for; here it does nothing.

        Args:
            teacher: the teacher.
            student: the student.
        """

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {}


class _OfOutputs(DistillationLoss):
    """The base of losses that apply a loss of `tfkit.losses` to each output."""

    def __init__(self, loss: Any) -> None:
        self._losses = _mapped(_as_loss, loss)
        if not any(tf.nest.flatten(self._losses)):
            raise ValueError(
                f"`loss` of {type(self).__name__} must be a loss, or a nest of losses with one for at least "
                f"one output. Received: loss={loss!r}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"loss": _mapped(_identifier, self._losses)}

    def _total(self, teacher_outputs: Any, student_outputs: Any) -> tf.Tensor:
        """Returns the sum of the losses of all outputs; a single loss is applied to each."""
        outputs = teacher_outputs, student_outputs
        teacher_outputs, student_outputs = tf.nest.map_structure(tf.convert_to_tensor, outputs)
        self.validate_outputs(teacher_outputs, student_outputs)
        pairs = list(
            zip(tf.nest.flatten(teacher_outputs), tf.nest.flatten(student_outputs), strict=True)
        )
        losses = tf.nest.flatten(self._losses)
        if not tf.nest.is_nested(self._losses):
            losses *= len(pairs)
        elif not _alike(self._losses, teacher_outputs):
            raise ValueError(
                f"`loss` of {type(self).__name__} must have an entry for each output, in the same form. "
                f"Received: {len(losses)} losses and {len(pairs)} outputs, {_form(self._losses)} and "
                f"{_form(teacher_outputs)}"
            )
        return tf.add_n(
            [
                self._compared(loss, *pair)
                for loss, pair in zip(losses, pairs, strict=True)
                if loss is not None
            ]
        )

    def _compared(self, loss: Loss, teacher: tf.Tensor, student: tf.Tensor) -> tf.Tensor:
        """Returns the loss of an output."""
        return loss(teacher, student)


class LogitsDistillation(_OfOutputs):
    """Compares the probabilities of two classifiers, made softer by a temperature.

    For the logits `t` of the teacher and `s` of the student, `temperature ** 2 * loss(softmax(t /
    temperature), softmax(s / temperature))`. The factor keeps gradients as large as with labels.

    Args:
        temperature: positive number; the higher, the more the classes with small probabilities count.
            Default: `3.0`.
        loss: name of a loss, a loss, or a nest of them in the form of the outputs, with `None` for outputs
            that do not count. A loss with `from_logits=True` is given `s / temperature`. Default:
            `"kl_divergence"`.

    Raises:
        ValueError: for a temperature that is not positive, for an unknown loss, and for no loss.

    Reference:
        Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network", 2015.

    Example:
        >>> loss = LogitsDistillation(temperature=2.0)
        >>> round(float(loss.compute_loss(tf.constant([[2.0, 0.0]]), tf.constant([[0.0, 2.0]]))), 4)
        1.8485
    """

    def __init__(self, temperature: float = 3.0, loss: Any = "kl_divergence") -> None:
        if isinstance(temperature, bool) or not isinstance(temperature, (int, float)):
            raise ValueError(
                f"`temperature` must be a number. Received: {temperature!r} (of type "
                f"{type(temperature).__name__})"
            )
        if not temperature > 0:
            raise ValueError(f"`temperature` must be positive. Received: temperature={temperature}")
        super().__init__(loss)
        self.temperature = temperature

    def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **kwargs: Any) -> tf.Tensor:
        """Returns the loss, a scalar.

        Args:
            teacher_outputs: the logits of the teacher, `(batch, ..., classes)`.
            student_outputs: the logits of the student, in the same form.
            **kwargs: not used.
        """
        # Hinton et al. (2015), section 2: gradients of soft targets scale as 1 / temperature**2.
        return self.temperature**2 * self._total(teacher_outputs, student_outputs)

    def _compared(self, loss: Loss, teacher: tf.Tensor, student: tf.Tensor) -> tf.Tensor:
        student = student / self.temperature
        # A loss of logits computes the softmax of the
        # student itself; its targets are probabilities.
        if not loss.get_config().get("from_logits", False):
            student = tf.nn.softmax(student)
        return loss(tf.nn.softmax(teacher / self.temperature), student)

    def validate_outputs(self, teacher_outputs: Any, student_outputs: Any) -> None:
        """Raises an error for outputs of different shapes, and for outputs of a single class.

        Args:
            teacher_outputs: tensors, which may be symbolic.
            student_outputs: tensors, which may be symbolic.
        """
        super().validate_outputs(teacher_outputs, student_outputs)
        for outputs in tf.nest.flatten(teacher_outputs):
            shape = tf.TensorShape(outputs.shape)
            if shape.rank == 0 or (shape.rank and shape[-1] == 1):
                raise ValueError(
                    "LogitsDistillation needs logits of two classes or more. Received: outputs of shape "
                    f"{shape}. For a single output use `FeatureDistillation('mse')`."
                )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"temperature": self.temperature} | super().get_config()


class FeatureDistillation(_OfOutputs):
    """Compares the outputs of two layers, or of two models.

    Args:
        loss: name of a loss, a loss, or a nest of them in the form of the outputs, with `None` for outputs
            that do not count. Default: `"mse"`.
        teacher_layer_name: name of the teacher's layer; `None` for the teacher's outputs.
        student_layer_name: name of the student's layer; `None` for the student's outputs.

    Raises:
        ValueError: for an unknown loss, and for no loss.

    Reference:
        Romero, Ballas, Kahou, Chassang, Gatta and Bengio, "FitNets: Hints for Thin Deep Nets", 2015.

    Example:
        >>> loss = FeatureDistillation("mse", "hidden", "hidden")
        >>> float(loss.compute_loss(tf.ones((2, 3)), tf.zeros((2, 3))))
        1.0
    """

    def __init__(
        self,
        loss: Any = "mse",
        teacher_layer_name: str | None = None,
        student_layer_name: str | None = None,
    ) -> None:
        super().__init__(loss)
        self.teacher_layer_name = teacher_layer_name
        self.student_layer_name = student_layer_name

    def compute_loss(self, teacher_outputs: Any, student_outputs: Any, **kwargs: Any) -> tf.Tensor:
        """Returns the loss, a scalar.

        Args:
            teacher_outputs: the features of the teacher.
            student_outputs: the features of the student, in the same form.
            **kwargs: not used.
        """
        return self._total(teacher_outputs, student_outputs)

    def validate_model_compatibility(self, teacher: Model, student: Model) -> None:
        """Raises an error for layers that do not exist, or whose outputs have different shapes.

        Args:
            teacher: the teacher.
            student: the student.
        """
        features = [
            _symbolic_features(model, name, kind)
            for model, name, kind in (
                (teacher, self.teacher_layer_name, "teacher"),
                (student, self.student_layer_name, "student"),
            )
        ]
        if None not in features:
            self.validate_outputs(*features)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return super().get_config() | {
            "teacher_layer_name": self.teacher_layer_name,
            "student_layer_name": self.student_layer_name,
        }


def has_graph(model: Model) -> bool:
    """Whether a model is a functional or sequential one, whose outputs are known without a call."""
    return model._tfkit_graph is not None


def _symbolic_features(model: Model, name: str | None, kind: str) -> Any:
    """Returns the symbolic outputs of a layer, or of a model; `None` for a subclassed model."""
    if name is None:
        return model.output if has_graph(model) else None
    if not has_graph(model):
        raise ValueError(
            f"`{kind}_layer_name` needs a functional or sequential model, because the outputs of layers in "
            f"`call` are not known. Received: {kind}_layer_name={name!r} and {kind} '{model.name}' (of type "
            f"{type(model).__name__})"
        )
    return model.get_layer(name).output


def _alike(one: Any, other: Any) -> bool:
    """Whether two nests have the same form; a single entry has the form of a list with one entry."""
    forms = [_form(one), _form(other)]
    return forms[0] == forms[1] or all(form in ("", [""]) for form in forms)


def _form(nest: Any) -> Any:
    """Returns a nest with each entry replaced by an empty string, and each tuple by a list."""
    if isinstance(nest, Mapping):
        return {key: _form(each) for key, each in nest.items()}
    return [_form(each) for each in nest] if isinstance(nest, (list, tuple)) else ""


def _mapped(function: Any, losses: Any) -> Any:
    """Returns a nest of losses with a function applied to each; a configuration is not a nest."""
    if isinstance(losses, dict) and not {"class_name", "config"} <= losses.keys():
        return {key: _mapped(function, each) for key, each in losses.items()}
    if isinstance(losses, (list, tuple)):
        return [_mapped(function, each) for each in losses]
    return function(losses)


def _as_loss(identifier: Any) -> Loss | None:
    found = lookup.get(identifier)
    # A class stands for a loss with its defaults.
    if isinstance(found, type):
        found = found()
    return (
        LossFunctionWrapper(found) if found is not None and not isinstance(found, Loss) else found
    )


def _identifier(loss: Loss | None) -> Any:
    if loss is None:
        return None
    # A wrapper is saved as the function that it was made of.
    return lookup.serialize(loss.fn if type(loss) is LossFunctionWrapper else loss)
