"""The options of gated cells and of the layers that run them, for type checkers and `help`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.protocols import LayerOptions, RegularizedOptions
from tfkit.src.base.signatures import Argument, arguments_of, shows
from tfkit.src.layers.recurrent.rnn import RNN

Class = TypeVar("Class", bound=type)


class _WeightOptions(TypedDict, total=False):
    use_bias: bool
    kernel_initializer: Any
    recurrent_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    recurrent_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    recurrent_constraint: Any
    bias_constraint: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    implementation: int


class _LoopOptions(TypedDict, total=False):
    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool


class CellOptions(_WeightOptions, LayerOptions, total=False):
    """The keyword arguments of gated cells, as `GatedCell` documents them."""


class RecurrentOptions(_WeightOptions, _LoopOptions, RegularizedOptions, total=False):
    """The keyword arguments of `SimpleRNN`, `LSTM` and `GRU`, as their cells and `RNN` document them."""

    zero_output_for_mask: bool


def layer_arguments(cell_class: type) -> dict[str, Argument]:
    """Returns the arguments of a layer that runs a cell of this class: the cell's and the loop's."""
    loop = arguments_of(RNN)
    return arguments_of(cell_class) | {name: loop[name] for name in _LoopOptions.__annotations__}


def shows_options(
    shared: Mapping[str, Argument], behind: Mapping[str, str] | None = None
) -> Callable[[Class], Class]:
    """Returns the decorator `shows`, whose constructor's errors show only the user's lines."""

    def complete(cls: Class) -> Class:
        shows(shared, behind)(cls)
        cls.__init__ = shortened(cls.__init__)  # type: ignore[misc]
        return cls

    return complete
