"""The list of a model's layers that `model.layers` returns."""

from __future__ import annotations

from typing import Any, NoReturn

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.core.layer import Layer


class LayerList(list[Layer]):
    """A list that refuses changes: they would change a copy, and not the model.

    Its parts, sums and copies are usual lists.
    """

    @shortened
    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "`model.layers` is a copy: a change of it would not change the model. Use `add()` and `pop()` of "
            "a Sequential model, or make a new model of the layers: `Sequential(model.layers[:-1])`. To "
            "change only the list, copy it: `list(model.layers)`."
        )

    append = clear = extend = insert = pop = remove = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def copy(self) -> list[Layer]:
        """Returns a usual list."""
        return list(self)

    def __copy__(self) -> list[Layer]:
        return list(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Returns what makes a usual list of the same layers."""
        return list, (), None, iter(self)
