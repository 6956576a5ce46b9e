"""The common parts of tfkit's optimizers: when slots are made, the types of options, their positions.

They are written once, in the constructor of `Optimizer`. An optimizer accepts them as `**options`, and
`@shares_options` lets them be passed by position, too, where Keras has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, TypeVar

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.signatures import arguments_of, shows
from tfkit.src.optimizers.base import Optimizer

Class = TypeVar("Class", bound=type[Optimizer])


class OptionsButDecay(TypedDict, total=False):
    """The options for type checkers and editors; `Optimizer` documents them."""

    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None


class Options(OptionsButDecay, total=False):
    """All shared options, for optimizers that do not define `weight_decay` themselves."""

    weight_decay: float | None


class SlotsMadeOnce(Optimizer):
    """The base of optimizers whose slots `build` makes once."""

    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes the slots of each variable, unless they are made."""
        if not self.built:
            super().build(var_list)
            self._tfkit_add_slots(var_list)

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        raise NotImplementedError


SHARED = {
    name: argument
    for name, argument in arguments_of(Optimizer).items()
    if name in Options.__annotations__
}
DEFAULTS = {name: argument.parameter.default for name, argument in SHARED.items()}


def shares_options(cls: Class) -> Class:
    """Adds the shared options to the signature and the help text of an optimizer.

    Its configuration contains the arguments that it has besides.
    """
    own = arguments_of(cls).keys() - SHARED.keys() - {"learning_rate"}
    cls._tfkit_own_arguments = tuple(name for name in arguments_of(cls) if name in own)
    shows(SHARED)(cls)
    cls.__init__ = shortened(cls.__init__)  # type: ignore[method-assign]
    return cls
