"""Wraps a model's steps for programs: under the model's settings, with checked results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base import context, execution, settings, tree
from tfkit.src.base.calls import calls
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.nests import brief
from tfkit.src.engine.autograph import convert
from tfkit.src.training.absent import with_none
from tfkit.src.training.model_steps import ModelSteps, is_overridden, without_results
from tfkit.src.training.step import Step
from tfkit.src.training.undoing import step_undone_on_error


def step_for(model: ModelSteps, mode: str) -> Step:
    """Returns the step of a mode.

    If nothing is overridden, results of metrics are computed once in a program, and not in each step.

    Args:
        model: the model.
        mode: `"train"`, `"test"` or `"predict"`.
    """
    method = getattr(model, f"{mode}_step")
    if mode == "train" and not is_overridden(model, "train_step"):
        method = warning_of_no_weights(model, method)
    if mode == "predict":
        chosen = model._tfkit_settings
        by_kernels = chosen.jit_compile is not True and chosen.engine == "tensorflow"

        def predicting(data: Any) -> Any:
            # Not in functions inside it: training may call their traces again, and XLA may compile them.
            graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
            with context.within(only_predicts=graph if by_kernels else None):
                results = convert(method)(data)
            return checked_results(model, mode, results, f"`{mode}_step()`")

        return Step(governed(model, predicting))
    if is_overridden(model, f"{mode}_step", "compute_metrics", "get_metrics_result"):

        def overridden(data: Any) -> Any:
            return checked_results(model, mode, convert(method)(data), f"`{mode}_step()`")

        return Step(governed(model, noting_metrics(model, overridden)))

    def updating(data: Any) -> dict[str, Any]:
        with without_results(model):
            method(data)
        return {}

    step = governed(model, noting_metrics(model, updating))
    return Step(step, finish=governed(model, model.get_metrics_result))


def runs_eagerly(model: ModelSteps) -> bool:
    """Whether the steps of a model run eagerly."""
    return model.run_eagerly or settings.functions_run_eagerly()


def governed(model: ModelSteps, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function` run under a model's settings; placeholders in the data become `None`."""

    def governed(*args: Any) -> Any:
        with execution.governed_by(model._tfkit_settings), step_undone_on_error(model):
            return function(*map(with_none, args))

    return governed


def warning_of_no_weights(model: ModelSteps, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns `step` with a warning if nothing is trainable."""

    def warning(data: Any) -> Any:
        results = step(data)
        if not model.trainable_weights:  # Checked after the step, which may have made the weights.
            warn(
                f"The model '{model.name}' does not have any trainable weights: `fit` changes none. "
                "`layer.trainable = True` unfreezes a layer."
            )
        return results

    return warning


def noting_metrics(model: ModelSteps, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns `step` such that a trace of it is stale once a metric has changed."""

    def noting(data: Any) -> Any:
        results = step(data)
        if calls.watches:
            for metric in model.metrics:
                metric.take_part()
        return results

    return noting


def checked_results(model: ModelSteps, mode: str, results: Any, method: str) -> Any:
    """Returns the results of a user's step after checking them.

    Args:
        model: the model.
        mode: `"train"`, `"test"` or `"predict"`.
        results: what the step has returned.
        method: its name, for messages.

    Raises:
        ValueError: for `None`, and for logs that are not a dict of values.
    """
    step = f"{method} of {type(model).__name__}"
    if mode != "predict":
        return _checked(results, step)
    if results is None:
        raise ValueError(f"{step} returned None. Expected tensors: end it with `return self(x)`.")
    return results


def _checked(logs: Any, step: str) -> Any:
    """Returns the logs of a user's step after checking them.

    Raises:
        ValueError: unless the result is a dict of values.
    """
    if not isinstance(logs, Mapping):
        raise ValueError(
            f"{step} returned {brief(logs)}. Expected a dict of logs, each a tensor: end it with `return "
            "{'loss': loss}`, or with `return {metric.name: metric.result() for metric in self.metrics}`."
        )
    for name, value in logs.items():
        if value is None:
            raise ValueError(
                f"{step} returned None for the log {name!r}. Expected a tensor or a number."
            )
        for leaf in tree.flatten(value):
            if isinstance(leaf, (str, bytes)) or getattr(leaf, "dtype", None) == tf.string:
                raise ValueError(
                    f"{step} returned a string for the log {name!r}. Expected a numeric tensor, or a number."
                )
    return logs
