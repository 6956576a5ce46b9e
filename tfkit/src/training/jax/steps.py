"""The steps of a model for JAX: what TensorFlow traces of them, and which are refused."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.settings import functions_run_eagerly
from tfkit.src.symbolic.masking import get_mask
from tfkit.src.training.absent import without_none
from tfkit.src.training.data import unpack_x_y_sample_weight
from tfkit.src.training.jax.divided import divided
from tfkit.src.training.jax.layouts import layouts_of, outputs_placed
from tfkit.src.training.jax.parts import EvaluationParts, TrainingParts, check_convertible
from tfkit.src.training.jax.processes import processes_of as processes_of
from tfkit.src.training.jax.programs import program_of
from tfkit.src.training.model_steps import is_overridden
from tfkit.src.training.older_names import OlderNames
from tfkit.src.training.running_steps import governed, noting_metrics, warning_of_no_weights
from tfkit.src.training.running_steps import step_for as tensorflow_step

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer

_WAY_OUT = "or pass `engine='tensorflow'` to `compile()`."


def check(model: Trainer, strategy: Any) -> None:
    """Raises an error for a model that JAX cannot train.

    Raises:
        ValueError: for an own `train_step`, functions of steps, and a strategy of `tf.distribute`.
    """
    name = type(model).__name__
    if is_overridden(model, "train_step"):
        raise ValueError(
            f"`engine='jax'` differentiates the loss itself, so it cannot run the own `train_step` of "
            f"{name}. Override `compute_loss()` and `compute_metrics()` instead, {_WAY_OUT}"
        )
    made = [
        method
        for method in ("make_train_function", "make_test_function", "make_predict_function")
        if getattr(type(model), method) is not getattr(OlderNames, method)
    ]
    if made:
        raise ValueError(
            f"`engine='jax'` cannot run the function that `{made[0]}()` of {name} makes. Remove the method, "
            f"{_WAY_OUT}"
        )
    if strategy is not None:
        raise ValueError(
            f"`engine='jax'` does not use the strategy {type(strategy).__name__} of `tf.distribute`. Make "
            "the model outside `strategy.scope()`; for `keras.distribution.DataParallel`, call "
            f"`keras.distribution.initialize(engine='jax')` before it is made; {_WAY_OUT}"
        )


def step_for(model: Trainer, mode: str) -> Any:
    """Returns the step of a mode, which is traced by TensorFlow and run by JAX.

    Args:
        model: the model.
        mode: `"train"`, `"test"` or `"predict"`.

    Raises:
        ValueError: if functions run eagerly.
    """
    if functions_run_eagerly():
        raise ValueError(
            "`engine='jax'` runs compiled programs, and `run_functions_eagerly(True)` was called. Call it "
            f"with False, {_WAY_OUT}"
        )
    check(model, model._tfkit_settings.strategy)
    if mode == "train":
        forward = functools.partial(_forward, model)
        step = dataclasses.replace(
            tensorflow_step(model, mode),
            run=governed(model, noting_metrics(model, warning_of_no_weights(model, forward))),
        )
    else:
        step = tensorflow_step(model, mode)
    return dataclasses.replace(step, program=functools.partial(_program, model, mode))


def _program(model: Trainer, mode: str, kind: type, trace: Any) -> Any:
    check_convertible(model, trace)
    layouts = layouts_of(model)
    parts = (
        TrainingParts(model, trace, layouts)
        if mode == "train"
        else EvaluationParts(model, trace, mode, layouts)
    )
    make = program_of(kind) if layouts is None else divided(kind, layouts)
    return make(trace, parts, model._tfkit_programs)


def _forward(model: Trainer, data: Any) -> dict[str, Any]:
    """Returns what a training step computes up to its loss, for its gradient and for its metrics."""
    x, y, sample_weight = unpack_x_y_sample_weight(data)
    with outputs_placed(model):
        y_pred = model(x, training=True)
    loss = model.compute_loss(x, y, y_pred, sample_weight)
    scaled = loss
    if model.optimizer is not None:
        weights = model.trainable_weights
        if weights and not model.optimizer.built:
            model.optimizer.build(weights)
        scaled = model.optimizer.scale_loss(loss)
    masks = {str(i): get_mask(it) for i, it in enumerate(tf.nest.flatten(without_none(y_pred)))}
    return {
        "loss": loss,
        "masks": {place: mask for place, mask in masks.items() if mask is not None},
        "outputs": without_none(y_pred),
        "scaled": scaled,
    }
