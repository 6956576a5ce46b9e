"""Undoes what a refused step, and a run of steps before its first step, has changed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.members import kept_on_error
from tfkit.src.core import building, tracking
from tfkit.src.optimizers.base import Optimizer

if TYPE_CHECKING:
    from tfkit.src.training.model_steps import ModelSteps
    from tfkit.src.training.trainer import Trainer


@contextlib.contextmanager
def step_undone_on_error(model: ModelSteps) -> Iterator[None]:
    """Context manager of a step: if Python raises an error in it, nothing that it has made stays.

    Layers, optimizer, losses and metrics would otherwise keep the shapes of a batch that was refused.
    """
    candidates = [model._tfkit_settings.optimizer, *vars(model).values()]
    optimizers = {id(it): it for it in candidates if isinstance(it, Optimizer)}.values()
    parts: list[Any] = [*model.metrics, *(part for it in optimizers for part in it._tfkit_parts())]
    if model._tfkit_compiled_loss is not None:
        parts.append(model._tfkit_compiled_loss)
    values: list[tuple[Any, tf.Tensor]] = []
    # A trace assigns nothing. Reading is cheap: what is not changed afterwards is not copied.
    if tf.executing_eagerly() and not tf.distribute.has_strategy():
        owners: list[Any] = [model, *optimizers]
        variables = [*model.metrics_variables, *(each for it in owners for each in it.variables)]
        values = [(variable, tf.identity(variable)) for variable in variables]
    try:
        with building.undone_on_error(tracking.all_layers(model)), kept_on_error(*parts):
            yield
    except BaseException:
        for variable, value in values:
            variable.assign(value)
        raise


@contextlib.contextmanager
def unchanged_unless_run(model: Trainer, mode: str) -> Iterator[None]:
    """Context manager of `fit` or `evaluate`: an error before the first step leaves results and history.

    Args:
        model: the model.
        mode: `"train"` or `"test"`.
    """
    programs = model._tfkit_programs
    own = {name: vars(model)[name] for name in model._tfkit_own_settings if name in vars(model)}
    # Copies of a strategy's variables, and values in JAX, are not read without need.
    is_plain = model._tfkit_devices is None and programs.values is None
    # Those of `compile`: to look for metrics in all layers takes longer than a small evaluation.
    metrics: list[Any] = [model._tfkit_loss_tracker, model._tfkit_metrics]
    if model._tfkit_compiled_loss is not None:
        metrics += model._tfkit_compiled_loss.metrics
    variables = [each for it in metrics if it is not None and is_plain for each in it.variables]
    values = [(variable, variable.read_value()) for variable in variables]

    def progress() -> Any:
        optimizer = model._tfkit_settings.optimizer
        updates = 0 if optimizer is None or not is_plain else int(optimizer.iterations)
        # `compile` in a callback begins a new count.
        return model._tfkit_programs, programs.steps_run[mode], updates

    before = progress()
    try:
        yield
    except BaseException:
        if progress() == before:
            for name in model._tfkit_own_settings:
                if name in own:
                    setattr(model, name, own[name])
                elif name in vars(model):
                    delattr(model, name)
            for variable, value in values:
                variable.assign(value)
        raise
