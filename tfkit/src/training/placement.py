"""The strategy of `tf.distribute` that a model belongs to: the one whose scope it was made in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base.context import ThreadSetting
from tfkit.src.borrowed.private import strategy_of_variable
from tfkit.src.metrics.base import Metric

if TYPE_CHECKING:
    from tfkit.src.optimizers.base import Optimizer
    from tfkit.src.training.model_steps import ModelSteps

# The distribution in use. As with TensorFlow's strategies, each thread has its own.
distributions: ThreadSetting[Any] = ThreadSetting("distribution", None, make=lambda: None)


def check_engine(model: ModelSteps) -> None:
    """Refuses a model that only JAX can train, under TensorFlow's engine.

    Raises:
        ValueError: that says what to pass.
    """
    found = model._tfkit_settings.distribution
    if found is not None and found.strategy is None:
        raise ValueError(
            f"TensorFlow cannot train model '{model.name}' under {type(found).__name__}, whose devices are "
            "those of JAX. Pass `engine='jax'` to `compile()`."
        )


def strategy_of(model: ModelSteps) -> tf.distribute.Strategy | None:
    """Returns the strategy that has placed a model's variables, or whose scope it was made in.

    `OneDeviceStrategy` places variables as TensorFlow does without one: it is `None`.
    """
    variables = list(model.variables)
    if model._tfkit_loss_tracker is not None:
        # A model that is compiled and not built yet has these already.
        variables += model._tfkit_loss_tracker.variables
        variables += getattr(model.optimizer, "variables", ())
    for variable in variables:
        strategy = _strategy_of_variable(variable)
        if strategy is not None:
            return strategy
    return _unless_one_device(model._tfkit_settings.strategy)


def scope_of(model: ModelSteps) -> contextlib.AbstractContextManager[Any]:
    """Returns the scope in which `compile` makes the variables of an optimizer and of metrics."""
    strategy = None if tf.distribute.has_strategy() else strategy_of(model)
    return contextlib.nullcontext() if strategy is None else strategy.scope()


def check_compiled(model: ModelSteps, optimizer: Optimizer | None, metrics: Iterable[Any]) -> None:
    """Refuses an optimizer or metrics that were made under a different strategy than the model.

    Args:
        model: the model.
        optimizer: the optimizer to train it with, or `None`.
        metrics: the arguments of `compile`: nests of metrics, and of names and functions.

    Raises:
        ValueError: that says what to make where.
    """
    is_placed = model._tfkit_settings.strategy is not None or bool(model.variables)
    expected = strategy_of(model) if is_placed else _in_force()
    if _has_servers(expected):
        return  # Its variables may be anywhere.
    parts = [("a part of it", model.variables)]
    if optimizer is not None:
        parts.append((f"the optimizer {type(optimizer).__name__}", optimizer.variables))
    for metric in tf.nest.flatten(list(metrics)):
        if isinstance(metric, Metric):
            parts.append((f"the metric '{metric.name}'", metric.variables))
    for what, variables in parts:
        found = {id(strategy): strategy for strategy in map(_strategy_of_variable, variables)}
        found.pop(id(expected), None)
        if found:
            raise ValueError(_difference(model, expected, what, next(iter(found.values()))))


def check_trained(model: ModelSteps, strategy: tf.distribute.Strategy) -> None:
    """Refuses a model that cannot be trained under a strategy, because parts of it were made elsewhere.

    Raises:
        ValueError: that says what to make where.
    """
    if _has_servers(strategy):
        # Some of its variables may be elsewhere, but not all of them.
        found_in = [_strategy_of_variable(variable) for variable in model.variables]
        if found_in and strategy not in found_in:
            raise ValueError(_difference(model, strategy, "all of it", found_in[0]))
        return
    if _unless_one_device(strategy) is None:
        return
    optimizer = model.optimizer
    tracker = model._tfkit_loss_tracker
    for what, part in (
        ("a part of it", model),
        (f"the optimizer {type(optimizer).__name__}", optimizer),
        ("the metric of its loss", tracker),
    ):
        for variable in getattr(part, "variables", ()):
            found = _strategy_of_variable(variable)
            if found is not strategy:
                raise ValueError(_difference(model, strategy, what, found))


def _difference(model: ModelSteps, expected: Any, what: str, found: Any) -> str:
    def place(strategy: Any) -> str:
        if strategy is None:
            return "outside of a strategy"
        return f"under {type(strategy).__name__.removesuffix('V2')}"

    return (
        f"The model '{model.name}' belongs {place(expected)}, but {what} was made {place(found)}. Make the "
        "model, the optimizer and the metrics, and call `compile()`, inside of one `strategy.scope()`, or "
        "all of it outside."
    )


def _strategy_of_variable(variable: Any) -> tf.distribute.Strategy | None:
    return _unless_one_device(strategy_of_variable(variable))


def _in_force() -> tf.distribute.Strategy | None:
    return _unless_one_device(
        tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
    )


def _unless_one_device(strategy: Any) -> Any:
    return None if isinstance(strategy, tf.distribute.OneDeviceStrategy) else strategy


def _has_servers(strategy: Any) -> bool:
    return isinstance(strategy, tf.distribute.ParameterServerStrategy)
