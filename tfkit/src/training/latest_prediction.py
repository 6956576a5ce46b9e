"""The latest prediction of a model: one of an array like it needs no search for its program."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.settings import functions_run_eagerly
from tfkit.src.base.watching import latest_change
from tfkit.src.engine.arrays import as_tensor
from tfkit.src.training.prediction import PredictProgram, to_numpy

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class LatestPrediction:
    """The latest prediction that was one call of a program."""

    def __init__(self) -> None:
        self._known: tuple[Any, PredictProgram] | None = None

    def note(self, model: Trainer, x: Any, options: Any, program: Any) -> None:
        """Records that a program has predicted for an array, in one call."""
        # A program is used again as long as no attribute was set and no setting was changed.
        if type(x) is np.ndarray and type(program) is PredictProgram:
            self._known = _conditions(model, x, options), program

    def repeated(self, model: Trainer, x: Any, options: Any) -> Any:
        """Returns the outputs for an array like the noted one; `None` if it is different."""
        known = self._known
        if known is None or type(x) is not np.ndarray or known[0] != _conditions(model, x, options):
            return None
        # The caller finds out which operation failed, or computes fewer rows at a time.
        with contextlib.suppress(tf.errors.OpError):
            return nests.with_leaves(to_numpy, known[1].run_batch(as_tensor(x)))
        return None


def _conditions(model: Trainer, x: np.ndarray, options: Any) -> tuple[Any, ...]:
    """Returns all that the choice of a program depends on."""
    settings = model._tfkit_settings.version, model.run_eagerly, functions_run_eagerly()
    return x.dtype, x.shape, options, latest_change(), settings
