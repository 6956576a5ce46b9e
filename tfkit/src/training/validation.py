"""The validation data of `fit`, and the epochs after which it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfkit.src.base import context
from tfkit.src.base.nests import brief
from tfkit.src.training.callbacks.callback_list import CallbackList
from tfkit.src.training.data import ArrayData, DatasetData
from tfkit.src.training.loop import Logs, Steps, run_test
from tfkit.src.training.sources import is_arrays, is_batches, make_data

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class Validation(NamedTuple):
    """The evaluations of a `fit`.

    Attributes:
        steps: the steps of one of them.
        frequency: number of epochs from one to the next, or the epochs, counted from 1, after which
            there is one.
        evaluate: the model's `evaluate` where a program overrides it, else `None`.
        given: its arguments: `x`, `y`, `sample_weight`, `batch_size` and `steps`.
    """

    steps: Steps
    frequency: Any
    evaluate: Callable[..., Any] | None
    given: dict[str, Any]

    def run(self, callbacks: CallbackList) -> Logs:
        """Returns the results of one evaluation."""
        if self.evaluate is None:
            return run_test(self.steps, callbacks)
        with context.within(validation=self):
            results = self.evaluate(**self.given, callbacks=callbacks, return_dict=True)
        if not isinstance(results, Mapping):
            raise TypeError(
                "The model's own `evaluate` must return a dict of results where `fit` calls it with "
                "`return_dict=True`. Pass the argument on to `super().evaluate(...)`. Received: "
                f"{brief(results)}"
            )
        return dict(results)

    def is_due(self, number: int) -> bool:
        """Whether there is a validation after this epoch, counted from 1."""
        if isinstance(self.frequency, int):
            return number % self.frequency == 0
        return number in self.frequency


def prepared(model: Trainer, **given: Any) -> Steps | None:
    """Returns the steps of the validation in progress, if an overridden `evaluate` passes on its data.

    So a generator is not begun twice, and what was compiled is used again.
    """
    found = context.current().validation
    if found is None or found.steps.model is not model:
        return None
    same = all(given[name] is value for name, value in found.given.items())
    return found.steps if same else None


def arguments_of(data: Any, batch_size: int | None, steps: int | None) -> dict[str, Any]:
    """Returns the arguments of `evaluate` for `validation_data`."""
    # Targets and weights may be missing.
    x, y, sample_weight = (*_parts(data), None, None)[:3]
    return {
        "x": x,
        "y": y,
        "sample_weight": sample_weight,
        "batch_size": None if is_batches(x) else batch_size,
        "steps": steps,
    }


def _parts(given: Any) -> Sequence[Any]:
    return given if isinstance(given, (tuple, list)) else (given,)


def make_validation_data(
    given: Any, batch_size: int | None, num_steps: int | None, needs_targets: bool
) -> ArrayData | DatasetData:
    """Returns the data of `validation_data`.

    Args:
        given: the argument of `fit`.
        batch_size: rows per step, for arrays.
        num_steps: steps of an evaluation, as in `make_data`.
        needs_targets: whether data without targets are refused: before the first epoch, not after it.

    Raises:
        ValueError: for an argument that is not data, or has no targets.
    """
    parts = _parts(given)
    x, y, sample_weight = (*parts, None, None)[:3]
    if needs_targets and len(parts) == 1 and not is_batches(x):
        raise ValueError(
            "`validation_data` has no targets, which the loss of `compile()` needs. Pass "
            f"`validation_data=(x, y)`. Received: validation_data={brief(given)}"
        )
    if not 0 < len(parts) < 4 or not (is_batches(x) or is_arrays(x)):
        raise ValueError(
            "Unknown `validation_data`. Expected `(x, y)`, `(x, y, sample_weight)` or a dataset of "
            f"batches. Received: {given!r}"
        )
    size = None if is_batches(x) else batch_size
    return make_data(x, y, sample_weight, size, num_steps=num_steps)
