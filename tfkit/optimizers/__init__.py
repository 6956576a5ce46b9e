"""Optimizers: how gradients change variables."""

from __future__ import annotations

from typing import Any

from tfkit.optimizers import schedules as schedules
from tfkit.optimizers.adadelta import Adadelta as Adadelta
from tfkit.optimizers.adafactor import Adafactor as Adafactor
from tfkit.optimizers.adagrad import Adagrad as Adagrad
from tfkit.optimizers.adam import Adam as Adam
from tfkit.optimizers.adamax import Adamax as Adamax
from tfkit.optimizers.adamw import AdamW as AdamW
from tfkit.optimizers.base import Optimizer as Optimizer
from tfkit.optimizers.ftrl import Ftrl as Ftrl
from tfkit.optimizers.lamb import Lamb as Lamb
from tfkit.optimizers.lion import Lion as Lion
from tfkit.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from tfkit.optimizers.muon import Muon as Muon
from tfkit.optimizers.nadam import Nadam as Nadam
from tfkit.optimizers.rmsprop import RMSprop as RMSprop
from tfkit.optimizers.schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
from tfkit.optimizers.sgd import SGD as SGD
from tfkit.registry import register_builtins
from tfkit.serialization import deserialize_keras_object, resolve, serialize_keras_object
from tfkit.tracebacks import shortened

_CLASSES = [
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Optimizer,
    Ftrl,
    Lamb,
    Lion,
    LossScaleOptimizer,
    Muon,
    Nadam,
    RMSprop,
    ScheduleFreeAdamW,
    SGD,
]
_BY_LOWER_NAME = {cls.__name__.lower(): cls for cls in _CLASSES}
register_builtins("optimizers", _CLASSES, aliases=_BY_LOWER_NAME)


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """Returns the configuration of an optimizer, without its slots.

    Args:
        optimizer: an optimizer.

    Returns:
        A dict of plain data that `deserialize` takes.

    Example:
        >>> serialize(SGD(momentum=0.5))["config"]["momentum"]
        0.5
    """
    return serialize_keras_object(optimizer)


@shortened
def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Optimizer:
    """Returns the optimizer that a configuration describes: the inverse of `serialize`.

    Case does not matter in the names of tfkit's own optimizers.

    Args:
        config: a dict as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name besides
            tfkit's own and registered ones.

    Returns:
        An optimizer at its first step.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(SGD(momentum=0.5))).momentum
        0.5
    """
    class_name = config.get("class_name")
    if isinstance(class_name, str) and class_name.lower() in _BY_LOWER_NAME:
        config = {**config, "class_name": class_name.lower()}
    return deserialize_keras_object(config, custom_objects, kind="optimizers")


@shortened
def get(identifier: Any) -> Optimizer | None:
    """Returns the optimizer that an identifier stands for.

    Args:
        identifier: a name such as `"adam"`, a configuration, an optimizer, or `None`.

    Raises:
        ValueError: for anything else.

    Example:
        >>> get("sgd").momentum
        0.0
    """
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        found = deserialize(identifier)
    else:
        is_own = isinstance(identifier, str) and identifier.lower() in _BY_LOWER_NAME
        found = resolve(identifier.lower() if is_own else identifier, "optimizers")
    if not isinstance(found, Optimizer):
        raise ValueError(
            "Could not interpret an optimizer identifier. Expected a name, a configuration or an "
            f"`Optimizer`. Received: {identifier!r}"
        )
    return found
