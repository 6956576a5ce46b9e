"""Raises errors for methods that do not run under a strategy of `tf.distribute` yet."""

from __future__ import annotations

import tensorflow as tf

from tfkit.src.core.layer import Layer


def check_strategy(model: Layer, method: str) -> None:
    """Raises an error if a strategy is in scope, or has placed the model's variables on several devices.

    Raises:
        NotImplementedError: that names the strategy.
    """
    strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else strategy_of(model)
    if strategy is None:
        return
    raise NotImplementedError(
        f"`{method}()` does not run under {type(strategy).__name__} yet: it would use one device and ignore "
        "the others. Make the model and call it outside of `strategy.scope()`, or train with a loop of your "
        "own and `strategy.run()`."
    )


def strategy_of(model: Layer) -> tf.distribute.Strategy | None:
    """Returns the strategy that has placed the model's variables, if it uses more than one device."""
    for variable in model.variables:
        strategy = getattr(variable, "_distribute_strategy", None)
        if strategy is not None and not isinstance(strategy, tf.distribute.OneDeviceStrategy):
            return strategy
    return None
