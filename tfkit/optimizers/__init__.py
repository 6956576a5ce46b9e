"""Optimizers: how gradients change weights."""

from typing import Any

from tfkit.optimizers.adam import Adam as Adam
from tfkit.optimizers.adamw import AdamW as AdamW
from tfkit.optimizers.base import Optimizer as Optimizer
from tfkit.optimizers.rmsprop import RMSprop as RMSprop
from tfkit.optimizers.sgd import SGD as SGD
from tfkit.registry import register_builtins, resolve

register_builtins("optimizers", [Adam, AdamW, RMSprop, SGD])


def get(identifier: Any) -> Any:
    return resolve(identifier.lower() if isinstance(identifier, str) else identifier, "optimizers")
